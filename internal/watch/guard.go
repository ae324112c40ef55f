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

// namesRefusedMax bounds the refused names that are logged, each once.
const namesRefusedMax = 20

// A guard stands before everything that is served. It sets the headers that keep a page from being
// framed or misread, and it refuses requests for names that are not this server's: otherwise a page
// on the web could point its own name at this machine (DNS rebinding) and read the findings through
// the browser of whoever opens it.
type guard struct {
	next  http.Handler
	names map[string]bool // besides loopback names and addresses
	log   *slog.Logger

	mu      sync.Mutex
	refused map[string]bool // logged
}

// newGuard allows the names of --host, those of the addresses to listen on, and, if others can
// reach the server, this machine's own.
func newGuard(next http.Handler, s *Server, log *slog.Logger) *guard {
	g := &guard{next: next, names: map[string]bool{}, log: log, refused: map[string]bool{}}
	for _, name := range s.names {
		g.names[name] = true
	}
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

// ParseHost checks a name for which requests are to be answered, and returns it in the form in
// which it is compared.
func ParseHost(text string) (string, error) {
	if strings.Contains(text, "/") || strings.ContainsAny(text, " \t@*?#") {
		return "", fmt.Errorf("%q is not a host name", text)
	}
	if _, _, err := net.SplitHostPort(text); err == nil {
		return "", fmt.Errorf("%q has a port: leave it out, any port is accepted", text)
	}
	name := hostName(text)
	if name == "" {
		return "", fmt.Errorf("%q is not a host name", text)
	}
	return name, nil
}

// hostName is a Host header's name in lower case, without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// allows reports whether a request's Host is this server's. An address cannot be rebound, so any is
// accepted; browsers never ask a resolver for localhost; and a request without a Host, of HTTP/1.0,
// is not a browser's.
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

// setUnset sets a header, unless the web configuration (http_server_config) did.
func setUnset(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set(name, value)
	}
}

func (g *guard) refuse(rw http.ResponseWriter, name string) {
	g.mu.Lock()
	known := g.refused[name] || len(g.refused) >= namesRefusedMax
	if !known {
		g.refused[name] = true
	}
	g.mu.Unlock()
	if !known {
		g.log.Warn("requests for this host are refused; if it is a name of this server, give --host", "host", name)
	}
	answer(rw,
		http.StatusMisdirectedRequest, "this server does not answer for this host name: use its address, or start plimsoll watch with --host NAME")
}
