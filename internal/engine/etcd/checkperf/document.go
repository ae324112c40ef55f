//go:build linux

package checkperf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// Document renders the result for users, with etcdctl's verdict first.
func (r *Result) Document() *document.Document {
	d := &document.Document{Kind: "Check", Title: "etcdctl's check perf, as an open loop",
		Verdict: fmt.Sprintf("%s by etcdctl's criteria, %s by p99.", verdictWord(r.PassedEtcdctl()),
			verdictWord(r.PassedP99())),
		Lead: []string{fmt.Sprintf("%s: load %s, %s puts a second from %d clients for %s, an open loop.",
			r.Server, r.Load, units.Number(r.Rate), r.Clients, units.Seconds(r.Seconds))},
		Facts: []document.Fact{{Label: "puts", Value: units.Count(r.Puts)},
			{Label: "p50", Value: units.Seconds(r.P50)},
			{Label: "p99", Value: units.Seconds(r.P99)}, {Label: "slowest", Value: units.Seconds(r.Max)}},
		Sections: []document.Section{
			criteria("etcdctl", "By etcdctl's criteria", r.Etcdctl, r.PassedEtcdctl()),
			criteria("p99", "By p99", r.P99s, r.PassedP99()),
		}}

	var failed []document.Term
	for _, text := range slices.Sorted(maps.Keys(r.Errors)) {
		failed = append(failed, document.Term{Label: units.Count(r.Errors[text]),
			Lines: []document.Line{{Text: text}}})
	}

	if len(failed) > 0 {
		d.Sections = append(d.Sections,
			document.Section{ID: "failed", Title: "Puts that failed", Parts: []document.Part{{Terms: failed}}})
	}

	for _, remark := range r.Remarks {
		d.Lead = append(d.Lead, document.Sentence(remark))
	}

	return d
}

func verdictWord(passed bool) string {
	if passed {
		return "PASS"
	}
	return "FAIL"
}

// criteria returns a table of bounds and measured values, with the overall verdict.
func criteria(id, title string, all []Criterion, passed bool) document.Section {
	tab := &document.Table{Caption: title,
		Columns: []document.Column{{}, {Text: "criterion"}, {Text: "measured", Number: true}, {Text: "bound"}}}
	for i := range all {
		c := &all[i]
		word, value := document.Cell{Text: "?"}, "not known"
		if c.Value != nil {
			word, value = verdictCell(*c.Passed), amount(*c.Value, c.Unit)
		}
		bound := "at most "
		if c.AtLeast {
			bound = "more than "
		}
		tab.Rows = append(tab.Rows, []document.Cell{word, {Text: strings.ReplaceAll(c.Name, "_", " ")},
			{Text: value, Number: true}, {Text: bound + amount(c.Bound, c.Unit)}})
	}

	tab.Rows = append(tab.Rows, []document.Cell{verdictCell(passed), {Text: "in all"}})
	return document.Section{ID: id, Title: title, Parts: []document.Part{{Table: tab}}}
}

func amount(x float64, unit string) string {
	if unit == "" {
		return units.Count(int64(x))
	}
	return units.Value(x, unit)
}

func verdictCell(passed bool) document.Cell {
	role := "bad"
	if passed {
		role = "good"
	}
	return document.Cell{Text: verdictWord(passed), Roles: role}
}
