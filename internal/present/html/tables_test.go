package html

import (
	"strings"
	"testing"

	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
	"plimsoll/internal/testkit"
)

// A phone has no room for wide tables side by side; numbers in many rows stay columns.
func TestStacks(t *testing.T) {
	wide := strings.Repeat("w", phoneColumns)
	table := func(cell document.Cell, rows int, columns ...document.Column) *document.Table {
		out := &document.Table{Columns: columns}
		for range rows {
			row := make([]document.Cell, len(columns))
			row[len(row)-1] = cell
			out.Rows = append(out.Rows, row)
		}
		return out
	}

	text, number := document.Column{Text: "what"}, document.Column{Text: "n", Number: true}
	for name, c := range map[string]struct {
		t    *document.Table
		want bool
	}{
		"narrow":                 {table(document.Cell{Text: "short"}, 3, text, text), false},
		"wide text":              {table(document.Cell{Text: wide}, 3, number, text), true},
		"few wide numbers":       {table(document.Cell{Text: wide}, 3, text, number), true},
		"many wide numbers":      {table(document.Cell{Text: wide}, numberRows+1, text, number), false},
		"a note that may wrap":   {table(document.Cell{Note: wide}, 3, text, number), false},
		"bars":                   {table(document.Cell{Text: wide, Bar: new(0.5)}, 3, text, text), false},
		"row of too many cells":  {&document.Table{Columns: []document.Column{text}, Rows: [][]document.Cell{{{Text: "a"}, {Text: wide}}}}, false},
		"columns without a cell": {&document.Table{Columns: []document.Column{text, text}, Rows: [][]document.Cell{{}}}, false},
	} {
		if got := stacks(c.t); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A page names its machine: the one in its sources, or otherwise the given one.
func TestPageNamesItsHost(t *testing.T) {
	for _, c := range []struct {
		hosts []string
		opt   string
		want  string
	}{
		{[]string{"db-1"}, "here", "db-1"},
		{nil, "here", "here"},
		{[]string{"db-1", "db-2", "db-1"}, "", "db-1, db-2"},
		{[]string{"a", "b", "c", "d", "e"}, "", "a, b, 3 more"},
		{[]string{"<b>"}, "", "&lt;b&gt;"},
	} {
		r := stalledReport(60, "nvme1n1")
		s := r.Sources[0]
		s.Host = ""
		r.Sources = nil

		for _, h := range append([]string{""}, c.hosts...) {
			s.Host = h
			r.Sources = append(r.Sources, s)
		}

		page := pageOf(t, diagnosis.Document(r, diagnosis.Options{Pack: testkit.Pack(), Host: c.opt}))
		if !strings.Contains(page, "<title>"+c.want+": ") || !strings.Contains(page, "<span>diagnosis of "+c.want+"</span>") {
			t.Errorf("%v, %q: %s is not named", c.hosts, c.opt, c.want)
		}
	}
}
