// Package inputerror describes mistakes in user input: which field, what is wrong with it, which
// limit it exceeds, the source of that limit, and the nearest legal value.
//
// Checks collect problems instead of stopping at the first one, and name fields by a path
// ("volumes.data.iops"). If the text came from a file, its reader turns the path into a line and a
// column.
package inputerror

import (
	"cmp"
	"fmt"
	"strings"
)

// A Problem is one mistake in user input.
type Problem struct {
	Field string `json:"field"` // path, relative to what was checked: "iops"
	// what is wrong, in one clause: "90,000 IOPS exceeds the maximum of gp3"
	Text  string `json:"text"`
	Limit string `json:"limit,omitempty"` // the limit it exceeds: "80,000 IOPS"
	// the source of the limit, with its date: "AWS EC2 API reference, 2026"
	Source  string `json:"source,omitempty"`
	Nearest string `json:"nearest,omitempty"` // the nearest legal value, as it would be written: "80000"
}

// Error returns the problem in one line: field, text, source, and the nearest legal value.
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

// A List holds all problems. An empty List is not an error: return Err instead of the List.
type List []Problem

// BadInput marks the error as a mistake in user input.
func (l List) BadInput() {}

// Err returns the list as an error, or nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Error returns one line per problem.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Addf adds a problem with one field.
func (l *List) Addf(field, format string, args ...any) {
	*l = append(*l, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// AddOutside adds a problem if a value is not from least to most. show writes a value as a user would,
// and text says what is wrong with it, after the value.
func AddOutside[T cmp.Ordered](l *List, field string, x, least, most T, show func(T) string,
	text, source string) {
	// NaN is in no range.
	if x >= least && x <= most {
		return
	}
	nearest := least
	if x > most {
		nearest = most
	}
	*l = append(*l, Problem{Field: field, Text: show(x) + text, Limit: show(least) + " to " + show(most),
		Source: source, Nearest: show(nearest)})
}

// Under returns the list with each field's path placed under a parent: "volumes.data" and "iops"
// become "volumes.data.iops".
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
