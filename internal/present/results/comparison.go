package results

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// A compared figure is a row of a table of variants.
type compared struct {
	name, unit string
	of         func(*simulate.Result) *float64
	told       func() string // its evidence
}

func comparedFigures(r *simulate.Result, g *ledger) []compared {
	class := func(kind, part string) func() string { return func() string { return g.classTold(r, kind, part) } }
	cycles := func() string { return g.cyclesTold(r) }
	return []compared{
		{"done", "1/s", func(r *simulate.Result) *float64 { return &r.DonePerSec }, func() string { return g.doneTold(r) }},
		{"write p50", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P50Seconds }, class("write", "all")},
		{"write p99", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P99Seconds }, class("write", "all")},
		{"write p99 in a " + cycleWord(r), "seconds", func(r *simulate.Result) *float64 { return r.Writes.DuringCheckpoint.P99Seconds }, class("write", "during_checkpoint")},
		{"write p99 outside", "seconds", func(r *simulate.Result) *float64 { return r.Writes.OutsideCheckpoint.P99Seconds }, class("write", "outside_checkpoint")},
		{"slowest write", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.MaxSeconds }, class("write", "all")},
		{"read p50", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P50Seconds }, class("read", "all")},
		{"read p99", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P99Seconds }, class("read", "all")},
		{cycleWord(r) + ", median", "seconds", func(r *simulate.Result) *float64 { return r.Checkpoints.MedianSeconds }, cycles},
		{"page cache dirty, most", "bytes", func(r *simulate.Result) *float64 { return &r.Host.DirtyBytesMax }, func() string { return g.dirtyTold(r) }},
		{"volumes a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyVolumesUSD }, g.priced},
		{"all a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyUSD }, g.priced},
	}
}

// compareSection puts variants beside each other, each with its change against the first.
func compareSection(results []*simulate.Result, g *ledger) document.Section {
	base := results[0]
	tab := &document.Table{Caption: "Variants beside each other", Columns: []document.Column{{}}}
	for _, r := range results {
		tab.Columns = append(tab.Columns, document.Column{Text: variantName(r), Number: true, Ref: g.ran[r.Variant]})
	}
	for _, f := range comparedFigures(base, g) {
		row, some := []document.Cell{{Text: f.name}}, false
		for _, r := range results {
			x := f.of(r)
			some = some || x != nil
			row = append(row, document.Cell{Text: optional(x, f.unit), Number: true, Note: change(f.of(base), x, f.unit)})
		}
		if some {
			tab.Rows = append(tab.Rows, rests(f.told(), row))
		}
	}
	for i, o := range base.Objectives {
		row := []document.Cell{{Text: o.Name + " within " + units.Value(o.Wanted, o.Unit)}}
		for _, r := range results {
			c := document.Cell{Text: "✕ not met", Number: true, Roles: "bad"}
			if i < len(r.Objectives) && r.Objectives[i].Met {
				c.Text, c.Roles = "✓ met", "good"
			}
			row = append(row, c)
		}
		tab.Rows = append(tab.Rows, rests(g.objectiveTold(), row))
	}
	return document.Section{ID: "variants", Title: "Variants", Note: "Under each figure its change against the scenario as written.", Parts: []document.Part{{Table: tab}}}
}
