package live

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

const (
	// clientPort is where etcd listens for clients unless told.
	clientPort = "2379"
	// addressBytesMax bounds an address; one of five members with certificates has some hundred bytes.
	addressBytesMax = 4096
	// membersMax bounds the members of a cluster; etcd's documentation advises against more than seven.
	membersMax = 64
)

// An address is where a cluster is, and who asks. It holds a password.
type address struct {
	endpoints      []string // host:port
	secure         bool
	files          files
	metrics        *url.URL // nil: where clients are served
	user, password string
}

// files are TLS as etcdctl's flags name it: who signs the servers' certificates, and a client's certificate with its key.
type files struct{ cacert, cert, key string }

var errAddress = errors.New("the etcd:// address cannot be read (a password's special characters must be written as %XX): give one such as etcd://a:2379,b:2379,c:2379, or etcds:// with TLS")

// parse reads an address, and what of etcdctl's environment it leaves open. Errors repeat nothing of it.
func parse(text string, getenv func(string) string) (*address, error) {
	if len(text) > addressBytesMax {
		return nil, fmt.Errorf("an etcd:// address of more than %d bytes is none", addressBytesMax)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "etcd" && scheme != "etcds" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errAddress
	}
	a := &address{secure: scheme == "etcds", files: files{getenv("ETCDCTL_CACERT"), getenv("ETCDCTL_CERT"), getenv("ETCDCTL_KEY")}}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if path != "" {
		return nil, errors.New("an etcd:// address has no path: give the members' hosts and ports alone")
	}
	if err := a.credentials(&authority, getenv); err != nil {
		return nil, err
	}
	if err := a.parameters(query); err != nil {
		return nil, err
	}
	for host := range strings.SplitSeq(authority, ",") {
		e, err := endpoint(host)
		if err != nil {
			return nil, err
		}
		a.endpoints = append(a.endpoints, e)
	}
	if len(a.endpoints) > membersMax {
		return nil, fmt.Errorf("an etcd:// address of %d members: at most %d are read", len(a.endpoints), membersMax)
	}
	a.secure = a.secure || a.files != files{}
	return a, nil
}

func (a *address) credentials(authority *string, getenv func(string) string) error {
	user, password, has := strings.Cut(getenv("ETCDCTL_USER"), ":")
	if !has {
		password = getenv("ETCDCTL_PASSWORD")
	}
	if i := strings.LastIndexByte(*authority, '@'); i >= 0 {
		var err error
		name, word, _ := strings.Cut((*authority)[:i], ":")
		if name, err = url.PathUnescape(name); err != nil {
			return errAddress
		}
		if word, err = url.PathUnescape(word); err != nil {
			return errAddress
		}
		if word == "" {
			word = getenv("ETCDCTL_PASSWORD")
		}
		user, password, *authority = name, word, (*authority)[i+1:]
	}
	a.user, a.password = user, password
	return nil
}

// parameters are those after the question mark.
func (a *address) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errAddress
	}
	for key, v := range values {
		value := v[len(v)-1]
		switch key {
		case "cacert":
			a.files.cacert = value
		case "cert":
			a.files.cert = value
		case "key":
			a.files.key = value
		case "metrics":
			u, err := url.Parse(value)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" {
				return errors.New("the etcd:// address's metrics= is no such address as http://:2381")
			}
			a.metrics = u
		default:
			return errors.New("the etcd:// address has a parameter that is none of cacert, cert, key and metrics")
		}
	}
	return nil
}

// endpoint adds the port that etcd has unless told.
func endpoint(host string) (string, error) {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), clientPort
		if strings.Contains(name, ":") && net.ParseIP(name) == nil {
			return "", errAddress
		}
	}
	if name == "" || port == "" || strings.ContainsAny(name, `"'<>\^{|}#@%`+"`") {
		return "", errAddress
	}
	return net.JoinHostPort(name, port), nil
}

// name is what may be shown.
func (a *address) name() string {
	scheme := "etcd"
	if a.secure {
		scheme = "etcds"
	}
	return scheme + "://" + strings.Join(a.endpoints, ",")
}

// page is the address of a member's metrics.
func (a *address) page(endpoint string) string {
	u := url.URL{Scheme: "http", Host: endpoint, Path: "/metrics"}
	if a.secure {
		u.Scheme = "https"
	}
	if a.metrics != nil {
		host := a.metrics.Hostname()
		if host == "" {
			host, _, _ = net.SplitHostPort(endpoint)
		}
		u.Scheme, u.Host = a.metrics.Scheme, net.JoinHostPort(host, a.metrics.Port())
	}
	return u.String()
}

// config is nil where nothing asks for TLS.
func (f *files) config(secure, insecure bool) (*tls.Config, error) {
	if !secure {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure} //nolint:gosec // a person asked for it by a flag
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("a client's certificate needs its key, and the key its certificate: name both, by ETCDCTL_CERT and ETCDCTL_KEY, or ?cert= and &key=")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("etcd's client certificate (ETCDCTL_CERT, ETCDCTL_KEY): %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if f.cacert != "" {
		text, err := os.ReadFile(f.cacert)
		if err != nil {
			return nil, fmt.Errorf("etcd's authority (ETCDCTL_CACERT): %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("etcd's authority (ETCDCTL_CACERT): %s has no certificate in PEM", f.cacert)
		}
	}
	return c, nil
}
