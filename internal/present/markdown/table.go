package markdown

import (
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// table writes a table, folded if it says so. Empty columns are omitted.
func (p *page) table(tab *document.Table) {
	if len(tab.Rows) == 0 {
		return
	}

	// The copy without Fold ends the recursion.
	if tab.Fold != "" {
		unfolded := *tab
		unfolded.Fold = ""
		p.folded(tab.Fold, func() { p.table(&unfolded) })
		return
	}

	var keep []int
	for i := range tab.Columns {
		if slices.ContainsFunc(tab.Rows, func(row []document.Cell) bool {
			return i < len(row) && (row[i].Text != "" || row[i].Note != "" || row[i].Bar != nil)
		}) {
			keep = append(keep, i)
		}
	}

	var head, rule, b strings.Builder
	for _, i := range keep {
		c := tab.Columns[i]
		head.WriteString("| " + inline(c.Text) + reference(c.Ref) + " ")
		if c.Number {
			rule.WriteString("| ---: ")
		} else {
			rule.WriteString("| --- ")
		}
	}

	b.WriteString(head.String() + "|\n" + rule.String() + "|\n")
	for _, row := range tab.Rows {
		for _, i := range keep {
			c := document.Cell{}
			if i < len(row) {
				c = row[i]
			}
			b.WriteString("| " + cell(c) + " ")
		}
		b.WriteString("|\n")
	}

	p.para(strings.TrimSuffix(b.String(), "\n"))
	for _, n := range tab.Notes {
		p.para(line(n))
	}
}

func cell(c document.Cell) string {
	out := inline(c.Text)
	roles := strings.Fields(c.Roles)
	switch {
	case c.Text == "":
	case slices.Contains(roles, "code"):
		out = code(c.Text)
	case slices.Contains(roles, "strong"), slices.Contains(roles, "figure"):
		out = "**" + out + "**"
	}

	if c.Bar != nil {
		out = strings.TrimSpace(bar(*c.Bar) + " " + out)
	}

	out += reference(c.Ref)
	if c.Note != "" {
		out += "<br>" + inline(c.Note)
	}

	if c.Detail != "" {
		out += "<br>" + inline(c.Detail)
	}

	return out
}

// reference prints the number of a piece of evidence.
func reference(ref string) string {
	if ref == "" {
		return ""
	}
	return " \\[" + document.EvidenceNumber(ref) + "\\]"
}

// barColumns is the length of a full bar.
const barColumns = 10

// bar draws a share as a bar.
func bar(part float64) string {
	if math.IsNaN(part) {
		part = 0
	}
	n := int(math.Round(min(1, max(0, part)) * barColumns))
	return strings.Repeat("█", n) + strings.Repeat("░", barColumns-n)
}

// shares writes a table with bars.
func (p *page) shares(s *document.Shares) {
	t := &document.Table{Columns: []document.Column{{Text: "where"}, {Text: "share"},
		{Text: "time", Number: true}}}
	overlaps := false
	for _, x := range s.Rows {
		if x.Minor {
			continue
		}
		name := x.Name
		if x.Overlaps {
			name, overlaps = name+" *", true
		}
		t.Rows = append(t.Rows, []document.Cell{{Text: name, Note: x.Note},
			{Text: units.Percent(x.Part), Bar: &x.Part}, {Text: x.Amount, Number: true}})
	}

	if minor := s.Minor(); len(minor) > 0 {
		t.Notes = append(t.Notes, "under "+s.Under+" each: "+strings.Join(minor, ", "))
	}

	if overlaps {
		t.Notes = append(t.Notes, "* "+document.Overlap)
	}

	p.table(t)
}
