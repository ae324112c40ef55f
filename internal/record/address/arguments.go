package address

import (
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// pieceMin is the length above which a part of a password is hidden on its own. Errors of parsers
// quote the parts that they took for a port, a path or a host.
const pieceMin = 4

// OfArguments returns the secrets of a command line: the passwords and tokens in everything that
// may be meant as an address, valid or not. A password may contain any characters unescaped, and
// ends at the last @.
func OfArguments(args []string) *Secrets {
	s := &Secrets{}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			if _, value, ok := strings.Cut(arg, "="); ok {
				s.argument(value)
			}
		}
		s.argument(arg)
		s.keywords(arg)
	}
	return s
}

// keyword matches a secret among key=value words: libpq's connection strings (host=db password='s3
// cret'), and parameters after semicolons.
var keyword = regexp.MustCompile(`(?i)(?:^|[\s;&?,])[\w.-]*(?:pass|pwd|token|secret|api-?_?key|access-?_?key|credential|signature)[\w.-]*\s*=\s*('(?:[^'\\]|\\.)*'|"[^"]*"|[^\s;&]+)`)

// keywords adds the secrets among the key=value words of a text.
func (s *Secrets) keywords(arg string) {
	for _, m := range keyword.FindAllStringSubmatch(arg, -1) {
		value := m[1]
		s.value(value)
		if plain := strings.Trim(value, `'"`); plain != value {
			s.value(plain)
			s.value(strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(plain))
		}
	}
}

// value adds a secret as written, as unescaped, and as %q prints it.
func (s *Secrets) value(text string) {
	if len(text) < pieceMin {
		return // hiding it would damage unrelated text
	}
	quoted := strconv.Quote(text)
	s.Add(text, quoted[1:len(quoted)-1])
	if plain, err := url.QueryUnescape(text); err == nil {
		s.Add(plain)
	}
}

func (s *Secrets) argument(arg string) {
	// One slash is enough, because a user may have typed scheme:/user:password@host.
	_, rest, hasScheme := strings.Cut(arg, ":/")
	if !hasScheme {
		rest = arg
	}

	rest = strings.TrimLeft(rest, "/")
	tail := rest
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		tail = rest[at+1:]
		if _, password, ok := strings.Cut(rest[:at], ":"); ok {
			s.password(password, arg[:len(arg)-len(rest)]+tail)
		}
	}

	if _, query, ok := strings.Cut(tail, "?"); ok && hasScheme {
		s.parameters(query)
	}
}

// password adds a password as written, unescaped, in all forms in which it may be printed, and its
// parts. It skips parts that also occur in the public part of the address, because hiding them would not
// help.
func (s *Secrets) password(written, public string) {
	meant := written
	if plain, err := url.PathUnescape(written); err == nil {
		meant = plain
	}

	// Drivers and parsers print a password in many ways: quoted, escaped, or in pieces.
	all := []string{written, meant}
	for _, p := range []string{written, meant} {
		quoted := strconv.Quote(p)
		all = append(all, quoted[1:len(quoted)-1], url.PathEscape(p), url.QueryEscape(p), escape(p),
			url.UserPassword("", p).String()[1:])
		all = append(all, strings.FieldsFunc(p, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
				!strings.ContainsRune("-_.!~*$+,;", r)
		})...)
	}

	for _, p := range all {
		if len(p) >= pieceMin && !strings.Contains(public, p) {
			s.Add(p)
		}
	}
}

// Writer returns a writer that hides the secrets in everything written to w. It cannot find a
// secret that is split over two calls of Write.
func (s *Secrets) Writer(w io.Writer) io.Writer { return &hiding{s, w} }

type hiding struct {
	secrets *Secrets
	w       io.Writer
}

// Write implements io.Writer.
func (h *hiding) Write(p []byte) (int, error) {
	text := string(p)
	if shown := h.secrets.Hide(text); shown != text {
		if _, err := io.WriteString(h.w, shown); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return h.w.Write(p)
}
