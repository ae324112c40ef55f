package html

import (
	"fmt"
	"html/template"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

func draw(p document.Plot) (template.HTML, error) {
	switch p := p.(type) {
	case document.HeatMap:
		return heatMap(p), nil
	case document.Distribution:
		return distribution(p), nil
	case document.Percentiles:
		return percentiles(p), nil
	case document.Frontier:
		return frontier(p), nil
	case document.Changes:
		return changes(p), nil
	}
	return "", fmt.Errorf("cannot draw a %T on a page", p)
}

// sharesTable converts shares of a whole to a table with bars.
func sharesTable(s *document.Shares) *document.Table {
	out := document.NewTable(s.Caption, "where", "share", "#", "#time")
	overlaps := false
	for _, x := range s.Rows {
		if x.Minor {
			continue
		}
		name := x.Name
		if x.Overlaps {
			name, overlaps = name+" *", true
		}
		out.Add([]document.Cell{{Text: name, Note: x.Note}, {Bar: new(x.Part)}, {Text: units.Percent(x.Part)},
			{Text: x.Amount}})
	}

	if overlaps {
		out.Notes = append(out.Notes, "* "+document.Overlap)
	}

	if minor := s.Minor(); len(minor) > 0 {
		out.Notes = append(out.Notes, "under "+s.Under+" each: "+strings.Join(minor, ", "))
	}

	return out
}

// gapsTable lists the rules that could not be judged, each with its missing metrics.
func gapsTable(all []document.Gap) *document.Table {
	out := document.NewTable("Rules that could not be judged", "rule", "missing", "what to record next time")
	for _, g := range all {
		for i, m := range g.Rules {
			// One advice covers the group; repeating it would hide where the next one starts.
			advice := "same as above"
			if i == 0 {
				advice = g.Advice
			}
			out.Add([]document.Cell{{Text: m.Rule, Roles: "code"},
				{Text: strings.Join(m.Missing, "; "), Roles: "code long"}, {Text: advice}})
		}
	}

	out.Fold = fmt.Sprintf("%d rules could not be judged: what to record next time", len(out.Rows))
	if len(out.Rows) == 1 {
		out.Fold = "1 rule could not be judged: what to record next time"
	}

	return out
}

// observed is a finding's evidence, whose first column stands out.
func observed(f document.Finding) *document.Table {
	out := f.Evidence()
	for _, row := range out.Rows {
		row[0].Roles = "figure"
	}
	return out
}

// The space on a phone: about this many characters side by side. Tables of numbers up to this many
// columns and rows are readable when stacked; larger ones scroll, so that columns can be compared.
const (
	phoneColumns  = 48
	numberColumns = 6
	numberRows    = 12
)

// stacks reports whether a phone stacks a table's cells vertically, each with its heading.
func stacks(t *document.Table) bool {
	sum := 0
	text := false // beyond the first column
	for i, c := range t.Columns {
		text = text || i > 0 && !c.Number
		widest := len(c.Text)
		for _, row := range t.Rows {
			if i >= len(row) {
				continue
			}
			// Bars are only useful below each other.
			if row[i].Bar != nil {
				return false
			}
			widest = max(widest, len(row[i].Text))
		}

		sum += widest + 2
	}

	return sum > phoneColumns && (text || len(t.Columns) <= numberColumns && len(t.Rows) <= numberRows)
}

// heading returns a column's heading; "" if it has none.
func heading(columns []document.Column, i int) string {
	if i >= len(columns) {
		return ""
	}
	return columns[i].Text
}
