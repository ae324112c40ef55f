package document

import (
	"math"

	"plimsoll/internal/base/units"
)

// A Population is a subset of the operations of a density, by class.
type Population struct {
	Name   string
	Counts []float64
	Unseen float64 // too fast to be sampled: below all classes
}

// Total is the number of operations.
func (p Population) Total() float64 {
	sum := p.Unseen
	for _, n := range p.Counts {
		sum += n
	}
	return sum
}

// Without returns the rest of a population.
func (p Population) Without(name string, part Population) Population {
	out := Population{Name: name, Counts: make([]float64, len(p.Counts)), Unseen: max(0, p.Unseen-part.Unseen)}
	for class, n := range p.Counts {
		if rest := n - part.Counts[class]; rest > 1e-6*n { // ignore rounding errors
			out.Counts[class] = rest
		}
	}
	return out
}

// Everything returns the operations of the whole time.
func (h Density) Everything(name string) Population {
	out := Population{Name: name, Counts: make([]float64, len(h.BoundsS)+1), Unseen: h.Unseen}
	for _, column := range h.Counts {
		for class, n := range column {
			out.Counts[class] += n
		}
	}
	return out
}

// Quantiles are shown in a distribution's drawing and table.
var Quantiles = []struct {
	Q    float64
	Name string
}{{Median, "p50"}, {0.9, "p90"}, {0.95, "p95"}, {P99, "p99"}, {0.999, "p99.9"}}

// Quantiles used in results.
const (
	Median = 0.5
	P99    = 0.99
)

// Enough reports whether at least one operation is beyond a quantile. With fewer operations, the
// slowest one would be reported as the quantile.
func (p Population) Enough(q float64) bool { return math.Round(p.Total())*(1-q) >= 1-1e-9 }

// Quantile returns the latency within which a share q of the operations completed, and its class;
// -1 if below all classes. It interpolates within the class like Prometheus' histogram_quantile. In
// the first and the last class the result is the one bound that the class has.
func (h Density) Quantile(p Population, q float64) (x float64, class int) {
	rank := q * p.Total()
	if p.Unseen >= rank {
		return 0, -1
	}

	sum := p.Unseen
	for class, n := range p.Counts {
		// The factor absorbs rounding of the sum, which would move an exact rank to the next
		// class.
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

// QuantileText prints a quantile, or the only bound of its class if the class is open-ended.
func (h Density) QuantileText(p Population, q float64) string {
	x, class := h.Quantile(p, q)
	switch class {
	case -1:
		return "too fast to be sampled"
	case 0, len(h.BoundsS):
		return h.Between(class)
	}
	return units.Seconds(x)
}

// Describe explains the data behind a distribution.
func (h Density) Describe(all Population) string {
	caption := "Share of operations that took at most this long: " + Counted(all.Total()) +
		" operations, in " + h.Width() +
		". The axis counts nines, which leaves room for the slowest operations. Figures are interpolated within their class, given below them, like Prometheus' histogram_quantile."
	if h.Unseen > 0 {
		caption += " For " + units.Percent(h.Unseen/all.Total()) +
			" of them, no sample caught an operation waiting; they form the start of the curve."
	}
	return caption
}
