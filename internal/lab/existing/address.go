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

// EnvPassword is the environment variable with the password for an address that has a user but no
// password, so that other users of the machine cannot see the password.
const EnvPassword = source.EnvPassword

// addressBytesMax bounds an address; a URI with a dozen hosts and options takes a few hundred
// bytes.
const addressBytesMax = 4096

// An Address identifies a server. It contains secrets and never shows them.
type Address struct {
	kind   Addresses
	parsed *address.Address
	raw    string // with its secrets, for drivers
	hosts  []string
}

// Parse parses an address. Errors never quote it, because it may contain a password.
func (k Kinds) Parse(text string, getenv func(string) string) (*Address, error) {
	scheme, _, _ := strings.Cut(text, "://")
	kind := k.of(scheme)
	switch {
	case len(text) > addressBytesMax:
		return nil, fmt.Errorf("address too long: want at most %d bytes", addressBytesMax)
	case kind == nil || scheme == text:
		return nil, errors.New("an address must begin with " +
			k.list(func(a *Addresses) string { return a.Begin }, " or "))
	}

	parsed, err := address.Parse(text)
	if err != nil {
		return nil, err
	}

	// A password in the address takes precedence over the environment.
	if p := getenv(EnvPassword); p != "" && parsed.User != "" && !parsed.HasPassword {
		parsed.Password, parsed.HasPassword = p, true
	}

	a := &Address{kind: *kind, parsed: parsed, raw: parsed.Canonical()}

	// Drivers may quote the password in any of these forms.
	_, escaped, _ := strings.Cut(parsed.Userinfo(), ":")
	parsed.Secrets.Add(parsed.Password, escaped, url.QueryEscape(parsed.Password))
	a.hosts = slices.DeleteFunc(slices.Clone(parsed.Hosts), func(h string) bool { return h == "" })
	a.parameter()

	if len(a.hosts) == 0 && !kind.Socket {
		return nil, errors.New("the address has no host")
	}

	return a, nil
}

// parameter finds hosts in a query parameter. A folder there is that of a Unix socket.
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

// Engine returns the server's engine as its key in scenarios.
func (a *Address) Engine() string { return a.kind.Engine }

// Product returns the engine's product name.
func (a *Address) Product() string { return a.kind.Product }

// Kind returns the kind of address.
func (a *Address) Kind() *Addresses { return &a.kind }

// Hosts returns the hosts with their ports, as given. Empty means a socket on this machine.
func (a *Address) Hosts() []string { return a.hosts }

// Secure reports whether the scheme requires TLS.
func (a *Address) Secure() bool { return slices.Contains(a.kind.Secure, a.parsed.Scheme) }

// User returns user and password, for drivers only; "" if there is none.
func (a *Address) User() (name, password string) { return a.parsed.User, a.parsed.Password }

// Secret returns the address with its secrets, for drivers only.
func (a *Address) Secret() string { return a.raw }

// String returns the part that is safe to show: product and hosts.
func (a *Address) String() string {
	if len(a.hosts) == 0 {
		return a.Product() + " on this machine"
	}
	return a.Product() + " at " + strings.Join(a.hosts, ",")
}

// GoString returns the same as String, so that %#v shows no secrets either.
func (a *Address) GoString() string { return a.String() }

// Local reports whether the server is on this machine, judging by its name. If so, this machine's
// devices and CPUs are the server's.
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

// Redact removes the address's secrets from an error's text. errors.Is and errors.As still work.
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

// Hide removes the address's secrets from a text.
func (a *Address) Hide(text string) string { return a.parsed.Secrets.Hide(text) }
