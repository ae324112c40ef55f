package html

import (
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
)

// A population is some of the operations of a density, by class.
type population struct {
	name   string
	counts []float64
	unseen float64 // too quick to be seen: below all classes
}

func (p population) total() float64 {
	sum := p.unseen
	for _, n := range p.counts {
		sum += n
	}
	return sum
}

// without is what is left of a population.
func (p population) without(name string, part population) population {
	out := population{name: name, counts: make([]float64, len(p.counts)), unseen: max(0, p.unseen-part.unseen)}
	for class, n := range p.counts {
		if rest := n - part.counts[class]; rest > 1e-6*n { // what rounding leaves is no operation
			out.counts[class] = rest
		}
	}
	return out
}

// everything is a density's operations of all times.
func (h density) everything(name string) population {
	out := population{name: name, counts: make([]float64, len(h.BoundsS)+1), unseen: h.Unseen}
	for _, column := range h.Counts {
		for class, n := range column {
			out.counts[class] += n
		}
	}
	return out
}

// quantiles are those that a distribution's drawing and table name.
var quantiles = []struct {
	q    float64
	name string
}{{median, "p50"}, {0.9, "p90"}, {0.95, "p95"}, {p99, "p99"}, {0.999, "p99.9"}}

const (
	median = 0.5
	p99    = 0.99
)

// enough tells whether one of a population's operations, at least, lies beyond a quantile: with fewer the slowest would pass for it.
func (p population) enough(q float64) bool { return math.Round(p.total())*(1-q) >= 1-1e-9 }

// quantile is what a share of a population's operations keep, interpolated within its class as Prometheus' histogram_quantile
// does, and that class; -1 if they were too quick to be seen. Of the first and the last class it is the one bound they have.
func (h density) quantile(p population, q float64) (x float64, class int) {
	rank := q * p.total()
	if p.unseen >= rank {
		return 0, -1
	}
	sum := p.unseen
	for class, n := range p.counts {
		if n <= 0 || sum+n < rank*(1-1e-12) {
			sum += n
			continue
		}
		if class >= len(h.BoundsS) {
			return h.BoundsS[len(h.BoundsS)-1], class
		}
		if class == 0 {
			return h.BoundsS[0], 0
		}
		return h.BoundsS[class-1] + (h.BoundsS[class]-h.BoundsS[class-1])*min(1, (rank-sum)/n), class
	}
	return math.NaN(), -1
}

// told is a quantile in words: its one bound where its class has no other.
func (h density) told(p population, q float64) string {
	x, class := h.quantile(p, q)
	switch class {
	case -1:
		return "too quick to be seen"
	case 0, len(h.BoundsS):
		return h.between(class)
	}
	return units.Seconds(x)
}

// Of the drawing of a distribution. Its axis of shares is of nines: 90 %, 99 % and 99.9 % are as far from each other, so that the tail, which is
// what hurts, has as much room as all the rest.
const (
	distributionHeight = 230.0
	distributionBottom = 22.0
	distributionTop    = 12.0
	ninesMost          = 4.0
)

// ninesOf is where a share stands on such an axis.
func ninesOf(share float64) float64 {
	if share >= 1 {
		return math.Inf(1)
	}
	return -math.Log10(1 - share)
}

// distribution draws the share of operations up to each latency, of all and of parts of them.
func distribution(h density, subject string, parts ...population) *figure {
	first, last, _ := h.used()
	if last < 0 || len(h.BoundsS) < 2 {
		return nil
	}
	all := h.everything("all")
	shown := append([]population{all}, parts...)
	top := min(ninesMost, max(1, ninesOf(1-1/all.total())))
	d := newDrawing(densityWidth, distributionHeight, "Distribution of the latency of "+subject)
	x := scale{from: h.lower(first), to: h.upper(last), start: densityLeft, end: densityWidth - 26, log: true}
	y := scale{from: 0, to: top, start: distributionHeight - distributionBottom, end: distributionTop}
	for _, share := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999} {
		if at := ninesOf(share); at <= top+1e-9 {
			d.line("grid", x.start, y.at(at), x.end, y.at(at))
			d.text("tick", "end", densityLeft-6, y.at(at)+4, strconv.FormatFloat(100*share, 'g', 4, 64)+" %")
		}
	}
	for _, v := range x.decades(44) {
		d.line("grid", x.at(v), y.start, x.at(v), y.end)
		d.text("tick", "middle", x.at(v), distributionHeight-6, axisText(v, "seconds"))
	}
	var names []string
	tab := &table{Caption: "Latency by share of operations: " + subject, Columns: []column{{Text: "share of operations"}}}
	for i, p := range shown {
		d.path("series series"+number(i%seriesStyles+1), h.curve(p, x, y, first, last))
		names = append(names, p.name)
		tab.Columns = append(tab.Columns, column{Text: p.name, Number: true})
	}
	row := []cell{{Text: "operations"}}
	for _, p := range shown {
		row = append(row, cell{Text: counted(p.total()), Number: true})
	}
	tab.Rows = append(tab.Rows, row)
	for _, q := range quantiles {
		row := []cell{{Text: q.name}}
		for i, p := range shown {
			c := cell{Text: "too few", Number: true}
			if value, class := h.quantile(p, q.q); p.enough(q.q) {
				c.Text = h.told(p, q.q)
				if class > 0 && class < len(h.BoundsS) {
					c.Note = h.between(class)
				}
				if class >= 0 && class < len(h.BoundsS) && ninesOf(q.q) < top {
					d.marker(i, x.at(value), y.at(ninesOf(q.q)))
				}
			}
			row = append(row, c)
		}
		tab.Rows = append(tab.Rows, row)
	}
	if len(names) == 1 {
		names = nil // one curve needs no key
	}
	return &figure{ID: "cdf", Title: "Distribution of the latency of " + subject, SVG: d.done(), Table: tab, Keys: names, Caption: h.distributed(all)}
}

// curve is the trace of a population's shares by class.
func (h density) curve(p population, x, y scale, first, last int) string {
	all := p.total()
	if !(all > 0) {
		return ""
	}
	place := func(share float64) string { return coordinate(y.at(min(y.to, ninesOf(share)))) }
	var trace strings.Builder
	trace.WriteString("M" + coordinate(x.start) + " " + place(p.unseen/all))
	sum := p.unseen
	for class, n := range p.counts {
		if class >= first && class <= last {
			lower, upper := h.lower(class), h.upper(class)
			parts := 1 + int(curveParts*math.Log2(upper/lower)) // what is straight in time is bent on this drawing
			for i := 1; i <= parts; i++ {
				part := float64(i) / float64(parts)
				share := min(1, (sum+n*part)/all*(1+1e-12))
				trace.WriteString("L" + coordinate(x.at(lower+(upper-lower)*part)) + " " + place(share))
				if ninesOf(share) >= y.to {
					return trace.String() // beyond the axis
				}
			}
		}
		sum += n
	}
	return trace.String()
}

// curveParts is how many straight pieces a curve has in a class that is a factor of two wide.
const curveParts = 6

// distributed says what a distribution stands on.
func (h density) distributed(all population) string {
	caption := "How many took at most so long: " + counted(all.total()) + " operations, in " + h.width() + ". The scale is of nines, so that the slowest have room. Within its class, which stands below it, a figure is interpolated as Prometheus' histogram_quantile does."
	if h.Unseen > 0 {
		caption += " In intervals with " + units.Percent(h.Unseen/all.total()) + " of them nobody was seen waiting, by a source that looks now and then: they begin the curve."
	}
	return caption
}
