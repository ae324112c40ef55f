package watch_test

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/watch"
)

// A request for a name other than the server's is refused, because it may come from another site's
// page whose name points here.
func TestHostIsChecked(t *testing.T) {
	address, log := serving(t, watch.ServerOptions{Addresses: []string{"localhost:0"}, Hosts: []string{"plimsoll.example.net"}}, hello)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}

	for host, want := range map[string]int{
		address: 200, "localhost": 200, "LOCALHOST:" + port: 200, "plimsoll.localhost": 200, "127.0.0.1": 200, "127.8.9.1:80": 200,
		"[::1]:" + port: 200, "[fe80::1%25eth0]": 200, "192.0.2.7:" + port: 200,
		"plimsoll.example.net": 200, "Plimsoll.Example.Net.:443": 200,
		"evil.example.net": 421, "evil.example.net:" + port: 421, "localhost.evil.example.net": 421, "127.0.0.1.evil.example.net": 421,
		"notlocalhost": 421, "sub.plimsoll.example.net": 421,
	} {
		resp, text := get(t, "http://"+address+"/", host)
		if resp.StatusCode != want {
			t.Errorf("Host %s: status %d, want %d", host, resp.StatusCode, want)
		}
		if want != 200 && (!strings.Contains(text, "--web.host") || strings.Contains(text, "hello")) {
			t.Errorf("Host %s: %q", host, text)
		}
	}

	refused := 0
	for _, m := range log.all(t) {
		if m["host"] == "evil.example.net" {
			refused++
		}
	}

	if refused != 1 {
		t.Errorf("the refused name is logged %d times", refused)
	}
}

// A request without a Host uses HTTP/1.0, which browsers do not; it may come from a load balancer.
func TestNoHost(t *testing.T) {
	address, _ := serve(t, "127.0.0.1:0", "")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.0 200") {
		t.Errorf("%q, %v", text, err)
	}
}

// This machine's own name is only served if others can reach the server.
func TestOwnName(t *testing.T) {
	name, err := os.Hostname()
	if err != nil || name == "localhost" || net.ParseIP(name) != nil {
		t.Skipf("this machine has no name: %q, %v", name, err)
	}
	for address, want := range map[string]int{"127.0.0.1:0": 421, ":0": 200} {
		at, _ := serve(t, address, "")
		_, port, err := net.SplitHostPort(at)
		if err != nil {
			t.Fatal(err)
		}
		if resp, _ := get(t, "http://127.0.0.1:"+port+"/", name+":"+port); resp.StatusCode != want {
			t.Errorf("listening on %s, Host %s: status %d, want %d", address, name, resp.StatusCode, want)
		}
	}
}

// Every answer forbids framing, content sniffing and referrers.
func TestSecurityHeaders(t *testing.T) {
	w := diagnosedWatch(t)
	address, _ := serving(t, watch.ServerOptions{Addresses: []string{"127.0.0.1:0"}}, w.Handler())
	for _, c := range []struct {
		path, host string
		status     int
	}{{"/", "", 200}, {"/?refresh=0", "", 200}, {"/api/report", "", 200}, {"/metrics", "", 200}, {"/-/healthy", "", 200}, {"/-/ready", "", 200},
		{"/nowhere", "", 404}, {"/", "evil.example.net", 421}} {
		resp, text := get(t, "http://"+address+c.path, c.host)
		if resp.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.path, resp.StatusCode, c.status)
		}

		for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := resp.Header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s %q, want %q", c.path, name, got, want)
			}
		}

		csp := resp.Header.Get("Content-Security-Policy")
		if !contains(csp, "default-src 'none'", "frame-ancestors 'none'") {
			t.Errorf("%s: Content-Security-Policy %q", c.path, csp)
		}

		own, _, _ := strings.Cut(csp, "; frame-ancestors")
		if strings.HasPrefix(text, "<!DOCTYPE html>") && (!contains(csp, "script-src 'sha256-") || !strings.Contains(html.UnescapeString(text), `content="`+own+`"`)) {
			t.Errorf("the page's policy differs from the header's: %q", csp)
		}
	}
}

// The web configuration's own headers are kept.
func TestHeadersOfTheWebConfiguration(t *testing.T) {
	address, _ := serve(t, "127.0.0.1:0", write(t, "web.yml", "http_server_config:\n  headers:\n    X-Frame-Options: sameorigin\n"))
	resp, _ := get(t, "http://"+address+"/", "")
	if got := resp.Header.Values("X-Frame-Options"); len(got) != 1 || got[0] != "sameorigin" {
		t.Errorf("X-Frame-Options %q", got)
	}
}

func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"db-7": "db-7", "Plimsoll.Example.NET.": "plimsoll.example.net", "[::1]": "::1",
		"": "", ".": "", "http://db-7": "", "db-7:9814": "", "db 7": "", "*.example.net": "", "user@db": "",
	} {
		got, err := watch.ParseHost(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// A server shuts down even if a client does not read.
func TestEndsWithSlowReader(t *testing.T) {
	s, err := watch.Listen(t.Context(), watch.ServerOptions{Addresses: []string{"127.0.0.1:0"}})
	if err != nil {
		t.Fatal(err)
	}

	writing := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- s.Serve(ctx, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			writing <- struct{}{}
			for {
				if _, err := rw.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		}), slog.New(slog.DiscardHandler))
	}()

	stall(t, s.Addresses()[0], "/", 1)
	<-writing
	cancel()

	if err := <-done; err != nil {
		t.Error(err)
	}
}
