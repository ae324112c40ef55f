// Package endpoint describes how clients reach an etcd member: its port, and TLS with the names of
// etcdctl's flags.
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

// Port is etcd's default client port.
const Port = "2379"

// WithPort adds etcd's default port to a host without one.
func WithPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), Port)
}

// Files names the TLS files: the client's certificate and key, and the authority of the servers'
// certificates. "" means no client certificate, and the system's authorities.
type Files struct{ Cert, Key, CACert string }

// Names are the names of the flags or variables with which the user specified the files.
type Names struct {
	// Both explains how to give certificate and key: "give both --cert and --key".
	Both string
	// Client and Authority begin an error about a file.
	Client, Authority string
}

// Config returns the TLS configuration; nil if neither the files nor the scheme require TLS.
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
