package address

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// hidden replaces a secret.
const hidden = "***"

// hideFrom is the length above which a secret is hidden anywhere in a text. Hiding a shorter one would leave
// gaps that reveal it, so it is hidden only where a URI has a password.
const hideFrom = 3

// Secrets are texts that must never be shown.
type Secrets struct {
	texts []string // longest first, because a secret may contain another
}

// Add adds secrets; empty ones are ignored.
func (s *Secrets) Add(texts ...string) {
	for _, t := range texts {
		if t != "" && !slices.Contains(s.texts, t) {
			s.texts = append(s.texts, t)
		}
	}
	slices.SortStableFunc(s.texts, func(x, y string) int { return len(y) - len(x) })
}

// Hide removes the secrets from a text. A nil *Secrets has none.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	for _, t := range s.texts {
		// A shorter secret occurs in unrelated text as well, and the gaps would reveal it.
		if len(t) >= hideFrom {
			text = strings.ReplaceAll(text, t, hidden)
		} else {
			text = strings.ReplaceAll(text, ":"+t+"@", ":"+hidden+"@")
		}
	}
	return text
}

// Redact removes the secrets from an error's text. errors.Is still works on the result.
func (s *Secrets) Redact(err error) error {
	if err == nil {
		return nil
	}
	text := s.Hide(err.Error())
	if text == err.Error() {
		return err
	}
	return Shown(text, err)
}

// A ShownError replaces the text of an error that may contain a secret. errors.Is works on it, but
// it does not expose the error itself.
type ShownError struct {
	text string
	err  error
}

// Shown returns a ShownError with text for err. err may be nil.
func Shown(text string, err error) error { return &ShownError{text, err} }

func (e *ShownError) Error() string { return e.text }

// Is reports whether the hidden error is target.
func (e *ShownError) Is(target error) bool { return e.err != nil && errors.Is(e.err, target) }

// Public returns an argument in a form that may be shown: an address without user, password and
// parameters.
func Public(arg string) string {
	scheme, rest, ok := strings.Cut(arg, "://")
	if !ok {
		return arg
	}

	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}

	if strings.ContainsRune(path, '@') { // what ended the host may have been a character of a password
		return scheme + "://..."
	}

	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}

	return scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:] + path
}

// Again returns an argument in a form that can be given again: unlike [Public], it keeps the user and
// harmless parameters, such as the folder of a socket, but not the password. The user of an http address may
// be a token, so it is left out.
func Again(arg string) string {
	a, err := Parse(arg)
	if err != nil || a.Scheme == "http" || a.Scheme == "https" {
		return Public(arg)
	}

	var b strings.Builder
	b.WriteString(a.Scheme + "://")
	if a.User != "" {
		b.WriteString(escape(a.User) + "@")
	}
	b.WriteString(strings.Join(a.Hosts, ",") + a.Path)

	mark := "?"
	for part := range strings.SplitSeq(a.Query, "&") {
		if key, _, _ := strings.Cut(part, "="); part != "" && !maybeSecret.MatchString(key) {
			b.WriteString(mark + part)
			mark = "&"
		}
	}

	return b.String()
}

// maybeSecret matches the names of URL parameters whose values are not shown. It is broader than
// secretParameter, because nothing is lost by hiding too much here.
var maybeSecret = regexp.MustCompile(`(?i)pass|token|secret|key|auth|sig|cred`)

// Bare returns a URL in a form that may be shown, without any parameters.
func Bare(u *url.URL) string {
	v := *u
	v.RawQuery = ""
	return PublicURL(&v)
}

// PublicURL returns a URL in a form that may be shown: without user and password, and without the
// values of parameters that may be secret. If an @ comes after the host, it returns only the
// scheme, because the host may have ended at a character of the password.
func PublicURL(u *url.URL) string {
	if strings.ContainsRune(u.EscapedPath()+u.RawQuery+u.Fragment, '@') {
		return u.Scheme + "://..."
	}

	v := *u
	v.User, v.Fragment = nil, ""
	if v.RawQuery != "" {
		parts := strings.Split(v.RawQuery, "&")
		for i, p := range parts {
			if k, _, ok := strings.Cut(p, "="); ok && maybeSecret.MatchString(k) {
				parts[i] = k + "=..."
			}
		}
		v.RawQuery = strings.Join(parts, "&")
	}

	return v.String()
}
