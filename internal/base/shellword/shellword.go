// Package shellword quotes words for a POSIX shell, so that a printed command can be copied and
// does what it says, whatever file names and values contain.
package shellword

import "strings"

// Quote turns any text into one shell word: in single quotes, or unchanged if it needs none (POSIX
// Shell Command Language, 2.2).
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune("-_./=:,%+@", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Readable quotes like [Quote], but uses double quotes if the text contains single quotes and
// nothing that a shell expands inside double quotes.
func Readable(s string) string {
	if strings.Contains(s, "'") && !strings.ContainsAny(s, "\"$`\\!") {
		return `"` + s + `"`
	}
	return Quote(s)
}
