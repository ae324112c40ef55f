// Package timeline aligns series of different sources, periods and jitter to one common time grid,
// so that they can be compared second by second.
//
// The central concept is the interval. A counter sampled at a and then at b does not give its rate
// at b, but the mean rate between a and b. So a rate belongs to an interval, and a grid cell gets
// the mean of the intervals that cover it. With jitter, a late sample during a stall, or a source
// with another period, no interval is lost or counted twice, unlike with irate() at fixed steps. An
// interval much longer than the source's period is a hole: NaN, never zero.
//
// [Eval] computes PromQL over such a grid, for the subset that signals and rules use (package
// rules). One definition serves this program, a test script and a Prometheus server, and a property
// test compares the two engines.
package timeline

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// A Grid is a sequence of N cells of equal length. Cell k covers the time after FromMs+(k-1)*StepMs
// up to and including FromMs+k*StepMs, plus the folds before it.
type Grid struct {
	FromMs int64 // end of cell 0, milliseconds since the epoch
	StepMs int64 // length of a cell in milliseconds
	N      int   // cells
	folds  []fold
}

// MaxCells is the usual bound of a grid: five days of seconds. A diagnosis holds several hundred
// tracks with 8 bytes per cell.
const MaxCells = 5 * 86400

// NewGrid returns the smallest grid of at most [MaxCells] with the given step that covers from to
// to. Holes, in which no source has a sample, are folded: only some cells of each long hole are
// kept.
func NewGrid(from, to time.Time, step time.Duration, holes ...Hole) Grid {
	return NewGridWithin(MaxCells, from, to, step, holes...)
}

// NewGridWithin is NewGrid with another bound. If there are too many cells, the step gets longer:
// 2, 5, 10, 20 times as long, and so on.
func NewGridWithin(most int, from, to time.Time, step time.Duration, holes ...Hole) Grid {
	// Only round steps: 1, 2 or 5 times a power of ten of the given step.
	for ms := max(step.Milliseconds(), 1); ; ms *= 10 {
		for _, times := range []int64{1, 2, 5} {
			if g := newGrid(from.UnixMilli(), to.UnixMilli(), ms*times, holes); g.N <= most+1 {
				return g
			}
		}
	}
}

func newGrid(f, t, stepMs int64, holes []Hole) Grid {
	f = floorDiv(f, stepMs) * stepMs
	g := Grid{FromMs: f, StepMs: stepMs}
	if t >= f {
		g.fold(holes)
		g.N = g.cell(t) + 1
	}
	return g
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// Step returns the length of a cell.
func (g Grid) Step() time.Duration { return time.Duration(g.StepMs) * time.Millisecond }

// StepSeconds returns the length of a cell in seconds.
func (g Grid) StepSeconds() float64 { return float64(g.StepMs) / 1000 }

// Time returns the end of cell k.
func (g Grid) Time(k int) time.Time { return time.UnixMilli(g.end(k)).UTC() }

// Start returns the beginning of cell k.
func (g Grid) Start(k int) time.Time { return time.UnixMilli(g.end(k) - g.StepMs).UTC() }

// A Track is a series on a grid: one value per cell, NaN if unknown.
type Track struct {
	Labels labels.Labels
	Values []float64
}

// An interval between two samples is a hole in the series if it is longer than holePeriods of the
// usual intervals around it and longer than holeMinMs. The samplers of FTDC and of exporters are
// themselves late by seconds while the host stalls. Those intervals are measurements, and exactly
// what a diagnosis looks for.
const (
	holePeriods = 10
	holeMinMs   = 15_000
)

// spacing is the median interval between samples.
type spacing struct{ medianMs int64 }

func newSpacing(pts []promql.FPoint) spacing {
	if len(pts) < 2 {
		return spacing{medianMs: 1000}
	}
	step := max(1, len(pts)/512)
	var d []float64
	for i := 1; i < len(pts); i += step {
		d = append(d, float64(pts[i].T-pts[i-1].T))
	}
	return spacing{medianMs: int64(Quantile(d, 0.5))}
}

// hole reports whether the data between sample i-1 and sample i is unknown, given the two intervals
// on either side. A source may change its period while it runs: at the first and the last interval
// of another period, two more of that length are on one side only.
func (s spacing) hole(pts []promql.FPoint, i int) bool {
	dt := interval(pts, i)
	if dt <= holeMinMs {
		return false
	}
	before, after := interval(pts, i-1), interval(pts, i+1)
	usual := max(s.medianMs, min(before, after), min(before, interval(pts, i-2)),
		min(after, interval(pts, i+2)), 1)
	return dt > holePeriods*usual
}

func interval(pts []promql.FPoint, i int) int64 {
	if i < 1 || i >= len(pts) {
		return 0
	}
	return pts[i].T - pts[i-1].T
}

// Rate returns the rate per second of a counter on the grid. If the counter went down (a restart),
// the interval is a hole, because what happened in it is unknown.
func (g Grid) Rate(pts []promql.FPoint) []float64 { return g.rate(pts, newSpacing(pts)) }

func (g Grid) rate(pts []promql.FPoint, sp spacing) []float64 {
	out, cover := make([]float64, g.N), make([]float32, g.N)
	for i := 1; i < len(pts); i++ {
		a, b := pts[i-1], pts[i]
		dt := b.T - a.T
		dv := b.F - a.F
		if dt <= 0 || dv < 0 || math.IsNaN(dv) ||
			sp.hole(pts, i) {
			continue
		}
		g.spread(out, cover, a.T, b.T, dv/float64(dt)*1000)
	}

	for k := range out {
		// A cell is unknown if more than half of it is.
		if cover[k] < 0.5 {
			out[k] = math.NaN()
		} else {
			out[k] /= float64(cover[k])
		}
	}

	return out
}

// spread adds value to the cells between a and b, weighted by the covered share of each cell.
func (g Grid) spread(out []float64, cover []float32, aMs, bMs int64, value float64) {
	k0, k1 := max(g.cell(aMs+1), 0), min(g.cell(bMs), g.N-1)
	for k := k0; k <= k1; k++ {
		end := g.end(k)
		// The part of the interval that is inside the cell.
		lo, hi := max(aMs, end-g.StepMs), min(bMs, end)
		if hi <= lo {
			continue
		}
		w := float64(hi-lo) / float64(g.StepMs)
		out[k] += value * w
		cover[k] += float32(w)
	}
}

// Gauge returns a gauge on the grid: a cell has the last sample at or before its end, held until
// the next sample unless a hole follows.
func (g Grid) Gauge(pts []promql.FPoint) []float64 { return g.gauge(pts, newSpacing(pts)) }

func (g Grid) gauge(pts []promql.FPoint, sp spacing) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, g.N)
	for i, p := range pts {
		until := p.T + max(sp.medianMs, 1)*5/2
		if i+1 < len(pts) {
			if !sp.hole(pts, i+1) {
				until = pts[i+1].T
			}
		}

		for k := max(g.cell(p.T), 0); k < g.N && g.end(k) < until; k++ {
			out[k] = p.F
		}

		// The next sample overwrites the cell that contains it. A sample exactly at the end of a
		// cell counts even if until equals it.
		if k := g.cell(p.T); k >= 0 && k < g.N {
			out[k] = p.F
		}
	}

	return out
}
