package rules

import (
	"cmp"
	"math"
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// A Case is what a rule judges: the signals of a recording on one grid, and the
// stalled time in it.
type Case struct {
	Grid timeline.Grid
	// Tracks gives a signal's tracks, none if no source could tell it.
	Tracks func(*Signal) []timeline.Track
	// Pack is what the case is judged by.
	Pack *Pack
	// Engines are the databases the sources are of.
	Engines []string
	// Stall is the stalled time, found before any cause is judged.
	Stall Stall
	// Symptoms are the detectors that fired, worst first, the chosen one (Stall) among them.
	Symptoms []Stall
	// Facts are settings the sources told ("cores", "memory_bytes", "vm.dirty_background_bytes").
	Facts map[string]string
	// Trouble are gaps and damage the sources reported.
	Trouble []Trouble
	// Clocks is the number of sources that took times from a clock of their own.
	Clocks int
}

// Trouble is a gap or damage in a source.
type Trouble struct {
	Kind   string // a recording.NoteKind
	Source string
	Text   string
	Span   Span // zero if not known
}

// A Stall is stalled time as one detector sees it.
type Stall struct {
	Rule    string // the symptom rule that reports it
	Subject string // "mongodb writes"
	// Latency is the mean latency in seconds an operation had, or nil where the
	// detector judges throughput.
	Latency []float64
	// Waiting is operations waiting at once (seconds waited per second), or nil.
	Waiting []float64
	// Ops is the operations completed per second, or nil.
	Ops       []float64
	Threshold float64 // seconds above which a cell is stalled; 0 where throughput is judged
	Cells     timeline.Mask
	// Observed is where the detector could judge at all.
	Observed timeline.Mask
	// Active is where clients wanted something: only such time is compared with
	// the stalled, for an idle database does not stall whatever its disk does.
	Active timeline.Mask
	// IsDatabase tells a database's own view from a device's.
	IsDatabase bool
	// OfLog says that what stalled are syncs of the log themselves.
	OfLog bool
	// Foremost says that what clients wrote is what stalled: no longer stall of something else goes
	// before it.
	Foremost bool
}

// Any reports whether anything stalled.
func (s Stall) Any() bool { return s.Cells.Count() > 0 }

// Seconds is the stalled time.
func (c *Case) Seconds(m timeline.Mask) float64 { return float64(m.Count()) * c.Grid.StepSeconds() }

// Signal is a signal's tracks, none if no source could tell it.
func (c *Case) Signal(s *Signal) []timeline.Track { return c.Tracks(s) }

// Measured reports whether a signal has any value.
func (c *Case) Measured(s *Signal) bool {
	for _, t := range c.Signal(s) {
		if timeline.Count(t.Values) > 0 {
			return true
		}
	}
	return false
}

// One is a signal that has one series, or the sum of its series; nil if not measured.
func (c *Case) One(s *Signal) []float64 {
	tracks := c.Signal(s)
	switch len(tracks) {
	case 0:
		return nil
	case 1:
		return tracks[0].Values
	}
	out := make([]float64, c.Grid.N)
	for k := range out {
		out[k] = math.NaN()
		for _, t := range tracks {
			if x := t.Values[k]; !math.IsNaN(x) {
				if math.IsNaN(out[k]) {
					out[k] = 0
				}
				out[k] += x
			}
		}
	}
	return out
}

// For is a signal's series with the given value of a label; nil if not measured.
func (c *Case) For(s *Signal, label, value string) []float64 {
	for _, t := range c.Signal(s) {
		if t.Labels.Get(label) == value {
			return t.Values
		}
	}
	return nil
}

// Share is the part of the cells of whole that are in part; 0 if whole is empty.
func Share(part, whole timeline.Mask) float64 {
	n := whole.Count()
	if n == 0 {
		return 0
	}
	return float64(part.And(whole).Count()) / float64(n)
}

// Span is an episode's time.
func (c *Case) Span(e timeline.Episode) Span {
	return Span{From: c.Grid.Start(e.First), To: c.Grid.Time(e.Last)}
}

// Whole is the grid's time.
func (c *Case) Whole() Span {
	if c.Grid.N == 0 {
		return Span{}
	}
	return Span{From: c.Grid.Start(0), To: c.Grid.Time(c.Grid.N - 1)}
}

// maxWindows bounds the windows a finding lists: the longest, in time order.
const maxWindows = 8

// Windows are the longest episodes of a mask, in time order.
func (c *Case) Windows(m timeline.Mask) []Span {
	eps := m.Episodes()
	slices.SortStableFunc(eps, func(a, b timeline.Episode) int { return cmp.Compare(b.Cells(), a.Cells()) })
	eps = eps[:min(len(eps), maxWindows)]
	slices.SortFunc(eps, func(a, b timeline.Episode) int { return cmp.Compare(a.First, b.First) })
	out := make([]Span, len(eps))
	for i, e := range eps {
		out[i] = c.Span(e)
	}
	return out
}

// A recurrence is one of the long episodes: shorter ones than this part of the
// longest are noise between them.
const recurringLength = 0.25

// Period is the period in seconds of a mask's episodes; 0 if irregular.
func (c *Case) Period(m timeline.Mask) float64 {
	eps := m.Episodes()
	longest := 0
	for _, e := range eps {
		longest = max(longest, e.Cells())
	}
	eps = slices.DeleteFunc(eps, func(e timeline.Episode) bool { return float64(e.Cells()) < recurringLength*float64(longest) })
	// Distances are of time, not of cells: between two runs of a server lie months.
	for i, e := range eps {
		first := int(c.Grid.Start(e.First).Sub(c.Grid.Start(0)) / c.Grid.Step())
		eps[i] = timeline.Episode{First: first, Last: first + e.Cells() - 1}
	}
	p, ok := timeline.Recurrence(eps)
	if !ok {
		return 0
	}
	return p.Cells * c.Grid.StepSeconds()
}

// Cells is how many cells a duration covers, at least one.
func (c *Case) Cells(d time.Duration) int {
	return max(1, int((d.Milliseconds()+c.Grid.StepMs-1)/c.Grid.StepMs))
}

// NotStalled is the time under load that did not stall.
func (c *Case) NotStalled() timeline.Mask { return c.Stall.Active.Without(c.Stall.Cells) }

// Credited spreads time that a counter is credited with when a wait ends back over
// the time it was waited: rate is seconds credited per second, and never more
// than one wait at once is assumed (a journal's sync, a checkpoint's write). The result
// is the share of each cell in which the wait was on, 0 to 1. Where the counter grows by less
// than the cell's length, the cell keeps it.
func (c *Case) Credited(rate []float64) []float64 {
	if rate == nil {
		return nil
	}
	step := c.Grid.StepSeconds()
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
			room := min(step*(1-out[j]), left)
			if room > 0 {
				out[j] += room / step
				left -= room
			}
		}
	}
	return out
}

// maxCreditCells bounds how far back a wait is credited.
const maxCreditCells = 600
