// Package endpoint is how etcd's clients reach a member: its port, and TLS as etcdctl's flags name
// it.
package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// Port is where etcd listens for clients unless told.
const Port = "2379"

// WithPort adds the port that etcd has unless told.
func WithPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), Port)
}

// Files are TLS: a client's certificate with its key, and who signs the servers'. "": none, and
// the system's.
type Files struct{ Cert, Key, CACert string }

// Names are what the files are called where a person gave them.
type Names struct {
	// Both says how to name certificate and key: "give both --cert and --key".
	Both string
	// Client and Authority begin an error about a file.
	Client, Authority string
}

// Config is nil where neither files nor the scheme ask for TLS.
func (f *Files) Config(names Names, secure, insecure bool) (*tls.Config, error) {
	if !secure && *f == (Files{}) {
		return nil, nil
	}

	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure} //nolint:gosec // a person asked for it by a flag
	if (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("a client's certificate needs its key, and the key its certificate: " + names.Both)
	}

	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names.Client, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}

	if f.CACert != "" {
		text, err := os.ReadFile(f.CACert)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", names.Authority, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate in PEM", names.Authority, f.CACert)
		}
	}

	return c, nil
}
