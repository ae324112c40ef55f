package yamltree

import (
	"fmt"
	"strings"
	"unicode"

	"plimsoll/internal/base/inputerror"
)

// A Problem is one mistake in a text, with its position.
type Problem struct {
	inputerror.Problem
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`   // from 1; 0 if it is not in a line of the file
	Column int    `json:"column,omitempty"` // in characters, from 1
	Text   string `json:"source,omitempty"` // the line itself, or the assignment
}

// Problems are all mistakes in a text. As an error, each takes up to three lines.
type Problems []Problem

// Error shows every problem: its position and text, and the line with a mark.
func (p Problems) Error() string {
	parts := make([]string, 0, len(p)+1)
	for i, x := range p {
		if i == problemsMax {
			parts = append(parts, fmt.Sprintf("and %d more", len(p)-i))
			break
		}
		parts = append(parts, x.String())
	}
	return strings.Join(parts, "\n")
}

// BadInput marks the error as a mistake in user input.
func (p Problems) BadInput() {}

// problemsMax bounds the problems that are shown.
const problemsMax = 20

// String shows the problem with its line and a mark under the position.
func (p Problem) String() string {
	var b strings.Builder
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}

	if place != "" {
		b.WriteString(place + ": ")
	}

	b.WriteString(p.Problem.Error())
	if p.Text == "" || p.Column < 1 {
		return b.String()
	}

	label := ""
	if p.Line > 0 {
		label = fmt.Sprint(p.Line)
	}

	line, column := window(p.Text, p.Column)
	fmt.Fprintf(&b, "\n%5s | %s\n%5s | %s^", label, line, "", blanks(line, column))
	return b.String()
}

// lineShown is the length to which a long line is cut.
const lineShown = 110

// window cuts a long line around a column.
func window(line string, column int) (string, int) {
	r := []rune(line)
	column = min(column, len(r)+1)
	if len(r) <= lineShown {
		return line, column
	}
	// The mark is in the middle of the part shown, except near the ends of the line.
	from := max(0, min(column-1-lineShown/2, len(r)-lineShown))
	return string(r[from : from+lineShown]), column - from
}

// blanks returns the padding before the mark at a column. It repeats the line's tabs, so that the
// mark is aligned in any terminal.
func blanks(line string, column int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= column-1 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	for n := len([]rune(line)); n < column-1; n++ {
		b.WriteByte(' ')
	}
	return b.String()
}

// A Source is the text that positions refer to.
type Source struct {
	File  string
	lines []string
}

// NewSource returns the text of a file as a Source.
func NewSource(file string, text []byte) *Source {
	return &Source{file, strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")}
}

// Place gives a problem its position and the line that it is in.
func (s *Source) Place(p inputerror.Problem, at Position) Problem {
	out := Problem{Problem: p, File: s.File, Line: at.Line, Column: at.Column}
	if at.Set != "" {
		out.File, out.Line, out.Text = "--set", 0, at.Set
		return out
	}
	if at.Line >= 1 && at.Line <= len(s.lines) && !strings.ContainsFunc(s.lines[at.Line-1], unshowable) {
		out.Text = s.lines[at.Line-1]
	}
	return out
}

// unshowable matches control characters. A line with one is binary data: showing it does not help,
// and the mark would be misplaced.
func unshowable(r rune) bool { return r != '\t' && unicode.IsControl(r) }

// Locate finds the position of a field's path in the tree: "volumes.data.iops",
// "workload.arrivals.steps[2].rate". If the field does not exist, it returns the position of the
// innermost part that does.
func (n *Node) Locate(path string) Position {
	at := n.At
	for path != "" && n != nil {
		var key string
		if path[0] == '[' {
			i := 0
			if _, err := fmt.Sscanf(path, "[%d]", &i); err != nil || i < 0 || i >= len(n.Items) {
				break
			}
			n, path = n.Items[i], path[strings.IndexByte(path, ']')+1:]
			at = n.At
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}

			key, path = path[:end], path[end:]
			e := n.Find(key)
			if e == nil {
				break
			}

			n, at = e.Value, e.At
			if path == "" && n.Kind == Scalar {
				at = n.At
			}
		}

		path = strings.TrimPrefix(path, ".")
	}

	return at
}
