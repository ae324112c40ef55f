package yamltree

import (
	"fmt"
	"strings"
	"unicode"

	"plimsoll/internal/base/diagnostics"
)

// A Problem is one thing that is wrong with a text, and where it stands.
type Problem struct {
	diagnostics.Problem
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`   // from 1; 0: it stands in no line of the file
	Column int    `json:"column,omitempty"` // in characters, from 1
	Text   string `json:"source,omitempty"` // the line itself, or the assignment
}

// Problems are all that is wrong with a text. As an error they are a few lines each.
type Problems []Problem

// Error tells every problem: the place and the problem, and the line with a mark.
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

// BadInput marks the error as one of what a person wrote.
func (p Problems) BadInput() {}

// problemsMax is how many are shown.
const problemsMax = 20

// String is the problem with its line and a mark under the place.
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

// lineShown is how much of a long line is shown.
const lineShown = 110

// window cuts a long line around a column.
func window(line string, column int) (string, int) {
	r := []rune(line)
	column = min(column, len(r)+1)
	if len(r) <= lineShown {
		return line, column
	}
	from := max(0, min(column-1-lineShown/2, len(r)-lineShown))
	return string(r[from : from+lineShown]), column - from
}

// blanks is what stands before a column's mark: a tab where the line has one.
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

// A Source is the text that positions are in.
type Source struct {
	File  string
	lines []string
}

// NewSource is the text of a file.
func NewSource(file string, text []byte) *Source {
	return &Source{file, strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")}
}

// Place gives a problem its position.
func (s *Source) Place(p diagnostics.Problem, at Position) Problem {
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

// unshowable tells the characters of files that are no text: a line with one says nothing to a
// person, and a mark under it is not where it should be.
func unshowable(r rune) bool { return r != '\t' && unicode.IsControl(r) }

// Locate finds where a field's path ends in the tree: "volumes.data.iops",
// "workload.arrivals.steps[2].rate". What is not there is shown at the nearest thing around it.
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
