package timeline

import "github.com/prometheus/prometheus/promql"

// A Thinned is a series with many samples per cell, reduced to the samples that its rate or its
// value on the grid depends on: the last one of each cell and those around gaps, late samples and,
// for a counter, restarts. For a month of seconds on cells of ten seconds, that is a tenth.
type Thinned struct {
	grid    Grid
	counter bool
	sp      spacing
	kept    []promql.FPoint
	last    []promql.FPoint // at most two newest samples, which may not be kept yet
	after   int             // number of next samples that are kept in any case
}

// NewThinned returns a series without samples.
func NewThinned(g Grid, counter bool) *Thinned { return &Thinned{grid: g, counter: counter, after: 1} }

// Add adds samples that are later than all previous ones. It does not keep the slice.
func (t *Thinned) Add(pts []promql.FPoint) {
	if t.sp.medianMs == 0 && len(pts) > 1 {
		t.sp = newSpacing(pts)
	}
	for _, p := range pts {
		if n := len(t.last); n > 0 {
			if t.sp.medianMs == 0 {
				t.sp.medianMs = p.T - t.last[n-1].T
			}
			t.next(t.last[n-1], p)
		}
		if len(t.last) == 2 {
			t.last = append(t.last[:0], t.last[1])
		}
		t.last = append(t.last, p)
	}
}

// next decides whether to keep the newest sample, given the one after it.
func (t *Thinned) next(was, p promql.FPoint) {
	switch {
	case p.T-was.T > holeMinMs:
		t.keep(t.last...) // two samples on either side give the usual interval there
		t.after = 2
	// Both samples around a restart or a long interval are needed for its rate.
	case t.counter && !(p.F >= was.F), p.T-was.T > t.grid.StepMs && t.after == 0:
		t.keep(was)
		t.after = 1
	case t.after > 0:
		t.keep(was)
		t.after--
	case t.grid.cell(p.T) != t.grid.cell(was.T):
		t.keep(was)
	}
}

// keep appends the samples that were not kept before.
func (t *Thinned) keep(pts ...promql.FPoint) {
	for _, p := range pts {
		if n := len(t.kept); n == 0 || t.kept[n-1].T < p.T {
			t.kept = append(t.kept, p)
		}
	}
}

// Values returns the result of [Grid.Rate] for a counter, or otherwise of [Grid.Gauge], as if no sample
// had been dropped, except that the rate between the last sample of a cell and its end may count for
// the next cell.
func (t *Thinned) Values() []float64 {
	t.keep(t.last...)
	t.sp.medianMs = max(t.sp.medianMs, 1)
	if t.counter {
		return t.grid.rate(t.kept, t.sp)
	}
	return t.grid.gauge(t.kept, t.sp)
}
