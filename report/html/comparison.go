package html

import (
	"plimsoll/simulate"
	"plimsoll/units"
)

// A compared figure is a row of a table of variants.
type compared struct {
	name, unit string
	of         func(*simulate.Result) *float64
}

func comparedFigures(r *simulate.Result) []compared {
	return []compared{
		{"done", "1/s", func(r *simulate.Result) *float64 { return &r.DonePerSec }},
		{"write p50", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P50Seconds }},
		{"write p99", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P99Seconds }},
		{"write p99 in a " + cycleWord(r), "seconds", func(r *simulate.Result) *float64 { return r.Writes.DuringCheckpoint.P99Seconds }},
		{"write p99 outside", "seconds", func(r *simulate.Result) *float64 { return r.Writes.OutsideCheckpoint.P99Seconds }},
		{"slowest write", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.MaxSeconds }},
		{"read p50", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P50Seconds }},
		{"read p99", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P99Seconds }},
		{cycleWord(r) + ", median", "seconds", func(r *simulate.Result) *float64 { return r.Checkpoints.MedianSeconds }},
		{"page cache dirty, most", "bytes", func(r *simulate.Result) *float64 { return &r.Host.DirtyBytesMax }},
		{"volumes a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyVolumesUSD }},
		{"all a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyUSD }},
	}
}

// compareSection puts variants beside each other, each with its change against the first.
func compareSection(results []*simulate.Result) section {
	base := results[0]
	tab := &table{Caption: "Variants beside each other", Columns: []column{{}}}
	for _, r := range results {
		tab.Columns = append(tab.Columns, column{Text: variantName(r), Number: true})
	}
	for _, f := range comparedFigures(base) {
		row, some := []cell{{Text: f.name}}, false
		for _, r := range results {
			x := f.of(r)
			some = some || x != nil
			row = append(row, cell{Text: optional(x, f.unit), Number: true, Note: change(f.of(base), x, f.unit)})
		}
		if some {
			tab.Rows = append(tab.Rows, row)
		}
	}
	for i, o := range base.Objectives {
		row := []cell{{Text: o.Name + " within " + units.Value(o.Wanted, o.Unit)}}
		for _, r := range results {
			c := cell{Text: "✕ not met", Number: true, Class: "bad"}
			if i < len(r.Objectives) && r.Objectives[i].Met {
				c.Text, c.Class = "✓ met", "good"
			}
			row = append(row, c)
		}
		tab.Rows = append(tab.Rows, row)
	}
	return section{ID: "variants", Title: "Variants", Note: "Under each figure its change against the scenario as written.", Parts: []part{{Table: tab}}}
}
