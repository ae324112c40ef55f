package recording_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
)

// The password of "sre", "anchor", in bcrypt at its lowest cost.
const sealedUsers = `basic_auth_users:
  sre: $2a$04$/tQzF3oNbQ6Lu.0PtqQGce/H97caOkao3S56E7ILu0TIl.tEUlOo6
`

// sealedPrometheus starts a real server that requires TLS and a password, and returns its address
// and a transport that trusts it.
func sealedPrometheus(t *testing.T) (address string, trusting http.RoundTripper) {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed: apt-get install prometheus")
	}

	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}

	pkcs, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}

	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	write("cert.pem", string(certPEM))
	write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs})))
	web := write("web.yml", "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"+sealedUsers)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(path, "--config.file="+write("prometheus.yml", "{}\n"), "--web.config.file="+web, "--web.listen-address="+at,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.enable-remote-write-receiver", "--log.level=error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	trust := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(trust.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()

	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+at+"/-/ready", nil)
		if err != nil {
			t.Fatal(err)
		}

		req.SetBasicAuth("sre", "anchor")
		resp, err := trust.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return at, trust
			}
		}

		select {
		case <-ctx.Done():
			t.Fatalf("prometheus is not ready: %v", err)
		case <-look.C:
		}
	}
}

// A Prometheus server with TLS and passwords can be queried and written to. If something prevents
// that, a single error says what to do and contains no secret.
func TestSealedPrometheus(t *testing.T) {
	at, trusting := sealedPrometheus(t)
	for _, name := range []string{recording.EnvUser, recording.EnvPassword, recording.EnvToken, recording.EnvTokenFile} {
		t.Setenv(name, "")
	}

	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t0ken-s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	push := func(address string, transport http.RoundTripper) error {
		p, err := recording.NewPusher(t.Context(), address, recording.PushOptions{Transport: transport, Patience: 10 * time.Second})
		if err != nil {
			return err
		}
		b := &recording.Batch{TimesMs: []int64{time.Now().UnixMilli()}, Columns: []recording.Column{{Labels: labels.FromStrings("__name__", "pushed"), Values: []float64{1}}}}
		if err := p.Append(t.Context(), b); err != nil {
			return err
		}
		return p.Close()
	}

	for _, c := range []struct {
		name, address string
		env           map[string]string
		transport     http.RoundTripper
		want          []string // in the error; "" if there is none
	}{
		{name: "right", address: "https://sre:anchor@" + at, transport: trusting},
		{name: "right by the environment", address: "https://" + at, transport: trusting, env: map[string]string{recording.EnvUser: "sre", recording.EnvPassword: "anchor"}},
		{name: "wrong authority", address: "https://sre:anchor@" + at, want: []string{"certificate", "SSL_CERT_FILE=ca.pem", "--insecure"}},
		{name: "wrong name", address: "https://sre:anchor@" + strings.Replace(at, "127.0.0.1", "localhost", 1), transport: trusting, want: []string{"certificate", "a name in the certificate"}},
		{name: "wrong password", address: "https://sre:wr0ng-s3cret@" + at, transport: trusting, want: []string{"401", "does not accept the user and password", recording.EnvPassword}},
		{name: "no credentials", address: "https://" + at, transport: trusting, want: []string{"401", "no credentials were sent", recording.EnvUser, recording.EnvTokenFile}},
		{name: "token", address: "https://" + at, transport: trusting, env: map[string]string{recording.EnvToken: "t0ken-s3cret"}, want: []string{"401", "does not accept the bearer token"}},
		{name: "token of a file", address: "https://" + at, transport: trusting, env: map[string]string{recording.EnvTokenFile: token}, want: []string{"401", "bearer token in " + token}},
		{name: "no such file", address: "https://" + at, transport: trusting, env: map[string]string{recording.EnvTokenFile: token + "x"}, want: []string{recording.EnvTokenFile, "no such file"}},
		{name: "empty file", address: "https://" + at, transport: trusting, env: map[string]string{recording.EnvTokenFile: os.DevNull}, want: []string{recording.EnvTokenFile, "want one line"}},
		{name: "without TLS", address: "http://sre:anchor@" + at, transport: trusting, want: []string{"the server expects TLS: give https://"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}

			_, asked := recording.Dial(t.Context(), c.address, recording.RemoteOptions{From: time.Now().Add(-time.Hour), Transport: c.transport})
			for what, err := range map[string]error{"asking": asked, "pushing": push(c.address, c.transport)} {
				if len(c.want) == 0 && err != nil {
					t.Errorf("%s: %v", what, err)
				}
				for _, want := range c.want {
					if text := fmt.Sprint(err); !strings.Contains(text, want) || strings.Contains(text, "s3cret") || strings.Contains(text, "anchor") || strings.Contains(text, "\n") {
						t.Errorf("%s: error %q, want one line with %q and no secret", what, text, want)
					}
				}
			}
		})
	}
}

// The token file is read for each request, because its content changes.
func TestTokenFile(t *testing.T) {
	var got []string
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got = append(got, req.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"status":"success","data":[]}`))
	})}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	go func() { _ = s.Serve(l) }()
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	t.Setenv(recording.EnvToken, "")
	t.Setenv(recording.EnvTokenFile, file)

	for _, token := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		// the server is not a Prometheus
		_, _ = recording.Dial(t.Context(), "http://"+l.Addr().String(), recording.RemoteOptions{From: time.Now().Add(-time.Hour)})
	}

	if want := "Bearer first, Bearer second"; strings.Join(got, ", ") != want {
		t.Errorf("asked as %q, want %q", got, want)
	}
}
