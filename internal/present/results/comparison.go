package results

import (
	"slices"
	"strings"

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

func comparedFigures(results []*simulate.Result, g *ledger) []compared {
	r := results[0]
	class := func(kind, part string) func() string { return func() string { return g.classTold(r, kind, part) } }
	cycles := func() string { return g.cyclesTold(r) }
	rows := []compared{
		{"done", "1/s", func(r *simulate.Result) *float64 { return &r.DonePerSec },
			func() string { return g.doneTold(r) }},
		{"write p50", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P50Seconds },
			class("write", "all")},
		{"write p99", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P99Seconds },
			class("write", "all")},
		{"write p99 in a " + cycleWord(r), "seconds",
			func(r *simulate.Result) *float64 { return r.Writes.DuringCheckpoint.P99Seconds },
			class("write", "during_checkpoint")},
		{"write p99 outside", "seconds", outsideCycles, class("write", "outside_checkpoint")},
		{"slowest write", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.MaxSeconds },
			class("write", "all")},
		{"read p50", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P50Seconds },
			class("read", "all")},
		{"read p99", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P99Seconds },
			class("read", "all")},
		{cycleWord(r) + ", median", "seconds",
			func(r *simulate.Result) *float64 { return r.Checkpoints.MedianSeconds }, cycles},
		{"page cache dirty, most", "bytes", func(r *simulate.Result) *float64 { return &r.Host.DirtyBytesMax },
			func() string { return g.dirtyTold(r) }},
	}

	for _, name := range volumesCompared(results) {
		told := func() string { return g.volumeTold(having(results, name), name) }
		rows = append(rows, compared{name + " IO/s", "",
			ofVolume(name, func(v *simulate.VolumeResult) *float64 { return &v.IOPS }), told},
			compared{name + " busy, worst 10 s", "ratio",
				ofVolume(name, func(v *simulate.VolumeResult) *float64 { return &v.BusyMax }), told})
	}

	return append(rows,
		compared{"volumes a month", "USD",
			func(r *simulate.Result) *float64 { return r.MonthlyVolumesUSD }, g.priced},
		compared{"all a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyUSD }, g.priced})
}

// outsideCycles is the p99 of the writes outside checkpoints, where there are others.
func outsideCycles(r *simulate.Result) *float64 {
	if r.Writes.DuringCheckpoint.Operations == 0 {
		return nil
	}
	return r.Writes.OutsideCheckpoint.P99Seconds
}

// volumesCompared are the volumes of all variants; of a cluster only those that the others do not
// tell.
func volumesCompared(results []*simulate.Result) []string {
	all := volumesOf(results)
	if len(results[0].Volumes) > clusterVolumes {
		all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "/data") })
	}
	return all
}

// clusterVolumes is the number of volumes over which their results are taken for a cluster's, of
// which the logs tell most.
const clusterVolumes = 4

// ofVolume is a figure of one volume, nil in a variant without it.
func ofVolume(name string, of func(*simulate.VolumeResult) *float64) func(*simulate.Result) *float64 {
	return func(r *simulate.Result) *float64 {
		for i := range r.Volumes {
			if r.Volumes[i].Name == name {
				return of(&r.Volumes[i])
			}
		}
		return nil
	}
}

// compareSection puts variants beside each other, each with its change against the first.
func compareSection(results []*simulate.Result, g *ledger) document.Section {
	base := results[0]
	tab := &document.Table{Caption: "Variants side by side", Columns: []document.Column{{}}, Repeat: 2}
	for _, r := range results {
		tab.Columns = append(tab.Columns,
			document.Column{Text: variantName(r), Number: true, Ref: g.ran[r.Variant]})
	}

	for _, f := range comparedFigures(results, g) {
		row, some := []document.Cell{{Text: f.name}}, false
		for _, r := range results {
			x := f.of(r)
			some = some || x != nil
			row = append(row, document.Cell{Text: optional(x, f.unit), Number: true,
				Note: change(f.of(base), x, f.unit)})
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

	return document.Section{ID: "variants", Title: "Variants",
		Note: "Below each figure: its change from the scenario as written.", Parts: []document.Part{{Table: tab}}}
}
