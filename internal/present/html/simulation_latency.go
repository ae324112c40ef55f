package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/model/simulate"
)

// latencySection is what is known of latencies: a heat map, percentiles drawn, and both as tables.
func latencySection(results []*simulate.Result, t *timeline, g *ledger) section {
	r := results[0]
	out := section{ID: "latency", Title: "Latency"}
	if t != nil && len(r.Series.Writes) > 0 {
		if f := heatMap(densityOf(r.Series), t, "writes"); f != nil {
			out.Parts = append(out.Parts, part{Figure: f})
		}
	}
	if f := percentilePlot(results); f != nil {
		out.Parts = append(out.Parts, part{Figure: f})
	}
	out.Parts = append(out.Parts, part{Table: latencyTable(r, g)})
	return out
}

// coarse is how many classes of [latency.ClassOf] are drawn as one: four an octave.
const coarse = 8

// densityOf counts writes in columns of time that are wide enough to be seen.
func densityOf(s *simulate.Series) density {
	per := (len(s.Writes) + heatColumns - 1) / heatColumns
	out := density{StepS: float64(per) * s.StepSeconds, Counts: make([][]float64, (len(s.Writes)+per-1)/per)}
	classes := 1
	for i := range s.Writes {
		classes = max(classes, (len(s.Writes[i].Counts())+coarse-1)/coarse)
	}
	for i := range classes {
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

// heatColumns is how many columns of time a heat map has at most.
const heatColumns = 120

// A nine is a percentile as it is drawn: distances between them are of nines, so that a tail has room.
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

// A curve is percentiles of one kind of operations.
type curve struct {
	name string
	of   *simulate.Latency
}

// curves are variants' writes, or of a single result its operations in and outside checkpoints.
func curves(results []*simulate.Result) []curve {
	var out []curve
	if len(results) > 1 {
		for _, r := range results[:min(len(results), chartedMax)] {
			out = append(out, curve{variantName(r), &r.Writes.All})
		}
		return out
	}
	r := results[0]
	out = append(out, curve{"writes", &r.Writes.All})
	if r.Writes.DuringCheckpoint.Operations > 0 {
		out = append(out, curve{"writes in a " + cycleWord(r), &r.Writes.DuringCheckpoint}, curve{"writes outside", &r.Writes.OutsideCheckpoint})
	}
	return append(out, curve{"reads", &r.Reads.All})
}

// percentilePlot draws latency by percentile.
func percentilePlot(results []*simulate.Result) *figure {
	var all []curve
	low, high := math.Inf(1), 0.0
	for _, c := range curves(results) {
		if c.of.Operations == 0 || c.of.P50Seconds == nil {
			continue
		}
		all = append(all, c)
		for _, n := range nines {
			if x := n.of(c.of); x != nil && *x > 0 {
				low, high = min(low, *x), max(high, *x)
			}
		}
	}
	if len(all) == 0 || !(high > 0) {
		return nil
	}
	const width, height, left, bottom, top = densityWidth, 210.0, 66.0, 20.0, 8.0
	d := newDrawing(width, height, "Latency by percentile")
	x := scale{from: -0.3, to: float64(len(nines)) - 0.7, start: left, end: width - 8}
	y := scale{from: low / 1.5, to: high * 1.5, start: height - bottom, end: top, log: true}
	for _, v := range y.decades(16) {
		d.line("grid", x.start, y.at(v), x.end, y.at(v))
		d.text("tick", "end", left-6, y.at(v)+4, axisText(v, "seconds"))
	}
	for i, n := range nines {
		d.line("grid", x.at(float64(i)), y.start, x.at(float64(i)), y.end)
		d.text("tick", "middle", x.at(float64(i)), height-5, n.name)
	}
	tab := &table{Caption: "Latency by percentile", Fold: "Data as a table", Columns: []column{{Text: ""}}}
	for _, n := range nines {
		tab.Columns = append(tab.Columns, column{Text: n.name, Number: true})
	}
	for i, c := range all {
		var trace strings.Builder
		row := []cell{{Text: c.name}}
		for k, n := range nines {
			value := n.of(c.of)
			row = append(row, cell{Text: optional(value, "seconds"), Number: true})
			if value == nil || !(*value > 0) {
				continue
			}
			move := "L"
			if trace.Len() == 0 {
				move = "M"
			}
			trace.WriteString(move + coordinate(x.at(float64(k))) + " " + coordinate(y.at(*value)))
			d.marker(i, x.at(float64(k)), y.at(*value))
		}
		d.path("series series"+number(i%seriesStyles+1), trace.String())
		tab.Rows = append(tab.Rows, row)
	}
	return &figure{ID: "percentiles", Title: "Latency by percentile", SVG: d.done(), Table: tab, Keys: keys(all)}
}

func keys(all []curve) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.name
	}
	return out
}

// marker is a point of a series: a shape for each, so that they are told apart without colour.
func (d *drawing) marker(i int, x, y float64) {
	class := "point" + number(i%seriesStyles+1)
	const r = 3.4
	switch i % seriesStyles {
	case 0:
		fmt.Fprintf(&d.b, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, coordinate(x), coordinate(y), coordinate(r))
	case 1:
		d.rect(class, x-r, y-r, 2*r, 2*r)
	case 2:
		d.path(class, fmt.Sprintf("M%s %sl%s %sh-%sZ", coordinate(x), coordinate(y-r-0.6), coordinate(r+0.6), coordinate(2*r), coordinate(2*r+1.2)))
	default:
		d.path(class, fmt.Sprintf("M%s %sl%s %sl-%s %sl-%s -%sZ", coordinate(x), coordinate(y-r-1), coordinate(r+1), coordinate(r+1), coordinate(r+1), coordinate(r+1), coordinate(r+1), coordinate(r+1)))
	}
}

// latencyTable is a result's latencies by kind and by phase of the cycle.
func latencyTable(r *simulate.Result, g *ledger) *table {
	tab := &table{Caption: "Latencies", Columns: []column{{Text: ""}, {Text: "operations", Number: true}}}
	for _, n := range nines {
		tab.Columns = append(tab.Columns, column{Text: n.name, Number: true})
	}
	add := func(name, note, kind, part string, l *simulate.Latency) {
		if l.Operations == 0 {
			return
		}
		row := []cell{{Text: name, Note: note}, {Text: whole(l.Operations), Number: true}}
		for _, n := range nines {
			row = append(row, cell{Text: optional(n.of(l), "seconds"), Number: true})
		}
		tab.Rows = append(tab.Rows, rests(g.classTold(r, kind, part), row))
	}
	for _, c := range []struct {
		name, kind string
		class      *simulate.Class
	}{{"writes", "write", &r.Writes}, {"reads", "read", &r.Reads}} {
		add(c.name, "", c.kind, "all", &c.class.All)
		if c.class.DuringCheckpoint.Operations > 0 {
			add(c.name+" in a "+cycleWord(r), "", c.kind, "during_checkpoint", &c.class.DuringCheckpoint)
			add(c.name+" outside", "", c.kind, "outside_checkpoint", &c.class.OutsideCheckpoint)
		}
	}
	main, kind := &r.Writes, "write"
	if main.All.Operations == 0 {
		main, kind = &r.Reads, "read"
	}
	for i := range main.SinceCheckpoint {
		p := &main.SinceCheckpoint[i]
		add(kind+"s "+phaseText(p), "after the start of a "+cycleWord(r), kind, "since_checkpoint", &p.Latency)
	}
	return tab
}

// shortPhaseS is the length of a phase under which seconds say little.
const shortPhaseS = 0.1

func phaseText(p *simulate.Phase) string {
	if p.ToSeconds-p.FromSeconds < shortPhaseS {
		return fmt.Sprintf("%.0f-%.0f ms", 1e3*p.FromSeconds, 1e3*p.ToSeconds)
	}
	return strings.TrimSuffix(p.Name, "s") + " s"
}

// legend is the words of series, each with its line and marker.
func legend(names []string) template.HTML {
	d := &drawing{}
	for i, name := range names {
		fmt.Fprintf(&d.b, `<li><svg viewBox="0 0 26 10" class="key" aria-hidden="true"><path class="series series%d" d="M0 5H26"/>`, i%seriesStyles+1)
		d.marker(i, 13, 5)
		d.b.WriteString("</svg>" + template.HTMLEscapeString(name) + "</li>")
	}
	return template.HTML(d.b.String()) //nolint:gosec // names are escaped, the rest is this package's
}
