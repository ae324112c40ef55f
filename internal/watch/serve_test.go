package watch_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/watch"
)

func contains(text string, all ...string) bool {
	for _, s := range all {
		if !strings.Contains(text, s) {
			return false
		}
	}
	return true
}

// hello is the handler that the tests serve.
var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// serve serves hello until the test ends, and returns the address and the log.
func serve(t *testing.T, address, config string) (string, *lines) {
	t.Helper()
	return serving(t, watch.ServerOptions{Addresses: []string{address}, Config: config}, hello)
}

// serving does the same with any handler.
func serving(t *testing.T, opt watch.ServerOptions, h http.Handler) (string, *lines) {
	t.Helper()
	s, err := watch.Listen(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}

	log := &lines{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, h, slog.New(slog.NewJSONHandler(log, nil))) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})

	return s.Addresses()[0], log
}

// The password of "sre" is "anchor", in bcrypt at its lowest cost.
const users = `basic_auth_users:
  sre: $2a$04$/tQzF3oNbQ6Lu.0PtqQGce/H97caOkao3S56E7ILu0TIl.tEUlOo6
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// certificate writes a certificate for 127.0.0.1 and its key, and returns a pool that trusts it.
func certificate(t *testing.T) (config string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}

	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	cert := write(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	secretFile := write(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))

	return "tls_server_config:\n  cert_file: " + cert + "\n  key_file: " + secretFile + "\n", pool
}

// TLS and passwords work as in any Prometheus exporter.
func TestServeGuarded(t *testing.T) {
	config, pool := certificate(t)
	address, log := serve(t, "127.0.0.1:0", write(t, "web.yml", config+users))

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	for password, want := range map[string]int{"anchor": 200, "wrong": 401} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/", nil)
		if err != nil {
			t.Fatal(err)
		}

		req.SetBasicAuth("sre", password)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}

		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("password %s: status %d, want %d", password, resp.StatusCode, want)
		}
	}

	for _, m := range log.all(t) {
		if m["level"] != "INFO" {
			t.Errorf("log: %v", m)
		}
	}
}

// An address that others can reach causes a warning, unless it has TLS.
func TestServeExposed(t *testing.T) {
	config, _ := certificate(t)
	for name, c := range map[string]struct {
		address, config, want string
	}{
		"loopback":            {"127.0.0.1:0", "", ""},
		"all":                 {":0", "", "anyone who can reach"},
		"all, with passwords": {":0", users, "passwords are sent in clear text"},
		"all, with TLS":       {":0", config, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := ""
			if c.config != "" {
				file = write(t, "web.yml", c.config)
			}

			address, log := serve(t, c.address, file)
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}

			conn, err := net.Dial("tcp", "127.0.0.1:"+port) // once it accepts connections, it has started
			if err != nil {
				t.Fatal(err)
			}

			conn.Close()
			warned := ""
			for range 1000 { // lines are logged before the first answer, but perhaps after the connection
				if all := log.all(t); len(all) > 0 {
					if all[0]["level"] == "WARN" {
						warned = all[0]["msg"].(string)
					}
					break
				}
				time.Sleep(time.Millisecond)
			}

			if !strings.HasPrefix(warned, c.want) || (c.want == "") != (warned == "") {
				t.Errorf("warned %q, want %q", warned, c.want)
			}
		})
	}
}

// Anything that cannot be served results in one error, before the watch starts.
func TestListenErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	defer taken.Close()
	for name, c := range map[string]struct{ address, config, want string }{
		"port in use":       {taken.Addr().String(), "", "address already in use"},
		"no port":           {"127.0.0.1", "", "missing port"},
		"no file":           {"127.0.0.1:0", "nowhere.yml", "no such file"},
		"no YAML":           {"127.0.0.1:0", write(t, "a.yml", "{{{"), "web configuration"},
		"unknown field":     {"127.0.0.1:0", write(t, "b.yml", "tls: {}\n"), "tls"},
		"key without cert":  {"127.0.0.1:0", write(t, "c.yml", "tls_server_config: {key_file: x}\n"), "web configuration"},
		"password no hash":  {"127.0.0.1:0", write(t, "d.yml", "basic_auth_users: {sre: harbour}\n"), "web configuration"},
		"certificate there": {"127.0.0.1:0", write(t, "e.yml", "tls_server_config: {cert_file: no.pem, key_file: no.pem}\n"), "no.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := watch.Listen(t.Context(), watch.ServerOptions{Addresses: []string{c.address}, Config: c.config})
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "harbour") {
				t.Errorf("error %q, want %q in it", err, c.want)
			}
		})
	}
}
