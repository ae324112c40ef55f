package markdown

import (
	"fmt"
	"html"
	"strings"
	"unicode"

	"plimsoll/internal/present/document"
)

// inline escapes text for the inside of a line or a table cell.
func inline(s string) string {
	runes := []rune(strings.Join(strings.Fields(document.Visible(s)), " "))
	var b strings.Builder
	for i, r := range runes {
		switch r {
		case '&', '<', '>', '|', '$': // $ starts a formula on GitHub; | ends a cell even if escaped
			b.WriteString(entity(r))
		case '\\', '`', '*', '[', ']', '~', '!', '#':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '_':
			// An underscore inside a word is not markup on GitHub, and metric names stay
			// readable without the escape.
			if !(i > 0 && i+1 < len(runes) && alphanumeric(runes[i-1]) && alphanumeric(runes[i+1])) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case '@':
			b.WriteRune(r)
			if i+1 < len(runes) && alphanumeric(runes[i+1]) {
				b.WriteRune('\u2060') // word joiner, so that a host name does not mention a user
			}
		default:
			b.WriteRune(r)
		}
	}

	return b.String()
}

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// line escapes text for the start of a line, where it must not start a list, heading or quote.
func line(s string) string {
	return guard(inline(strings.TrimSpace(s)))
}

// guard escapes the start of a line that is already escaped inline.
func guard(out string) string {
	if out == "" {
		return ""
	}
	// "1." and "1)" start a numbered list.
	digits := len(out) - len(strings.TrimLeft(out, "0123456789"))
	switch {
	case strings.ContainsRune("+-=:", rune(out[0])):
		return "\\" + out
	case digits > 0 && digits < len(out) && strings.ContainsRune(".)", rune(out[digits])):
		return out[:digits] + "\\" + out[digits:]
	}
	return out
}

// entity writes a character as a reference, which is never markup.
func entity(r rune) string { return fmt.Sprintf("&#%d;", r) }

// entities escapes text within a tag.
func entities(s string) string {
	return strings.ReplaceAll(html.EscapeString(document.Visible(s)), "|", entity('|'))
}

// code formats text as inline code.
func code(s string) string {
	s = strings.TrimSpace(document.Visible(s))
	if s == "" {
		return ""
	}

	// Between backticks nothing can be escaped: a backtick would end the code, and | the cell.
	if !strings.ContainsAny(s, "|`\\") {
		return "`" + s + "`"
	}

	var b strings.Builder
	for _, r := range s {
		if r <= unicode.MaxASCII && !alphanumeric(r) && r != ' ' && r != '/' && r != '.' && r != ':' {
			b.WriteString(entity(r))
		} else {
			b.WriteRune(r)
		}
	}

	return "<code>" + b.String() + "</code>"
}

// fence writes lines unchanged, as a code block.
func (p *page) fence(language string, lines []string) {
	// A fence must be longer than any run of backticks inside of it.
	longest, run := 0, 0
	var b strings.Builder
	for _, l := range lines {
		l = document.Visible(l)
		run = 0
		for _, r := range l {
			if run++; r != '`' {
				run = 0
			}
			longest = max(longest, run)
		}
		b.WriteString(l + "\n")
	}

	marks := strings.Repeat("`", max(3, longest+1))
	p.para(marks + language + "\n" + b.String() + marks)
}
