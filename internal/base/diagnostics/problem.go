// Package diagnostics is what is wrong with something a person wrote: which field, what about it,
// which limit it breaks and who says so, and what would be right.
//
// Checks gather problems instead of stopping at the first, and name fields by a path
// ("volumes.data.iops"). Where the text came from a file, its reader turns the path into a
// line and a column.
package diagnostics

import (
	"fmt"
	"strings"
)

// A Problem is one thing that is wrong.
type Problem struct {
	Field   string `json:"field"`             // path, relative to what was checked: "iops"
	Text    string `json:"text"`              // what is wrong, one clause: "90,000 IOPS is over the most that gp3 has"
	Limit   string `json:"limit,omitempty"`   // the limit it breaks: "80,000 IOPS"
	Source  string `json:"source,omitempty"`  // who says so, and when: "AWS EC2 API reference, 2026"
	Nearest string `json:"nearest,omitempty"` // the nearest legal value, as it is written: "80000"
}

// Error is the problem in one line: field, text, source, and the nearest legal value.
func (p Problem) Error() string {
	var b strings.Builder
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Text)
	switch {
	case p.Limit != "" && p.Source != "":
		fmt.Fprintf(&b, " (limit: %s; %s)", p.Limit, p.Source)
	case p.Limit != "":
		fmt.Fprintf(&b, " (limit: %s)", p.Limit)
	case p.Source != "":
		fmt.Fprintf(&b, " (%s)", p.Source)
	}
	if p.Nearest != "" {
		b.WriteString("; nearest legal value: " + p.Nearest)
	}
	return b.String()
}

// A List is all that is wrong. An empty List is no error: give Err.
type List []Problem

// Err is the list as an error, nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Error is a line a problem.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Addf adds a problem of a field.
func (l *List) Addf(field, format string, args ...any) {
	*l = append(*l, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// Under gives the list with each field's path put under a parent: "volumes.data" and "iops" give
// "volumes.data.iops".
func (l List) Under(parent string) List {
	out := make(List, len(l))
	for i, p := range l {
		switch {
		case p.Field == "":
			p.Field = parent
		case parent != "":
			p.Field = parent + "." + p.Field
		}
		out[i] = p
	}
	return out
}
