package live

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	location "plimsoll/internal/record/address"
	"plimsoll/internal/record/source"
)

// addressBytesMax bounds a connection string.
const addressBytesMax = 16 << 10

// errAddress describes a valid address. It quotes nothing of the invalid one, which may contain a
// password.
var errAddress = errors.New("invalid MongoDB address; special characters in a password must be percent-encoded; example: mongodb://host:27017")

// An address is a parsed connection string. Its secrets appear nowhere else.
type address struct {
	secret  string // the whole connection string
	name    string // without secrets
	hosts   []string
	srv     bool
	set     string            // replica set
	options map[string]string // by their names in small letters
	hidden  location.Secrets
	user    bool // it has credentials
}

// parse parses a connection string. A missing user or password comes from the environment.
func parse(text string, getenv func(string) string) (*address, error) {
	parsed, err := location.Parse(text)
	// An @ in the user information was not escaped: the host would be a part of the password.
	if err != nil || len(text) > addressBytesMax || parsed.Scheme != "mongodb" &&
		parsed.Scheme != "mongodb+srv" ||
		slices.Contains(parsed.Hosts, "") || strings.ContainsRune(parsed.UserInfo, '@') {
		return nil, errAddress
	}

	addr := &address{srv: parsed.Scheme == "mongodb+srv", hosts: parsed.Hosts, hidden: parsed.Secrets,
		options: map[string]string{}}
	options, err := url.ParseQuery(parsed.Query)
	if err != nil {
		return nil, errAddress
	}

	for name, values := range options {
		addr.options[strings.ToLower(name)] = values[0]
	}

	addr.set, _ = addr.option("replicaSet")
	user, err := addr.credentials(parsed, getenv)
	if err != nil {
		return nil, err
	}

	hosts, tail := strings.Join(addr.hosts, ","), parsed.Path
	if parsed.Query != "" {
		if tail == "" { // the driver requires a slash before it
			tail = "/"
		}
		tail += "?" + parsed.Query
	}

	// The secret has the password and is only for the driver; the name is for output.
	addr.secret = parsed.Scheme + "://" + user + hosts + tail
	addr.name = parsed.Scheme + "://" + hosts + "/"
	if addr.set != "" {
		addr.name += "?replicaSet=" + addr.set
	}

	if addr.user {
		addr.hidden.Add(addr.secret)
	}

	return addr, nil
}

// option returns an option's value. Option names are case-insensitive.
func (a *address) option(name string) (value string, has bool) {
	value, has = a.options[strings.ToLower(name)]
	return value, has
}

// credentials returns the address's user and password part, including the "@".
func (a *address) credentials(parsed *location.Address, getenv func(string) string) (string, error) {
	// An unescaped colon in the password is ambiguous.
	if _, raw, _ := strings.Cut(parsed.UserInfo, ":"); strings.ContainsRune(raw, ':') {
		return "", errAddress
	}

	name, password, has := parsed.User, parsed.Password, parsed.HasPassword
	if mechanism, _ := a.option("authMechanism"); mechanism == "" && !has { // other mechanisms have no password or get it elsewhere
		if name == "" {
			name = getenv(source.EnvUser)
		}
		if name != "" && getenv(source.EnvPassword) != "" {
			password, has = getenv(source.EnvPassword), true
		}
	}

	if name == "" {
		return "", nil
	}

	a.user = true
	out := url.User(name).String()
	if has {
		out = url.UserPassword(name, password).String()
		// Error messages may quote either form.
		_, escaped, _ := strings.Cut(out, ":")
		a.hidden.Add(password, escaped)
	}

	return out + "@", nil
}

// one reports whether the address means a single server. Otherwise it means a set, and the primary
// is read.
func (a *address) one() bool {
	if direct, has := a.option("directConnection"); has {
		return strings.EqualFold(direct, "true")
	}
	balanced, _ := a.option("loadBalanced")
	return len(a.hosts) == 1 && !a.srv && a.set == "" && !strings.EqualFold(balanced, "true")
}

// clipped shortens a text, because a server's message can be megabytes long.
func clipped(text string) string {
	const most = 600
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

func (a *address) errorf(err error, format string, args ...any) error {
	return location.Shown(a.name+" "+a.hidden.Hide(clipped(fmt.Sprintf(format, args...))), err)
}
