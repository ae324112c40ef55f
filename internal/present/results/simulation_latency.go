package results

import (
	"fmt"
	"strings"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// latencySection shows latencies: a heat map, a plot of percentiles, and both as tables.
func latencySection(results []*simulate.Result, t *document.Timeline, g *ledger) document.Section {
	r := results[0]
	out := document.Section{ID: "latency", Title: "Latency"}
	if t != nil && len(r.Series.Writes) > 0 {
		if f := densityOf(r.Series).HeatMap(t, "writes"); f != nil {
			out.Parts = append(out.Parts, document.Part{Figure: f})
		}
	}
	if f := percentilePlot(results); f != nil {
		out.Parts = append(out.Parts, document.Part{Figure: f})
	}
	out.Parts = append(out.Parts, document.Part{Table: latencyTable(r, g)})
	return out
}

// coarse is how many classes of [latency.ClassOf] are merged into one for drawing, which leaves
// four per octave.
const coarse = 8

// densityOf counts writes in time slots that are wide enough to be visible.
func densityOf(s *simulate.Series) document.Density {
	// Rounded up, so that there are at most heatColumns slots.
	per := (len(s.Writes) + heatColumns - 1) / heatColumns
	out := document.Density{StepS: float64(per) * s.StepSeconds,
		Counts: make([][]float64, (len(s.Writes)+per-1)/per)}

	classes := 1
	for i := range s.Writes {
		classes = max(classes, (len(s.Writes[i].Counts())+coarse-1)/coarse)
	}

	for i := range classes {
		// ClassTop is the highest whole nanosecond of a class, so the bound is one more.
		out.BoundsS = append(out.BoundsS, float64(latency.ClassTop((i+1)*coarse-1)+1)/1e9)
	}

	for i := range out.Counts {
		out.Counts[i] = make([]float64, classes+1)
	}

	for i := range s.Writes {
		for class, n := range s.Writes[i].Counts() {
			out.Counts[i/per][class/coarse] += float64(n)
		}
	}

	return out
}

// heatColumns is the maximum number of time slots of a heat map.
const heatColumns = 120

// A nine is a percentile on an axis that counts nines, which leaves room for the tail.
type nine struct {
	name string
	of   func(l *simulate.Latency) *float64
}

var nines = []nine{
	{"p50", func(l *simulate.Latency) *float64 { return l.P50Seconds }},
	{"p95", func(l *simulate.Latency) *float64 { return l.P95Seconds }},
	{"p99", func(l *simulate.Latency) *float64 { return l.P99Seconds }},
	{"p99.9", func(l *simulate.Latency) *float64 { return l.P999Seconds }},
	{"max", func(l *simulate.Latency) *float64 { return l.MaxSeconds }},
}

// A curve is the percentiles of one kind of operation.
type curve struct {
	name string
	of   *simulate.Latency
}

// curves returns the writes of each variant, or for a single result its operations inside and
// outside checkpoints.
func curves(results []*simulate.Result) []curve {
	var out []curve
	// Variants are compared by the writes, which they change most; a chart has no room for more.
	if len(results) > 1 {
		for _, r := range results[:min(len(results), chartedMax)] {
			out = append(out, curve{variantName(r), &r.Writes.All})
		}
		return out
	}
	r := results[0]
	out = append(out, curve{"writes", &r.Writes.All})
	if r.Writes.DuringCheckpoint.Operations > 0 {
		out = append(out, curve{"writes in a " + cycleWord(r), &r.Writes.DuringCheckpoint},
			curve{"writes outside", &r.Writes.OutsideCheckpoint})
	}
	return append(out, curve{"reads", &r.Reads.All})
}

// percentilePlot plots latency by percentile; nil if none is known.
func percentilePlot(results []*simulate.Result) *document.Figure {
	out := &document.Figure{ID: "percentiles", Title: "Latency by percentile"}
	drawn := document.Percentiles{}

	tab := &document.Table{Caption: "Latency by percentile", Fold: "Data as a table",
		Columns: []document.Column{{Text: ""}}}
	for _, n := range nines {
		drawn.Names = append(drawn.Names, n.name)
		tab.Columns = append(tab.Columns, document.Column{Text: n.name, Number: true})
	}

	some := false
	for _, c := range curves(results) {
		if c.of.Operations == 0 || c.of.P50Seconds == nil {
			continue
		}

		curve, row := document.Curve{Name: c.name}, []document.Cell{{Text: c.name}}
		for _, n := range nines {
			x := n.of(c.of)
			some = some || x != nil && *x > 0
			curve.Seconds = append(curve.Seconds, x)
			row = append(row, document.Cell{Text: optional(x, "seconds"), Number: true})
		}

		drawn.Curves = append(drawn.Curves, curve)
		tab.Add(row)
		out.Keys = append(out.Keys, c.name)
	}

	if !some {
		return nil
	}

	out.Plot, out.Table = drawn, tab
	return out
}

// latencyTable lists a result's latencies by kind and by phase of the cycle.
func latencyTable(result *simulate.Result, g *ledger) *document.Table {
	tab := document.NewTable("Latencies", "", "#operations")
	for _, n := range nines {
		tab.Columns = append(tab.Columns, document.Column{Text: n.name, Number: true})
	}

	add := func(name, kind, part string, l *simulate.Latency) {
		if l.Operations == 0 {
			return
		}
		row := []document.Cell{{Text: name}, {Text: units.Count(l.Operations), Number: true}}
		for _, n := range nines {
			row = append(row, document.Cell{Text: optional(n.of(l), "seconds"), Number: true})
		}
		tab.Add(linked(g.classEvidence(result, kind, part), row))
	}

	for _, c := range []struct {
		name, kind string
		class      *simulate.Class
	}{{"writes", "write", &result.Writes}, {"reads", "read", &result.Reads}} {
		add(c.name, c.kind, "all", &c.class.All)
		if c.class.DuringCheckpoint.Operations > 0 {
			add(c.name+" in a "+cycleWord(result), c.kind, "during_checkpoint", &c.class.DuringCheckpoint)
			add(c.name+" outside", c.kind, "outside_checkpoint", &c.class.OutsideCheckpoint)
		}
	}

	main, kind := &result.Writes, "write"
	if main.All.Operations == 0 {
		main, kind = &result.Reads, "read"
	}

	if len(main.SinceCheckpoint) > 0 {
		tab.Notes = []string{"Rows with a time span: " + kind +
			"s by intended start, counted from the start of a " + cycleWord(result) + "."}
	}

	for i := range main.SinceCheckpoint {
		p := &main.SinceCheckpoint[i]
		add(kind+"s "+phaseText(p), kind, "since_checkpoint", &p.Latency)
	}

	return tab
}

// shortPhaseS is the length of a phase, in seconds, below which milliseconds are used.
const shortPhaseS = 0.1

func phaseText(p *simulate.Phase) string {
	if p.ToSeconds-p.FromSeconds < shortPhaseS {
		return fmt.Sprintf("%.0f-%.0f ms", 1e3*p.FromSeconds, 1e3*p.ToSeconds)
	}
	return strings.TrimSuffix(p.Name, "s") + " s"
}
