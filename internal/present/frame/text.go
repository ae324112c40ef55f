package frame

import "strings"

// sgr holds the terminal codes of the styles (ECMA-48, SGR).
var sgr = map[Style]string{Dim: "2", Bold: "1", Ok: "32", Warn: "33", Bad: "1;31", Accent: "36", Reverse: "7"}

// Text joins lines into a text, with or without colours.
func Text(lines []Line, color bool) string {
	var b strings.Builder
	for _, l := range lines {
		var text strings.Builder
		for _, p := range l {
			if code := sgr[p.Style]; color && code != "" {
				text.WriteString("\x1b[" + code + "m" + p.Text + "\x1b[0m")
				continue
			}
			text.WriteString(p.Text)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return b.String()
}
