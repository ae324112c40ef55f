package text

import (
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"plimsoll/internal/present/document"
)

// cells measures text like a terminal that shows ambiguous characters narrow, regardless of the
// process' locale, so that the same report has the same lines everywhere.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// columns is the width of text that may contain SGR sequences.
func columns(s string) int {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return cells.StringWidth(s)
		}
		end := strings.IndexByte(s[i:], 'm')
		if end < 0 {
			return cells.StringWidth(s)
		}
		s = s[:i] + s[i+end+1:]
	}
}

// plainer replaces the non-ASCII characters of documents on an ASCII page.
var plainer = strings.NewReplacer("–", "-", "−", "-", "×", "x", "✓ ", "", "✕ ", "", "⚠ ", "")

// clean makes untrusted text safe to display. On an ASCII page, non-ASCII characters become
// escapes.
func (p *page) clean(s string) string {
	if p.ascii {
		return document.ASCII(plainer.Replace(s))
	}
	return document.Visible(s)
}

// wrap breaks text at spaces into lines, the first of at most first columns, the others of at most
// rest. Wider words are cut. It returns at least one line.
func wrap(text string, first, rest int) []string {
	// Less than 8 columns would break nearly every word; lines then stick out instead.
	width, rest := max(first, 8), max(rest, 8)
	var lines []string

	line, used := "", 0
	for _, word := range words(text) {
		w := cells.StringWidth(word)
		if used > 0 && used+1+w > width {
			lines = append(lines, line)
			line, used, width = "", 0, rest
		}

		if used > 0 {
			line, used = line+" ", used+1
		}

		for w > width {
			// A word that is wider than a line, such as a path, is cut at the edge.
			head := cells.Truncate(word, width, "")
			if head == "" {
				break // a single character wider than the line sticks out
			}
			lines, width = append(lines, head), rest
			word = word[len(head):]
			w = cells.StringWidth(word)
		}

		line, used = line+word, used+w
	}

	return append(lines, line)
}

// Wrap breaks text at spaces into lines of at most width columns, like [Write].
func Wrap(text string, width int) []string { return wrap(text, width, width) }

// words splits text where a line may break: at spaces, except between a number and its unit, or a
// date and its time.
func words(text string) []string {
	var out []string
	for word := range strings.FieldsSeq(text) {
		if n := len(out); n > 0 && (isUnit(word) && endsInDigit(out[n-1]) || isTime(word) && isDate(out[n-1])) {
			out[n-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// isDate recognises "07-31" and "2026-07-31", optionally after a parenthesis.
func isDate(s string) bool {
	s = strings.TrimLeft(s, "(")
	_, long := time.Parse("2006-01-02", s)
	_, short := time.Parse("01-02", s)
	return long == nil || short == nil
}

// isTime recognises "15:58:06" and text that starts with a time.
func isTime(s string) bool {
	return len(s) >= 8 && s[2] == ':' && s[5] == ':' && endsInDigit(s[:2])
}

func endsInDigit(s string) bool { return s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }

func isUnit(word string) bool {
	switch strings.TrimRight(word, ".,;:)") {
	case "us", "ms", "s", "min", "h", "%", "B", "kB", "MB", "GB", "TB", "MiB", "GiB", "B/s", "kB/s", "MB/s",
		"GB/s", "MiB/s", "IOPS":
		return true
	}
	return false
}

// fit cuts text to width columns, ending it with a mark if it was cut.
func (p *page) fit(text string, width int) string {
	text = p.clean(text)
	if columns(text) <= width {
		return text
	}
	if p.ascii {
		return cells.Truncate(text, width, "~")
	}
	return cells.Truncate(text, width, "…")
}

// pad fits text into exactly width columns, left-aligned.
func (p *page) pad(text string, width int) string {
	text = p.fit(text, width)
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// right right-aligns text in width columns; wider text is kept whole.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-columns(text))) + text
}
