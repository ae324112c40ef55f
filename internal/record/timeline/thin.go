package timeline

import "github.com/prometheus/prometheus/promql"

// A Thinned is a series with many samples to a cell, of which those are kept that its rate or its
// value on the grid depends on: the last one of each cell and those around gaps, late samples and, of
// a counter, restarts. Of a month of seconds on cells of ten seconds that is a tenth.
type Thinned struct {
	grid    Grid
	counter bool
	sp      spacing
	kept    []promql.FPoint
	last    []promql.FPoint // the newest samples, at most two, which may not be kept yet
	after   int             // how many of the next samples are kept, whatever they are
}

// NewThinned begins a series, without any sample.
func NewThinned(g Grid, counter bool) *Thinned { return &Thinned{grid: g, counter: counter, after: 1} }

// Add adds samples that are later than all before. It does not keep the slice.
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

// next decides whether the newest sample is kept, by the one after it.
func (t *Thinned) next(was, p promql.FPoint) {
	switch {
	case p.T-was.T > holeMinMs:
		t.keep(t.last...) // two on either side tell the usual distance there
		t.after = 2
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

// keep keeps samples that are not kept yet.
func (t *Thinned) keep(pts ...promql.FPoint) {
	for _, p := range pts {
		if n := len(t.kept); n == 0 || t.kept[n-1].T < p.T {
			t.kept = append(t.kept, p)
		}
	}
}

// Values are those of [Grid.Rate] if the series is a counter, else of [Grid.Gauge], as if no sample
// had been left out: of a cell's rate, what is between its last sample and its end may count for the
// next cell.
func (t *Thinned) Values() []float64 {
	t.keep(t.last...)
	t.sp.medianMs = max(t.sp.medianMs, 1)
	if t.counter {
		return t.grid.rate(t.kept, t.sp)
	}
	return t.grid.gauge(t.kept, t.sp)
}
