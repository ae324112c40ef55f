package live

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/engine/postgres/postgrestest"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The tests of this package share one server; those that stop it start it again.
var (
	making sync.Once
	server *postgrestest.Server
	failed error
	folder string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if folder != "" {
		if err := os.RemoveAll(folder); err != nil {
			code = 1
		}
	}
	os.Exit(code)
}

// certificate returns a self-signed server certificate, for a name other than the address that is
// used.
func certificate() (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"db.example"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs}), err
}

// real returns the server, or skips the test.
func real(t testing.TB) *postgrestest.Server {
	t.Helper()
	making.Do(func() {
		var cert, key []byte
		if cert, key, failed = certificate(); failed != nil {
			return
		}

		if folder, failed = os.MkdirTemp("", "plimsoll-pg-"); failed != nil {
			return
		}

		if failed = os.Chmod(folder, 0o755); failed != nil {
			return
		}

		server, failed = postgrestest.Start(filepath.Join(folder, "pg"), postgrestest.Options{
			Conf:  "ssl = on\nmax_connections = 12\nshared_preload_libraries = 'pg_stat_statements'\nfsync = off\n",
			HBA:   "hostssl all sealed 127.0.0.1/32 scram-sha-256\nhostnossl all sealed 127.0.0.1/32 reject",
			Files: map[string][]byte{"server.crt": cert, "server.key": key},
		})
		if failed == nil {
			_, failed = server.Exec(`CREATE ROLE monitor LOGIN PASSWORD 'm0nit0r-s3cret' IN ROLE pg_monitor;
				CREATE ROLE weak LOGIN PASSWORD 'w3ak-s3cret'; CREATE ROLE sealed LOGIN PASSWORD 's3aled-s3cret' IN ROLE pg_monitor`)
		}

		if failed == nil {
			_, failed = server.Exec("CREATE EXTENSION pg_stat_statements")
		}
	})

	if errors.Is(failed, postgrestest.ErrMissing) {
		t.Skip(failed)
	}

	if failed != nil {
		t.Fatal(failed)
	}

	return server
}

// A page is a writer that keeps the last sample. It calls each with the number of samples so far.
type page struct {
	mu     sync.Mutex
	values map[string]float64 // of the last sample of each series
	n      int
	notes  []recording.Note
	source recording.Source
	each   func(n int)
}

func (p *page) Append(_ context.Context, b *recording.Batch) error {
	p.mu.Lock()
	if p.values == nil {
		p.values = map[string]float64{}
	}
	for _, c := range b.Columns {
		p.values[c.Labels.String()] = c.Values[0]
	}
	p.n++
	n := p.n
	p.mu.Unlock()
	if p.each != nil {
		p.each(n)
	}
	return nil
}

func (p *page) Note(n recording.Note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(p.notes, n)
}

func (p *page) Source(s recording.Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.source = s
}

func (p *page) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%+v %+v %v", p.notes, p.source, p.values)
}

// read takes n samples.
func read(t testing.TB, address string, n int, opt recognise.LiveOptions) (*page, error) {
	t.Helper()
	src, err := Open(t.Context(), address, opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &page{each: func(k int) {
		if k == n {
			cancel()
		}
	}}
	return p, src.Read(ctx, p, source.Options{Period: 20 * time.Millisecond})
}

func series(metric, server string, pairs ...string) string {
	return labels.FromStrings(append([]string{labels.MetricName, metric, "server", server}, pairs...)...).String()
}
