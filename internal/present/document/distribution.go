package document

import (
	"math"

	"plimsoll/internal/base/units"
)

// A Population is some of the operations of a density, by class.
type Population struct {
	Name   string
	Counts []float64
	Unseen float64 // too quick to be seen: below all classes
}

// Total is how many operations there are.
func (p Population) Total() float64 {
	sum := p.Unseen
	for _, n := range p.Counts {
		sum += n
	}
	return sum
}

// Without is what is left of a population.
func (p Population) Without(name string, part Population) Population {
	out := Population{Name: name, Counts: make([]float64, len(p.Counts)), Unseen: max(0, p.Unseen-part.Unseen)}
	for class, n := range p.Counts {
		if rest := n - part.Counts[class]; rest > 1e-6*n { // what rounding leaves is no operation
			out.Counts[class] = rest
		}
	}
	return out
}

// Everything is a density's operations of all times.
func (h Density) Everything(name string) Population {
	out := Population{Name: name, Counts: make([]float64, len(h.BoundsS)+1), Unseen: h.Unseen}
	for _, column := range h.Counts {
		for class, n := range column {
			out.Counts[class] += n
		}
	}
	return out
}

// Quantiles are those that a distribution's drawing and table name.
var Quantiles = []struct {
	Q    float64
	Name string
}{{Median, "p50"}, {0.9, "p90"}, {0.95, "p95"}, {P99, "p99"}, {0.999, "p99.9"}}

// Quantiles that results name.
const (
	Median = 0.5
	P99    = 0.99
)

// Enough reports whether at least one of a population's operations is beyond a quantile. With fewer
// operations, the slowest one would be reported as the quantile.
func (p Population) Enough(q float64) bool { return math.Round(p.Total())*(1-q) >= 1-1e-9 }

// Quantile returns the latency that a share of a population's operations keep, interpolated within
// its class as Prometheus' histogram_quantile does, and that class; -1 if they were below all
// classes. For the first and the last class it is their only bound.
func (h Density) Quantile(p Population, q float64) (x float64, class int) {
	rank := q * p.Total()
	if p.Unseen >= rank {
		return 0, -1
	}

	sum := p.Unseen
	for class, n := range p.Counts {
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

// Told is a quantile in words: only one bound if its class has no other.
func (h Density) Told(p Population, q float64) string {
	x, class := h.Quantile(p, q)
	switch class {
	case -1:
		return "too quick to be seen"
	case 0, len(h.BoundsS):
		return h.Between(class)
	}
	return units.Seconds(x)
}

// Describe says what a distribution rests on.
func (h Density) Describe(all Population) string {
	caption := "How many took at most so long: " + Counted(all.Total()) + " operations, in " + h.Width() +
		". The scale is of nines, so that the slowest have room. Within its class, which stands below it, a figure is interpolated as Prometheus' histogram_quantile does."
	if h.Unseen > 0 {
		caption += " In intervals with " + units.Percent(h.Unseen/all.Total()) +
			" of them nobody was seen waiting, by a source that looks now and then: they begin the curve."
	}
	return caption
}
