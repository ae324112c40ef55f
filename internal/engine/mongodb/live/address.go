package live

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"plimsoll/internal/record/source"
)

// addressBytesMax bounds a connection string.
const addressBytesMax = 16 << 10

// errAddress says what an address looks like. It repeats nothing of one that cannot be read: there may be a password in it.
var errAddress = errors.New("the MongoDB address cannot be read (special characters in a password must be percent-encoded): give one such as mongodb://host:27017")

// An address is a connection string, whose secrets appear nowhere else.
type address struct {
	secret  string // the whole of it
	name    string // as it may be shown
	hosts   []string
	srv     bool
	set     string // replica set
	options url.Values
	hidden  []string // texts that may not be shown
	user    bool     // there are credentials
}

// secretOption matches options whose values are secrets (MongoDB manual, connection string options).
var secretOption = regexp.MustCompile(`(?i)pass|token|secret|authMechanismProperties`)

// parse reads a connection string. Where it has no user or no password, they are taken from the environment.
func parse(text string, getenv func(string) string) (*address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "mongodb" && scheme != "mongodb+srv" || len(text) > addressBytesMax ||
		strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, errAddress
	}
	a := &address{srv: scheme == "mongodb+srv"}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	path, query, _ := strings.Cut(tail, "?")
	if strings.ContainsRune(path, '@') { // the slash was one of the password's
		return nil, errAddress
	}
	user, hosts := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, hosts = authority[:i], authority[i+1:]
		if strings.ContainsAny(user, "@") {
			return nil, errAddress
		}
	}
	a.hosts = strings.Split(hosts, ",")
	if hosts == "" || slices.Contains(a.hosts, "") {
		return nil, errAddress
	}
	var err error
	if a.options, err = url.ParseQuery(query); err != nil {
		return nil, errAddress
	}
	a.option(&a.set, "replicaSet")
	for k, values := range a.options {
		if secretOption.MatchString(k) {
			a.hide(values...)
		}
	}
	if user, err = a.credentials(user, getenv); err != nil {
		return nil, err
	}
	if strings.HasPrefix(tail, "?") { // the driver wants a slash before it
		tail = "/" + tail
	}
	a.secret = scheme + "://" + user + hosts + tail
	a.name = scheme + "://" + hosts + "/"
	if a.set != "" {
		a.name += "?replicaSet=" + a.set
	}
	if a.user {
		a.hide(a.secret)
	}
	return a, nil
}

// option takes an option's value, whose name is written in any case.
func (a *address) option(to *string, name string) {
	for k, values := range a.options {
		if strings.EqualFold(k, name) && len(values) > 0 {
			*to = values[0]
		}
	}
}

func (a *address) has(name string) bool {
	for k := range a.options {
		if strings.EqualFold(k, name) {
			return true
		}
	}
	return false
}

// on reports whether an option is there and true.
func (a *address) on(name string) bool {
	v := ""
	a.option(&v, name)
	return strings.EqualFold(v, "true")
}

// credentials gives the address's part with user and password.
func (a *address) credentials(text string, getenv func(string) string) (string, error) {
	name, password, has := strings.Cut(text, ":")
	plainName, err := url.PathUnescape(name)
	if err != nil {
		return "", errAddress
	}
	plain, err := url.PathUnescape(password)
	if err != nil || strings.ContainsRune(password, ':') {
		return "", errAddress
	}
	mechanism := ""
	a.option(&mechanism, "authMechanism")
	if mechanism == "" && !has { // other mechanisms have no password, or take it from elsewhere
		if name == "" {
			plainName = getenv(source.EnvUser)
		}
		if plainName != "" && getenv(source.EnvPassword) != "" {
			plain, has = getenv(source.EnvPassword), true
		}
	}
	if plainName == "" {
		return text, nil
	}
	a.user = true
	out := url.User(plainName).String()
	if has {
		out = url.UserPassword(plainName, plain).String()
		_, escaped, _ := strings.Cut(out, ":")
		a.hide(password, plain, escaped)
	}
	return out + "@", nil
}

func (a *address) hide(texts ...string) {
	for _, t := range texts {
		if t != "" {
			a.hidden = append(a.hidden, t)
		}
	}
	// The longest first: a secret may be part of another.
	slices.SortFunc(a.hidden, func(x, y string) int { return len(y) - len(x) })
}

// public takes the address's secrets out of a text.
func (a *address) public(text string) string {
	for _, t := range a.hidden {
		text = strings.ReplaceAll(text, t, "...")
	}
	return text
}

// one reports whether the address means one server, rather than a set to look for its primary in.
func (a *address) one() bool {
	if a.has("directConnection") {
		return a.on("directConnection")
	}
	return len(a.hosts) == 1 && !a.srv && a.set == "" && !a.on("loadBalanced")
}

// A shown error is one whose text has no secret in it.
type shown struct {
	text string
	err  error
}

func (e *shown) Error() string { return e.text }
func (e *shown) Unwrap() error { return e.err }

func (a *address) errorf(err error, format string, args ...any) error {
	return &shown{text: a.name + " " + a.public(fmt.Sprintf(format, args...)), err: err}
}
