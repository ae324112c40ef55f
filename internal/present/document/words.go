package document

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes untrusted text safe to display: white space becomes spaces, and control characters,
// format characters and invalid UTF-8 become escapes.
func Visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.Is(unicode.Cc, r):
			fmt.Fprintf(&b, `\x%02x`, r)
		// Format characters can reorder or hide text on a terminal (bidirectional overrides).
		// The zero-width joiner stays: emoji and some scripts need it.
		case unicode.Is(unicode.Cf, r) && r != '\u200d', r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}

		i += n
	}

	return b.String()
}

// ASCII is [Visible] text with non-ASCII characters escaped.
func ASCII(s string) string {
	var b strings.Builder
	for _, r := range Visible(s) {
		if r > unicode.MaxASCII {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// FirstSentence returns the first sentence of a text. A period followed by a lower-case letter ends
// an abbreviation, not a sentence.
func FirstSentence(s string) string {
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '.' && s[i+1] == ' ' && (s[i+2] < 'a' || s[i+2] > 'z') {
			return s[:i+1]
		}
	}
	return s
}

// versioned matches the name of a product with its version, which keeps its spelling even at the
// start of a sentence.
var versioned = regexp.MustCompile(`^[a-z]{4,} v?[0-9]+\.[0-9]`)

// Sentence capitalises a text and ends it with a period.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	first, _, _ := strings.Cut(s, " ")
	if c := s[0]; c >= 'a' && c <= 'z' && !versioned.MatchString(s) && !strings.ContainsAny(first, "_./") {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// LowerFirst puts a title into a sentence. Acronyms (CPU, I/O) keep their capitals.
func LowerFirst(s string) string {
	if len(s) < 2 || s[1] != ' ' && (s[1] < 'a' || s[1] > 'z') {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
