// Package shellword writes words for a POSIX shell, so that a command that is printed can be copied and does what it says, whatever
// stands in the names of files and in values.
package shellword

import "strings"

// Quote makes one word of a shell of any text: in single quotes, or as it is where it needs none (POSIX Shell Command Language, 2.2).
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./=:,%+@", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
