package shellword

import "strings"

// Fold breaks a command into lines of at most width characters that a shell reads as the same
// command. It breaks at spaces outside quotes and substitutions and ends each line but the last
// with a backslash. A single word stays whole, however long. One much longer than a line, which a
// terminal has to wrap anyway, does not start a new one. All lines after the first begin with indent.
func Fold(command string, width int, indent string) []string {
	var out []string
	line := ""
	for _, word := range pieces(command) {
		lead := ""
		if len(out) > 0 {
			lead = indent
		}

		switch {
		case line == "":
			line = lead + word
		case len(line)+1+len(word)+len(` \`) <= width,
			len(line) <= width/2 && len(word) > width*5/4:
			line += " " + word
		default:
			out = append(out, line+` \`)
			line = indent + word
		}
	}

	return append(out, line)
}

// pieces splits a command at the spaces where a line may be broken.
func pieces(command string) []string {
	var out []string
	var quote byte

	depth, from := 0, 0

	// Inside single quotes a backslash is literal, inside double quotes it escapes (POSIX Shell
	// Command Language, 2.2), hence the order of the cases.
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case quote == '\'':
			if c == quote {
				quote = 0
			}
		case c == '\\':
			i++
		case quote == '"':
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth--
		case c == ' ' && depth <= 0:
			if i > from {
				out = append(out, command[from:i])
			}
			from = i + 1
		}
	}

	if tail := strings.TrimSpace(command[from:]); tail != "" {
		out = append(out, tail)
	}

	return out
}
