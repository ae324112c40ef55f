// Package address parses the addresses of servers and keeps their secrets out of output.
//
// A password may contain any character, and users forget to escape them. So no error repeats any
// part of an address, an ambiguous address is refused, and the messages of drivers go through
// [Secrets.Hide] or [Secrets.Redact].
package address

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// Errors of addresses. None repeats any part of the address.
var (
	ErrScheme   = errors.New("the address has no scheme: want for example https://")
	ErrControl  = errors.New("the address contains a control character")
	ErrUser     = errors.New("cannot decode the user in the address: write special characters as %XX")
	ErrPassword = errors.New("cannot decode the password in the address: write special characters as %XX")
	ErrAt       = errors.New("the address has an @ after its hosts: write special characters in user and password as %XX")
	ErrHost     = errors.New("the address has no valid host")
)

// An Address is a parsed address of one or more servers: scheme://user:password@a:1,b:2/path?query.
// It contains secrets: only Hosts, Scheme and User may be shown.
type Address struct {
	// Scheme is in lower case.
	Scheme string
	// UserInfo is user and password as written, without the @.
	UserInfo string
	// User and Password are unescaped. HasPassword distinguishes an empty password from none.
	User, Password string
	HasPassword    bool
	// Hosts are the comma-separated hosts with their ports, as written. One may be empty.
	Hosts []string
	// Path begins with a slash or is empty; Query is what follows the question mark.
	Path, Query string
	// Secrets are the password and the values of parameters that may be secret.
	Secrets Secrets
}

// Parse parses an address. It refuses an @ after the hosts: the slash or question mark that seems
// to end the hosts may belong to an unescaped password.
func Parse(text string) (*Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return nil, ErrScheme
	}

	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, ErrControl
	}

	addr := &Address{Scheme: strings.ToLower(scheme)}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}

	// The slash or question mark may be a character of an unescaped password, so the hosts are
	// ambiguous.
	if strings.ContainsRune(tail, '@') {
		return nil, ErrAt
	}

	addr.Path, addr.Query, _ = strings.Cut(tail, "?")

	// The last @, because an unescaped password may contain others.
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		addr.UserInfo, authority = authority[:i], authority[i+1:]
	}

	if err := addr.credentials(); err != nil {
		return nil, err
	}

	addr.Hosts = strings.Split(authority, ",")
	if strings.ContainsAny(authority, " \"'<>\\^`{|}#") {
		return nil, ErrHost
	}

	addr.Secrets.parameters(addr.Query)
	return addr, nil
}

// Canonical returns the address with its secrets, for drivers only. Special characters in user and
// password are escaped, so that a driver parses it the way this package did.
func (a *Address) Canonical() string {
	var b strings.Builder
	b.WriteString(a.Scheme + "://")
	if user := a.Userinfo(); user != "" {
		b.WriteString(user + "@")
	}
	b.WriteString(strings.Join(a.Hosts, ",") + a.Path)
	if a.Query != "" {
		b.WriteString("?" + a.Query)
	}
	return b.String()
}

// Userinfo returns user and password with special characters escaped, without the @.
func (a *Address) Userinfo() string {
	if a.HasPassword {
		return escape(a.User) + ":" + escape(a.Password)
	}
	return escape(a.User)
}

// escape writes all characters but letters and digits as %XX, because drivers disagree about the
// rest.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

func (a *Address) credentials() (err error) {
	user, password, has := strings.Cut(a.UserInfo, ":")
	if a.User, err = url.PathUnescape(user); err != nil {
		return ErrUser
	}
	if a.Password, err = url.PathUnescape(password); err != nil {
		return ErrPassword
	}
	a.HasPassword = has
	// Both spellings are secret: an error may quote either.
	a.Secrets.Add(password, a.Password)
	return nil
}

// secretParameter matches the names of parameters whose values must never be shown.
var secretParameter = regexp.MustCompile(`(?i)pass|token|secret|authMechanismProperties`)

// parameters adds the values of secret parameters, as written and unescaped.
func (s *Secrets) parameters(query string) {
	for part := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(part, "=")
		if !secretParameter.MatchString(key) {
			continue
		}
		s.Add(value)
		if plain, err := url.QueryUnescape(value); err == nil {
			s.Add(plain)
		}
	}
}

// ParseURL parses an http or https address like [Parse]: special characters in user and password
// need no escaping, except slash and question mark. Its errors repeat no part of the address. An @
// after the host belongs to the path only if nothing before it can be a user with a password.
func ParseURL(text string) (*url.URL, error) {
	a, err := Parse(text)
	if errors.Is(err, ErrAt) {
		u, inner := url.Parse(text)
		if inner != nil || u.User != nil || strings.Contains(u.Host, ":") {
			return nil, err // user:12/34@host looks like the host "user" with a port
		}
		return u, nil
	}

	if err != nil {
		return nil, err
	}

	u, err := url.Parse(a.Canonical())
	if err != nil || u.Host == "" {
		return nil, ErrHost
	}

	return u, nil
}
