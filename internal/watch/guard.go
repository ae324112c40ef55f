package watch

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
)

// namesRefusedMax bounds the refused names that are logged, once each.
const namesRefusedMax = 20

// A guard protects everything that is served. It sets headers against framing and content sniffing,
// and refuses requests for names other than this server's. Otherwise a web page could point its own
// name at this machine (DNS rebinding) and read the findings through a visitor's browser.
type guard struct {
	next  http.Handler
	names map[string]bool // in addition to loopback names and addresses
	log   *slog.Logger

	mu      sync.Mutex
	refused map[string]bool // logged
}

// newGuard allows the names given by --host, those of the listening addresses, and, if others can
// reach the server, this machine's own names.
func newGuard(next http.Handler, s *Server, log *slog.Logger) *guard {
	g := &guard{next: next, names: map[string]bool{}, log: log, refused: map[string]bool{}}
	for _, name := range s.names {
		g.names[name] = true
	}
	// The machine's own names are only needed if others connect to it.
	if s.reachable {
		if name, err := os.Hostname(); err == nil {
			name = strings.ToLower(name)
			short, _, _ := strings.Cut(name, ".")
			g.names[name], g.names[short] = true, true
		}
	}
	delete(g.names, "")
	return g
}

// ParseHost validates a name for which requests are answered, and returns it in canonical form.
func ParseHost(text string) (string, error) {
	if strings.Contains(text, "/") || strings.ContainsAny(text, " \t@*?#") {
		return "", fmt.Errorf("%q is not a host name", text)
	}
	if _, _, err := net.SplitHostPort(text); err == nil {
		return "", fmt.Errorf("%q has a port: omit it, because any port is accepted", text)
	}
	name := hostName(text)
	if name == "" {
		return "", fmt.Errorf("%q is not a host name", text)
	}
	return name, nil
}

// hostName returns the name in a Host header, in lower case and without the port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// allows reports whether a request's Host is this server's. IP addresses cannot be rebound, so they
// are all accepted; browsers never resolve localhost through DNS; and requests without a Host use
// HTTP/1.0, which browsers do not.
func (g *guard) allows(host string) bool {
	name := hostName(host)
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || g.names[name] {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

func (g *guard) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	h := rw.Header()
	setUnset(h, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	setUnset(h, "X-Frame-Options", "DENY")
	setUnset(h, "X-Content-Type-Options", "nosniff")
	setUnset(h, "Referrer-Policy", "no-referrer")
	setUnset(h, "Cross-Origin-Resource-Policy", "same-origin")
	if !g.allows(req.Host) {
		g.refuse(rw, hostName(req.Host))
		return
	}
	g.next.ServeHTTP(rw, req)
}

// setUnset sets a header unless the web configuration (http_server_config) has set it.
func setUnset(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set(name, value)
	}
}

func (g *guard) refuse(rw http.ResponseWriter, name string) {
	g.mu.Lock()
	// An attacker can choose the names, so the log must not grow with them.
	known := g.refused[name] || len(g.refused) >= namesRefusedMax
	if !known {
		g.refused[name] = true
	}
	g.mu.Unlock()
	if !known {
		g.log.Warn("refusing requests for this host name; if it is a name of this server, use --host", "host", name)
	}
	answer(rw,
		http.StatusMisdirectedRequest, "this server does not serve this host name: use its address, or start plimsoll watch with --web.host NAME")
}
