package existing

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// EnvPassword is the environment variable that gives the password where an address has a user and no password, so that it need
// not stand where every user of the machine can see it.
const EnvPassword = "PLIMSOLL_PASSWORD"

// addressBytesMax bounds an address; a URI with a dozen of hosts and options has some hundred bytes.
const addressBytesMax = 4096

// An Address is where a server is. It holds secrets and shows none of them.
type Address struct {
	engine string // as in scenarios
	raw    string // as it was given, with its secrets
	hosts  []string
	secure bool // TLS, by its scheme

	user, password string
	secret         []string // what no text may have in it
}

// engines by scheme, as scenarios call them.
var engines = map[string]string{
	"etcd": "etcd", "http": "etcd", "https": "etcd",
	"postgres": "postgres", "postgresql": "postgres",
	"mongodb": "wiredtiger", "mongodb+srv": "wiredtiger",
}

// products are the engines as people call them.
var products = map[string]string{"etcd": "etcd", "postgres": "PostgreSQL", "wiredtiger": "MongoDB"}

// Wanted says what an address looks like.
const Wanted = "for example etcd://127.0.0.1:2379, https://host:2379 (etcd), postgres://user@host/ or mongodb://user@host/"

// Parse reads an address. Errors show nothing of what stands before the hosts.
func Parse(text string, getenv func(string) string) (*Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	engine := engines[scheme]
	switch {
	case len(text) > addressBytesMax:
		return nil, fmt.Errorf("an address of more than %d bytes is none", addressBytesMax)
	case !ok || engine == "":
		return nil, errors.New("an address begins with etcd://, http://, https://, postgres:// or mongodb://")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, errors.New("the address has a control character in it")
	}
	a := &Address{engine: engine, raw: text, secure: scheme == "https"}
	authority := rest
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, password, has := strings.Cut(authority[:i], ":")
		if err := a.credentials(user, password, has, getenv); err != nil {
			return nil, err
		}
		authority = authority[i+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host == "" {
			continue
		}
		if strings.ContainsAny(host, " \"'<>\\^`{|}") {
			return nil, errors.New("the address has no host that can be one")
		}
		a.hosts = append(a.hosts, host)
	}
	a.secrets(rest)
	a.parameters(rest)
	if len(a.hosts) == 0 && engine != "postgres" { // whose default is the socket of this machine
		return nil, errors.New("the address names no host")
	}
	return a, nil
}

// credentials takes over user and password as they stand in the address.
func (a *Address) credentials(user, password string, has bool, getenv func(string) string) error {
	u, err := url.PathUnescape(user)
	if err != nil {
		return errors.New("the address's user cannot be read: write special characters as %XX")
	}
	a.user = u
	if !has {
		if p := getenv(EnvPassword); p != "" && user != "" {
			escaped := strings.ReplaceAll(url.QueryEscape(p), "+", "%20")
			a.raw = strings.Replace(a.raw, "://"+user+"@", "://"+user+":"+escaped+"@", 1)
			a.password, a.secret = p, append(a.secret, p, escaped)
		}
		return nil
	}
	p, err := url.PathUnescape(password)
	if err != nil {
		return errors.New("the address's password cannot be read: write special characters as %XX")
	}
	if p != "" {
		a.password, a.secret = p, append(a.secret, p, password)
	}
	return nil
}

// secrets finds the values of parameters that may be any: password=, tlsCertificateKeyFilePassword=, a token.
func (a *Address) secrets(rest string) {
	_, query, _ := strings.Cut(rest, "?")
	for part := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		key = strings.ToLower(key)
		if value == "" || !strings.Contains(key, "pass") && !strings.Contains(key, "token") && !strings.Contains(key, "secret") && key != "authmechanismproperties" {
			continue
		}
		a.secret = append(a.secret, value)
		if plain, err := url.QueryUnescape(value); err == nil && plain != value {
			a.secret = append(a.secret, plain)
		}
	}
}

// parameters finds hosts that PostgreSQL takes as a parameter. A folder there is that of a socket.
func (a *Address) parameters(rest string) {
	_, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if a.engine != "postgres" || err != nil {
		return
	}
	for host := range strings.SplitSeq(values.Get("host"), ",") {
		if host != "" && !strings.HasPrefix(host, "/") {
			a.hosts = append(a.hosts, host)
		}
	}
}

// Engine is the scenario's name of the engine that answers there: etcd, postgres or wiredtiger.
func (a *Address) Engine() string { return a.engine }

// Product is what people call it: etcd, PostgreSQL, MongoDB.
func (a *Address) Product() string { return products[a.engine] }

// Hosts are the hosts with their ports, as they were given. Empty: PostgreSQL's socket on this machine.
func (a *Address) Hosts() []string { return a.hosts }

// Secure tells whether the scheme asks for TLS.
func (a *Address) Secure() bool { return a.secure }

// User gives user and password, for drivers and nobody else; "" where there is none.
func (a *Address) User() (name, password string) { return a.user, a.password }

// Secret is the address with its secrets, for drivers and nobody else.
func (a *Address) Secret() string { return a.raw }

// String is the address as it may be shown: engine and hosts.
func (a *Address) String() string {
	if len(a.hosts) == 0 {
		return a.Product() + " on this machine"
	}
	return a.Product() + " at " + strings.Join(a.hosts, ",")
}

// GoString shows no more.
func (a *Address) GoString() string { return a.String() }

// Local tells whether the server is on this machine, as far as names tell: then this machine's devices and cores are the server's.
func (a *Address) Local() bool {
	for _, h := range a.hosts {
		name := h
		if host, _, err := net.SplitHostPort(h); err == nil {
			name = host
		}
		ip := net.ParseIP(strings.Trim(name, "[]"))
		if name != "localhost" && (ip == nil || !ip.IsLoopback()) && !strings.HasPrefix(name, "%2F") {
			return false
		}
	}
	return true
}

// Redact takes the address's secrets out of an error's text. What the error is can still be asked.
func (a *Address) Redact(err error) error {
	if err == nil {
		return nil
	}
	text := a.Hide(strings.ReplaceAll(err.Error(), "\n\t", " ")) // PostgreSQL's driver writes a list
	if text == err.Error() {
		return err
	}
	return &redacted{text, err}
}

// Hide takes the address's secrets out of a text.
func (a *Address) Hide(text string) string {
	for _, s := range a.secret {
		if len(s) > 0 {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}

type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string { return r.text }

// Is keeps errors.Is working without handing out what holds the secret.
func (r *redacted) Is(target error) bool { return errors.Is(r.err, target) }
