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
	evidence   func() string
}

func comparedFigures(results []*simulate.Result, sources *ledger) []compared {
	result := results[0]
	class := func(kind, part string) func() string {
		return func() string { return sources.classEvidence(result, kind, part) }
	}
	cycles := func() string { return sources.cyclesEvidence(result) }
	rows := []compared{
		{"done", "1/s", func(r *simulate.Result) *float64 { return &r.DonePerSec },
			func() string { return sources.doneEvidence(result) }},
		{"write p50", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P50Seconds },
			class("write", "all")},
		{"write p99", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.P99Seconds },
			class("write", "all")},
		{"write p99 in a " + cycleWord(result), "seconds",
			func(r *simulate.Result) *float64 { return r.Writes.DuringCheckpoint.P99Seconds },
			class("write", "during_checkpoint")},
		{"write p99 outside", "seconds", outsideCycles, class("write", "outside_checkpoint")},
		{"slowest write", "seconds", func(r *simulate.Result) *float64 { return r.Writes.All.MaxSeconds },
			class("write", "all")},
		{"read p50", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P50Seconds },
			class("read", "all")},
		{"read p99", "seconds", func(r *simulate.Result) *float64 { return r.Reads.All.P99Seconds },
			class("read", "all")},
		{cycleWord(result) + ", median", "seconds",
			func(r *simulate.Result) *float64 { return r.Checkpoints.MedianSeconds }, cycles},
		{"page cache dirty, most", "bytes", func(r *simulate.Result) *float64 { return &r.Host.DirtyBytesMax },
			func() string { return sources.dirtyEvidence(result) }},
	}

	for _, name := range volumesCompared(results) {
		evidence := func() string { return sources.volumeEvidence(having(results, name), name) }
		rows = append(rows, compared{name + " IO/s", "",
			ofVolume(name, func(v *simulate.VolumeResult) *float64 { return &v.IOPS }), evidence},
			compared{name + " busy, worst 10 s", "ratio",
				ofVolume(name, func(v *simulate.VolumeResult) *float64 { return &v.BusyMax }), evidence})
	}

	return append(rows,
		compared{"volumes a month", "USD",
			func(r *simulate.Result) *float64 { return r.MonthlyVolumesUSD }, sources.priced},
		compared{"all a month", "USD", func(r *simulate.Result) *float64 { return r.MonthlyUSD }, sources.priced})
}

// outsideCycles is the p99 of writes outside checkpoints; nil if there are no checkpoints.
func outsideCycles(r *simulate.Result) *float64 {
	// Then "outside" would repeat the figure of all writes.
	if r.Writes.DuringCheckpoint.Operations == 0 {
		return nil
	}
	return r.Writes.OutsideCheckpoint.P99Seconds
}

// volumesCompared returns the volumes of all variants. For a cluster it omits data volumes, because
// the logs show most of what happens.
func volumesCompared(results []*simulate.Result) []string {
	all := volumesOf(results)
	if len(results[0].Volumes) > clusterVolumes {
		all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "/data") })
	}
	return all
}

// clusterVolumes is the number of volumes above which results are treated as those of a cluster.
const clusterVolumes = 4

// ofVolume returns a figure of one volume; nil in a variant without it.
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

// compareSection puts variants side by side, each with its change from the first.
func compareSection(results []*simulate.Result, g *ledger) document.Section {
	base := results[0]
	tab := &document.Table{Caption: "Variants side by side", Columns: []document.Column{{}}, Repeat: 2}
	for _, r := range results {
		tab.Columns = append(tab.Columns,
			document.Column{Text: variantName(r), Number: true, Ref: g.ran[r.Variant]})
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
		tab.Add(linked(g.objectiveEvidence(), row))
	}

	for _, f := range comparedFigures(results, g) {
		row, some := []document.Cell{{Text: f.name}}, false
		for _, r := range results {
			x := f.of(r)
			some = some || x != nil
			row = append(row, document.Cell{Text: optional(x, f.unit), Number: true,
				Note: change(f.of(base), x, f.unit)})
		}
		// A row that no variant has a value for would be all dashes.
		if some {
			tab.Add(linked(f.evidence(), row))
		}
	}

	return document.Section{ID: "variants", Title: "Variants", Screen: document.IfItFits,
		Note: "Below each figure is its change from the scenario as written.", Parts: []document.Part{{Table: tab}}}
}
