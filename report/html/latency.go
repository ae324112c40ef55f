package html

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/units"
)

// A density is how many operations met which latency when.
type density struct {
	FromS, StepS float64   // of its columns of time, as a timeline has it
	BoundsS      []float64 // upper bounds of the classes; one more class has none
	Counts       [][]float64
	Unseen       float64 // operations that were too quick to be seen: below all classes
}

// used is the range of classes with any operation, and the most in one cell.
func (h density) used() (first, last int, most float64) {
	first, last = len(h.BoundsS), -1
	for _, column := range h.Counts {
		for class, n := range column {
			if n > 0 {
				first, last, most = min(first, class), max(last, class), max(most, n)
			}
		}
	}
	return first, last, most
}

// lower and upper bound a class; the first has no lower bound and the last no upper one, so they are drawn as wide as
// their neighbours.
func (h density) lower(class int) float64 {
	if class <= 0 {
		return h.BoundsS[0] * h.BoundsS[0] / h.BoundsS[1]
	}
	return h.BoundsS[class-1]
}

func (h density) upper(class int) float64 {
	if n := len(h.BoundsS); class >= n {
		return h.BoundsS[n-1] * h.BoundsS[n-1] / h.BoundsS[n-2]
	}
	return h.BoundsS[class]
}

const (
	densityWidth  = 900.0
	densityHeight = 220.0
	densityLeft   = 66.0
	densityBottom = 20.0
	densityTop    = 6.0
)

// heatMap draws operations by time and latency. A level is a factor in the count, so that few slow operations are seen
// beside many quick ones.
func heatMap(h density, t *timeline, subject string) *figure {
	first, last, most := h.used()
	if last < 0 || len(h.BoundsS) < 2 {
		return nil
	}
	d := newDrawing(densityWidth, densityHeight, fmt.Sprintf("Heat map of the latency of %s over time; the slowest lie between %s and %s",
		subject, units.Seconds(h.lower(last)), units.Seconds(h.upper(last))))
	x := scale{from: t.FromS, to: t.ToS, start: densityLeft, end: densityWidth - 4}
	y := scale{from: h.lower(first), to: h.upper(last), start: densityHeight - densityBottom, end: densityTop, log: true}
	for _, v := range y.decades(16) {
		d.line("grid", x.start, y.at(v), x.end, y.at(v))
		d.text("tick", "end", densityLeft-6, y.at(v)+4, axisText(v, "seconds"))
	}
	traces := make([]strings.Builder, heatLevels)
	for i, column := range h.Counts {
		left := x.at(h.FromS + float64(i)*h.StepS)
		right := min(x.end, x.at(h.FromS+float64(i+1)*h.StepS))
		for class, n := range column {
			if n <= 0 {
				continue
			}
			top, bottom := y.at(h.upper(class)), y.at(h.lower(class))
			fmt.Fprintf(&traces[heatLevel(n, most)], "M%s %sH%sV%sH%sZ", coordinate(left), coordinate(top), coordinate(right), coordinate(bottom), coordinate(left))
		}
	}
	for i := range traces {
		d.path("heat heat"+number(i+1), traces[i].String())
	}
	d.text("tick", "start", x.start, densityHeight-4, t.clock(t.FromS))
	d.text("tick", "end", x.end, densityHeight-4, t.clock(t.ToS))
	return &figure{ID: "heat", Title: "Latency over time", SVG: d.done(),
		Caption: fmt.Sprintf("Each field holds the operations of %s at that latency; the darker, the more, up to %s. A level is about five times the one before.", units.Seconds(h.StepS), units.Number(most))}
}

// heatLevel is 0 for the fewest and heatLevels-1 for the most.
func heatLevel(n, most float64) int {
	level := heatLevels - 1
	for bound := most / 2; n <= bound && level > 0; bound /= 5 {
		level--
	}
	return level
}

// quantiles are those that a distribution's drawing and table name.
var quantiles = []struct {
	q    float64
	name string
}{{0.5, "p50"}, {0.9, "p90"}, {0.95, "p95"}, {0.99, "p99"}, {0.999, "p99.9"}}

// cumulative sums the counts of all times: the share of operations up to each class.
func (h density) cumulative() (share []float64, total float64) {
	share = make([]float64, len(h.BoundsS)+1)
	for _, column := range h.Counts {
		for class, n := range column {
			share[class] += n
		}
	}
	total = h.Unseen
	for class, n := range share {
		total += n
		share[class] = total
	}
	for class := range share {
		share[class] /= total
	}
	return share, total
}

// quantile is the upper bound of the class that holds a share of all operations; 0 if they were too quick to be seen.
func (h density) quantile(share []float64, total, q float64) float64 {
	if h.Unseen >= q*total {
		return 0
	}
	for class, s := range share {
		if s >= q*(1-1e-12) {
			return h.upper(class)
		}
	}
	return math.NaN()
}

// labelRoom is the room that a percentile's name takes on a drawing.
const labelRoom = 34

// distribution draws the share of operations up to each latency.
func distribution(h density, subject string) *figure {
	first, last, _ := h.used()
	if last < 0 || len(h.BoundsS) < 2 {
		return nil
	}
	share, total := h.cumulative()
	const width, height, left, bottom, top = densityWidth, 200.0, 66.0, 22.0, 16.0
	d := newDrawing(width, height, "Distribution of the latency of "+subject)
	x := scale{from: h.lower(first), to: h.upper(last), start: left, end: width - 26, log: true}
	y := scale{from: 0, to: 1, start: height - bottom, end: top}
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		d.line("grid", x.start, y.at(v), x.end, y.at(v))
		d.text("tick", "end", left-6, y.at(v)+4, axisText(v, "ratio"))
	}
	for _, v := range x.decades(44) {
		d.line("grid", x.at(v), y.start, x.at(v), y.end)
		d.text("tick", "middle", x.at(v), height-6, axisText(v, "seconds"))
	}
	var trace strings.Builder
	fmt.Fprintf(&trace, "M%s %s", coordinate(x.start), coordinate(y.at(h.Unseen/total)))
	for class := first; class <= last; class++ {
		fmt.Fprintf(&trace, "L%s %s", coordinate(x.at(h.upper(class))), coordinate(y.at(share[class])))
	}
	d.path("series series1", trace.String())
	tab := &table{Caption: "Latencies by share of operations", Columns: []column{{Text: "share of operations"}, {Text: "latency up to", Number: true}}}
	labelled := math.Inf(-1)
	for _, q := range quantiles {
		at := h.quantile(share, total, q.q)
		if at == 0 {
			tab.Rows = append(tab.Rows, []cell{{Text: q.name}, {Text: "too quick to be seen", Number: true}})
			continue
		}
		if total*(1-q.q) >= 1 && x.at(at)-labelled > labelRoom {
			labelled = x.at(at)
			d.line("mark", labelled, y.start, labelled, y.at(q.q))
			d.text("mark-text", "middle", labelled, y.at(q.q)-5, q.name)
		}
		tab.Rows = append(tab.Rows, []cell{{Text: q.name}, {Text: units.Seconds(at), Number: true}})
	}
	caption := units.Number(total) + " operations, by classes a fifth wide."
	if h.Unseen > 0 {
		caption += " In intervals with " + units.Percent(h.Unseen/total) + " of them nobody was seen waiting, by a source that looks now and then: they begin the curve."
	}
	return &figure{ID: "cdf", Title: "Distribution of latency", SVG: d.done(), Table: tab, Caption: caption}
}

// shareBar draws a part of a whole as a bar.
func shareBar(part float64) (d *drawing) {
	if math.IsNaN(part) {
		part = 0
	}
	part = min(1, max(0, part))
	d = newDrawing(120, 10, units.Percent(part))
	d.rect("bar-whole", 0, 1, 120, 8)
	d.rect("bar", 0, 1, 120*part, 8)
	return d
}
