package prove

import (
	"cmp"
	"math"
	"slices"
)

// A measure computes a figure as a function of how often each unit counts. It is safe for concurrent use.
type measure interface {
	units() int
	// estimate returns the figure with unit i counted times[i] times; NaN if nothing is left.
	estimate(times []int32) float64
	// spread returns the interval around at, the estimated value. alpha is the probability that the true
	// value is outside, and errors the corresponding number of standard errors on each side. deviates returns
	// the standard error of a quotient of units.
	spread(at, alpha, errors float64, deviates func(*quotient) float64) (s span, reach float64)
	// influence returns, up to a factor, how much each unit moves the figure from its value over all
	// units. Its autocorrelation measures the dependence between units for this figure.
	influence() []float64
	// join combines the units of both measures, this one's first.
	join(o measure) measure
}

// once counts each of n units once.
func once(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// A quotient is a ratio of two sums: a mean over time, per operation, or per cycle.
type quotient struct {
	num, den []float64
	// oneEvent, if not 0, is what a single event would add to the ratio. Then a ratio of 0 means that no
	// event was observed, which bounds the rate of events but does not make it 0.
	oneEvent float64
}

// newQuotient sums both series per unit, over the cells in which both are known.
func newQuotient(p partition, num, den []float64) measure {
	q := &quotient{num: make([]float64, p.n), den: make([]float64, p.n)}
	for k, u := range p.unit {
		if u < 0 || math.IsNaN(num[k]) || math.IsNaN(den[k]) {
			continue
		}
		q.num[u] += num[k]
		q.den[u] += den[k]
	}
	return q
}

func (q *quotient) units() int { return len(q.num) }

func (q *quotient) estimate(times []int32) float64 {
	num, den := 0.0, 0.0
	for i, t := range times {
		if t != 0 {
			num += float64(float64(t) * q.num[i])
			den += float64(float64(t) * q.den[i])
		}
	}
	if den <= 0 {
		return math.NaN()
	}
	return num / den
}

func (q *quotient) spread(at, alpha, errors float64, deviates func(*quotient) float64) (span, float64) {
	// Resampling zeros gives an error of zero, which would be far too confident.
	if at == 0 && q.oneEvent > 0 {
		return span{high: noneSeen(q.oneEvent, alpha)}, 0
	}
	e := float64(errors * deviates(q))
	return span{value: at, low: max(at-e, 0), high: at + e}, 0
}

func (q *quotient) influence() []float64 {
	at := q.estimate(once(len(q.num)))
	out := make([]float64, len(q.num))
	for i := range out { // without any event, all are 0 or unknown
		out[i] = q.num[i] - float64(at*q.den[i])
	}
	return out
}

func (q *quotient) join(o measure) measure {
	other := o.(*quotient)
	return &quotient{num: slices.Concat(q.num, other.num), den: slices.Concat(q.den, other.den)}
}

// A percentile is a quantile of the cells' values, weighted by operations.
type percentile struct {
	q     float64
	n     int
	cells []weighted // by value
	total []float64  // weight by unit
}

type weighted struct {
	value, weight float64
	unit          int32
}

func newPercentile(p partition, q float64, values, weights []float64) measure {
	out := &percentile{q: q, n: p.n, total: make([]float64, p.n)}
	for k, u := range p.unit {
		if u < 0 || math.IsNaN(values[k]) || !(weights[k] > 0) {
			continue
		}
		out.cells = append(out.cells, weighted{values[k], weights[k], u})
		out.total[u] += weights[k]
	}
	sortCells(out.cells)
	return out
}

func sortCells(cells []weighted) {
	slices.SortStableFunc(cells, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
}

func (p *percentile) units() int { return p.n }

// estimate searches downwards from the largest value, because the usual percentiles are close to it.
func (p *percentile) estimate(times []int32) float64 {
	total := 0.0
	for i, t := range times {
		total += float64(float64(t) * p.total[i])
	}

	if total <= 0 {
		return math.NaN()
	}

	above := float64((1 - p.q) * total)
	for i := len(p.cells) - 1; i >= 0; i-- {
		c := &p.cells[i]
		if above -= float64(float64(times[c.unit]) * c.weight); above < 0 {
			return c.value
		}
	}

	return p.cells[0].value
}

// from and above return the share of operations that took at least that long, and longer.
func (p *percentile) from(at float64) *quotient {
	return p.share(func(x float64) bool { return x >= at })
}

func (p *percentile) above(at float64) *quotient {
	return p.share(func(x float64) bool { return x > at })
}

func (p *percentile) share(in func(x float64) bool) *quotient {
	out := &quotient{num: make([]float64, p.n), den: p.total}
	for _, c := range p.cells {
		if in(c.value) {
			out.num[c.unit] += c.weight
		}
	}
	return out
}

func (p *percentile) spread(at, _, errors float64, deviates func(*quotient) float64) (span, float64) {
	// The two shares differ if many cells have the same value; the one that varies more is the safe choice.
	e := errors * max(deviates(p.from(at)), deviates(p.above(at)))
	return woodruff(at, p.q, e, func(q float64) float64 {
		moved := *p
		moved.q = q
		return moved.estimate(once(p.n))
	})
}

// woodruff returns the interval of a quantile (Woodruff, Journal of the American Statistical Association
// 47 (1952) 635-646). The share of operations above the quantile is a mean and has an error e; the
// interval's ends are the quantiles at that distance on each side. If the error is as large as the share
// itself, nothing bounds the quantile from above: the few longest operations fell into so few units that
// another recording could have far longer ones. A bootstrap of the quantile itself never exceeds the
// longest observed value, so it is overconfident. reach is the error relative to the share.
func woodruff(at, q, e float64, quantile func(q float64) float64) (s span, reach float64) {
	s = span{value: at, low: at, high: at}
	if e > 0 {
		s.low, s.high = min(at, quantile(max(q-e, 0))), math.Inf(1)
		if e < 1-q {
			s.high = max(at, quantile(q+e))
		}
	}
	return s, e / (1 - q)
}

func (p *percentile) influence() []float64 { return p.from(p.estimate(once(p.n))).influence() }

func (p *percentile) join(o measure) measure {
	other := o.(*percentile)
	out := &percentile{q: p.q, n: p.n + other.n, total: slices.Concat(p.total, other.total),
		cells: slices.Clone(p.cells)}
	for _, c := range other.cells {
		c.unit += int32(p.n)
		out.cells = append(out.cells, c)
	}
	sortCells(out.cells)
	return out
}

// A histogram is a quantile of durations that were counted in classes, summed over units.
type histogram struct {
	q     float64
	edges []float64   // upper bounds, ascending; the last is +Inf
	upTo  [][]float64 // by unit: number of durations up to each edge
}

func (h *histogram) units() int { return len(h.upTo) }

func (h *histogram) sum(times []int32) []float64 {
	sum := make([]float64, len(h.edges))
	for i, t := range times {
		if t == 0 {
			continue
		}
		for e, x := range h.upTo[i] {
			sum[e] += float64(float64(t) * x)
		}
	}
	return sum
}

// estimate interpolates within a class like Prometheus' histogram_quantile; beyond the last finite bound it
// returns that bound.
func (h *histogram) estimate(times []int32) float64 {
	sum := h.sum(times)
	e := h.class(sum)
	switch {
	case e < 0:
		return math.NaN()
	case math.IsInf(h.edges[e], 1):
		// The class has no upper bound, so this is only a lower bound of the quantile.
		return h.edges[max(e-1, 0)]
	case e == 0:
		return h.edges[0] * (h.q * sum[len(sum)-1] / sum[0])
	}
	in := sum[e] - sum[e-1]
	return h.edges[e-1] + float64((h.edges[e]-h.edges[e-1])*((float64(h.q*sum[len(sum)-1])-sum[e-1])/in))
}

// class returns the index of the class that contains the quantile; -1: nothing was counted.
func (h *histogram) class(sum []float64) int {
	total := sum[len(sum)-1]
	if total <= 0 {
		return -1
	}
	for e, x := range sum {
		if x >= float64(h.q*total) {
			return e
		}
	}
	return len(sum) - 1
}

// above returns the share of durations above the interpolated quantile.
func (h *histogram) above() *quotient {
	n := len(h.upTo)
	out := &quotient{num: make([]float64, n), den: make([]float64, n)}
	sum := h.sum(once(n))

	e, last := h.class(sum), len(sum)-1
	if e < 0 {
		return out
	}

	for i, x := range h.upTo {
		in := x[e]
		if e > 0 && sum[e] > sum[e-1] { // the part of the class below the quantile
			in = x[e-1] + float64((x[e]-x[e-1])*((float64(h.q*sum[last])-sum[e-1])/(sum[e]-sum[e-1])))
		}
		out.num[i], out.den[i] = x[last]-in, x[last]
	}

	return out
}

// spread returns Woodruff's interval of the interpolated value, extended by the rest of the classes that
// contain its ends: the positions of durations within a class are unknown.
func (h *histogram) spread(at, _, errors float64, deviates func(*quotient) float64) (span, float64) {
	e := errors * deviates(h.above())
	moved := func(q float64) *histogram { return &histogram{q: q, edges: h.edges, upTo: h.upTo} }
	all := once(len(h.upTo))
	s, reach := woodruff(at, h.q, e, func(q float64) float64 { return moved(q).estimate(all) })
	if !(e > 0) {
		e = 0
	}
	from, _ := moved(max(h.q-e, 0)).within(all)
	s.below = max(s.low-from, 0)
	if !math.IsInf(s.high, 1) {
		_, to := moved(h.q + e).within(all)
		s.above = max(to-s.high, 0)
	}
	return s, reach
}

// within returns the bounds of the class that contains the quantile.
func (h *histogram) within(times []int32) (from, to float64) {
	e := h.class(h.sum(times))
	if e < 0 {
		return math.NaN(), math.NaN()
	}
	if e > 0 {
		from = h.edges[e-1]
	}
	return from, h.edges[e]
}

func (h *histogram) influence() []float64 { return h.above().influence() }

func (h *histogram) join(o measure) measure {
	other := o.(*histogram)
	return &histogram{q: h.q, edges: h.edges, upTo: slices.Concat(h.upTo, other.upTo)}
}
