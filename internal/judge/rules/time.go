package rules

import (
	"cmp"
	"math"
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// Time is a recording's grid.
type Time struct {
	Grid timeline.Grid
	// SlowFromS, if not 0, is a user's setting: the mean latency above which a cell counts as stalled,
	// regardless of the usual latency.
	SlowFromS float64
	// Periods are the sampling periods of signals in seconds, by signal name. A signal that is
	// sampled less than once per cell has the same value in all cells of an interval.
	Periods map[string]float64
}

// ResolutionS is the shortest time in seconds at which all of the given signals are known: a cell,
// or their sampling period if that is longer. A judgement is as coarse as the signals that it
// reads, however often others were sampled.
func (t Time) ResolutionS(of ...*Signal) float64 {
	longest := t.Grid.StepSeconds()
	for _, s := range of {
		longest = max(longest, t.Periods[s.Name])
	}
	return longest
}

// SampleCells is how many cells one sample of the given signals covers: one, unless the grid is finer
// because another signal was sampled more often. Code that compares consecutive samples must advance by that
// many cells, so that an unrelated source never changes the result.
func (t Time) SampleCells(of ...*Signal) int {
	return max(1, int(math.Round(t.ResolutionS(of...)/t.Grid.StepSeconds())))
}

// Seconds is the total time of a mask's cells.
func (t Time) Seconds(m timeline.Mask) float64 { return float64(m.Count()) * t.Grid.StepSeconds() }

// Span is an episode's time.
func (t Time) Span(e timeline.Episode) Span {
	return Span{From: t.Grid.Start(e.First), To: t.Grid.Time(e.Last)}
}

// Whole is the grid's time.
func (t Time) Whole() Span {
	if t.Grid.N == 0 {
		return Span{}
	}
	return Span{From: t.Grid.Start(0), To: t.Grid.Time(t.Grid.N - 1)}
}

// WindowsMax bounds the windows a finding lists: the longest, in time order.
const WindowsMax = 8

// Windows are the longest episodes of a mask, in time order.
func (t Time) Windows(m timeline.Mask) []Span {
	eps := m.Episodes()
	slices.SortStableFunc(eps, func(a, b timeline.Episode) int { return cmp.Compare(b.Cells(), a.Cells()) })
	eps = eps[:min(len(eps), WindowsMax)]
	slices.SortFunc(eps, func(a, b timeline.Episode) int { return cmp.Compare(a.First, b.First) })
	out := make([]Span, len(eps))
	for i, e := range eps {
		out[i] = t.Span(e)
	}
	return out
}

// LongestS is the length of a mask's longest episode in seconds.
func (t Time) LongestS(m timeline.Mask) float64 {
	longest := 0
	for _, e := range m.Episodes() {
		longest = max(longest, e.Cells())
	}
	return float64(longest) * t.Grid.StepSeconds()
}

// Only long episodes count as recurrences. Episodes shorter than this share of the longest are
// noise between them.
const recurringLength = 0.25

// Period is the period in seconds of a mask's episodes; 0 if irregular.
func (t Time) Period(m timeline.Mask) float64 {
	eps := m.Episodes()
	longest := 0
	for _, e := range eps {
		longest = max(longest, e.Cells())
	}

	eps = slices.DeleteFunc(eps,
		func(e timeline.Episode) bool { return float64(e.Cells()) < recurringLength*float64(longest) })

	// Distances are measured in time, not in cells: two runs of a server may be months apart.
	for i, e := range eps {
		first := int(t.Grid.Start(e.First).Sub(t.Grid.Start(0)) / t.Grid.Step())
		eps[i] = timeline.Episode{First: first, Last: first + e.Cells() - 1}
	}

	p, ok := timeline.Recurrence(eps)
	if !ok {
		return 0
	}

	return p.Cells * t.Grid.StepSeconds()
}

// Cells is how many cells a duration covers, at least one.
func (t Time) Cells(d time.Duration) int {
	return max(1, int((d.Milliseconds()+t.Grid.StepMs-1)/t.Grid.StepMs))
}

// Credited spreads the time that a counter is credited with when a wait ends back over the wait
// itself. rate is seconds credited per second; it assumes at most one wait at a time (a journal's
// sync, a checkpoint's write). The result is the share of each cell in which a wait was in
// progress, 0 to 1. If the counter grows by less than the cell's length, the cell keeps all of it.
func (t Time) Credited(rate []float64) []float64 {
	if rate == nil {
		return nil
	}

	step := t.Grid.StepSeconds()
	out := make([]float64, len(rate))
	for k, x := range rate {
		if math.IsNaN(x) {
			if out[k] == 0 {
				out[k] = math.NaN()
			}
			continue
		}

		left := x * step
		for j := k; j >= 0 && left > 1e-9 && k-j < maxCreditCells; j-- {
			if math.IsNaN(out[j]) {
				out[j] = 0
			}
			// A cell that is already full of waiting passes the rest on to the cell before it.
			room := min(step*(1-out[j]), left)
			if room > 0 {
				out[j] += room / step
				left -= room
			}
		}
	}

	return out
}

// maxCreditCells bounds how far back a wait is spread.
const maxCreditCells = 600
