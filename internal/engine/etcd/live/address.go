package live

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"plimsoll/internal/engine/etcd/endpoint"
	location "plimsoll/internal/record/address"
)

const (
	// addressBytesMax bounds an address; one of five members with certificates takes a few hundred
	// bytes.
	addressBytesMax = 4096
	// membersMax bounds a cluster's members; etcd's documentation advises against more than seven.
	membersMax = 64
)

// An address specifies where a cluster is and which user connects to it. It may contain a password.
type address struct {
	endpoints []string // host:port
	secure    bool
	files     endpoint.Files
	metrics   *url.URL // nil: the metrics are at the client endpoints
	user      endpoint.User
	within    time.Duration // how long a member may take to identify itself
}

var errAddress = errors.New("invalid etcd:// address (special characters in a password must be percent-encoded); example: etcd://a:2379,b:2379,c:2379, or etcds:// with TLS")

// parse parses an address and fills gaps from etcdctl's environment variables. Errors do not quote
// the address, because it may contain a password.
func parse(text string, getenv func(string) string) (*address, error) {
	if len(text) > addressBytesMax {
		return nil, fmt.Errorf("etcd:// address too long: want at most %d bytes", addressBytesMax)
	}

	parsed, err := location.Parse(text)
	if err != nil || parsed.Scheme != "etcd" && parsed.Scheme != "etcds" {
		return nil, errAddress
	}

	addr := &address{
		within: askWithin,
		secure: parsed.Scheme == "etcds",
		files: endpoint.Files{CACert: getenv("ETCDCTL_CACERT"), Cert: getenv("ETCDCTL_CERT"),
			Key: getenv("ETCDCTL_KEY")},
	}

	if strings.Trim(parsed.Path, "/") != "" {
		return nil, errors.New("etcd:// address has a path: give only the members' hosts and ports")
	}

	addr.credentials(parsed, getenv)
	if err := addr.parameters(parsed.Query); err != nil {
		return nil, err
	}

	for _, host := range parsed.Hosts {
		e, err := endpointOf(host)
		if err != nil {
			return nil, err
		}
		addr.endpoints = append(addr.endpoints, e)
	}

	if len(addr.endpoints) > membersMax {
		return nil, fmt.Errorf("etcd:// address has %d members: want at most %d",
			len(addr.endpoints), membersMax)
	}

	// Certificates make no sense without TLS.
	addr.secure = addr.secure || addr.files != endpoint.Files{}
	return addr, nil
}

// credentials takes user and password from the address or, if it has none, from etcdctl's
// variables.
func (a *address) credentials(parsed *location.Address, getenv func(string) string) {
	if parsed.UserInfo == "" {
		user, password, has := strings.Cut(getenv("ETCDCTL_USER"), ":")
		// ETCDCTL_USER may be "user:password", or only the user.
		if !has {
			password = getenv("ETCDCTL_PASSWORD")
		}
		a.user.Name, a.user.Password = user, password
		return
	}
	a.user.Name, a.user.Password = parsed.User, parsed.Password
	if a.user.Password == "" {
		a.user.Password = getenv("ETCDCTL_PASSWORD")
	}
}

// parameters parses the parameters after the question mark.
func (a *address) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errAddress
	}

	for key, v := range values {
		// The last one wins, as with flags.
		value := v[len(v)-1]
		switch key {
		case "cacert":
			a.files.CACert = value
		case "cert":
			a.files.Cert = value
		case "key":
			a.files.Key = value
		case "metrics":
			u, err := url.Parse(value)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" || u.User != nil ||
				u.Path != "" || u.RawQuery != "" {
				return errors.New("invalid metrics= in the etcd:// address; example: http://:2381")
			}
			a.metrics = u
		default:
			return errors.New("unknown parameter in the etcd:// address: want cacert, cert, key or metrics")
		}
	}

	return nil
}

// endpointOf returns a host with its port, or the default one.
func endpointOf(host string) (string, error) {
	name, port, err := net.SplitHostPort(endpoint.WithPort(host))
	if err != nil || name == "" || port == "" || strings.Contains(name, "%") ||
		strings.Contains(name, ":") && net.ParseIP(name) == nil {
		return "", errAddress
	}
	return net.JoinHostPort(name, port), nil
}

// name returns the part that may be shown.
func (a *address) name() string {
	scheme := "etcd"
	if a.secure {
		scheme = "etcds"
	}
	return scheme + "://" + strings.Join(a.endpoints, ",")
}

// page returns the address of a member's metrics.
func (a *address) page(endpoint string) string {
	u := url.URL{Scheme: "http", Host: endpoint, Path: "/metrics"}
	if a.secure {
		u.Scheme = "https"
	}
	if a.metrics != nil {
		host := a.metrics.Hostname()
		// "http://:2381" means this port on every member.
		if host == "" {
			host, _, _ = net.SplitHostPort(endpoint)
		}
		u.Scheme, u.Host = a.metrics.Scheme, net.JoinHostPort(host, a.metrics.Port())
	}
	return u.String()
}

// called are the names of the parameters and variables for TLS files.
var called = endpoint.Names{
	Both:      "give both, with ETCDCTL_CERT and ETCDCTL_KEY, or ?cert= and &key=",
	Client:    "etcd's client certificate (ETCDCTL_CERT, ETCDCTL_KEY)",
	Authority: "etcd's authority (ETCDCTL_CACERT)",
}
