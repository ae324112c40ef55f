package existing

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"plimsoll/internal/record/address"
	"plimsoll/internal/record/source"
)

// EnvPassword is the environment variable that gives the password where an address has a user and
// no password, so that it need not stand where every user of the machine can see it.
const EnvPassword = source.EnvPassword

// addressBytesMax bounds an address; a URI with a dozen of hosts and options has some hundred
// bytes.
const addressBytesMax = 4096

// An Address is where a server is. It holds secrets and shows none of them.
type Address struct {
	kind   Addresses
	parsed *address.Address
	raw    string // as it was given, with its secrets
	hosts  []string
}

// Parse reads an address. Errors show nothing of it.
func (k Kinds) Parse(text string, getenv func(string) string) (*Address, error) {
	scheme, _, _ := strings.Cut(text, "://")
	kind := k.of(scheme)
	switch {
	case len(text) > addressBytesMax:
		return nil, fmt.Errorf("an address has at most %d bytes", addressBytesMax)
	case kind == nil || scheme == text:
		return nil, errors.New("an address must begin with " + k.list(func(a *Addresses) string { return a.Begin }, " or "))
	}
	parsed, err := address.Parse(text)
	if err != nil {
		return nil, err
	}
	a := &Address{kind: *kind, parsed: parsed, raw: text}
	if p := getenv(EnvPassword); p != "" && parsed.User != "" && !parsed.HasPassword {
		escaped := strings.ReplaceAll(url.QueryEscape(p), "+", "%20")
		a.raw = strings.Replace(text, "://"+parsed.UserInfo+"@", "://"+parsed.UserInfo+":"+escaped+"@", 1)
		parsed.Password = p
		parsed.Secrets.Add(p, escaped)
	}
	a.hosts = slices.DeleteFunc(slices.Clone(parsed.Hosts), func(h string) bool { return h == "" })
	a.parameter()
	if len(a.hosts) == 0 && !kind.Socket {
		return nil, errors.New("the address names no host")
	}
	return a, nil
}

// parameter finds hosts that are a parameter. A folder there is that of a socket.
func (a *Address) parameter() {
	values, err := url.ParseQuery(a.parsed.Query)
	if a.kind.HostParameter == "" || err != nil {
		return
	}
	for host := range strings.SplitSeq(values.Get(a.kind.HostParameter), ",") {
		if host != "" && !strings.HasPrefix(host, "/") {
			a.hosts = append(a.hosts, host)
		}
	}
}

// Engine is the scenario's name of the engine that answers there.
func (a *Address) Engine() string { return a.kind.Engine }

// Product is what people call it.
func (a *Address) Product() string { return a.kind.Product }

// Kind are the addresses that this is one of.
func (a *Address) Kind() *Addresses { return &a.kind }

// Hosts are the hosts with their ports, as they were given. Empty: a socket on this machine.
func (a *Address) Hosts() []string { return a.hosts }

// Secure tells whether the scheme asks for TLS.
func (a *Address) Secure() bool { return slices.Contains(a.kind.Secure, a.parsed.Scheme) }

// User gives user and password, for drivers and nobody else; "" where there is none.
func (a *Address) User() (name, password string) { return a.parsed.User, a.parsed.Password }

// Secret is the address with its secrets, for drivers and nobody else.
func (a *Address) Secret() string { return a.raw }

// String is the address as it may be shown: product and hosts.
func (a *Address) String() string {
	if len(a.hosts) == 0 {
		return a.Product() + " on this machine"
	}
	return a.Product() + " at " + strings.Join(a.hosts, ",")
}

// GoString shows no more.
func (a *Address) GoString() string { return a.String() }

// Local tells whether the server is on this machine, as far as names tell: then this machine's
// devices and cores are the server's.
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
	text := a.Hide(strings.ReplaceAll(err.Error(), "\n\t", " ")) // some drivers write a list
	if text == err.Error() {
		return err
	}
	return address.Shown(text, err)
}

// Hide takes the address's secrets out of a text.
func (a *Address) Hide(text string) string { return a.parsed.Secrets.Hide(text) }
