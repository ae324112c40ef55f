package rules

import (
	"slices"

	"plimsoll/internal/record/timeline"
)

// Stalls are the stalled time, found before any cause is judged.
type Stalls struct {
	Time
	// Stall is the one that causes are judged against.
	Stall Stall
	// Symptoms are the detectors that fired, worst first, the chosen one (Stall) among them.
	Symptoms []Stall
	// Change, if not nil, is what the case is about: no stall, but slower than usual.
	Change *Change
}

// A Class is a kind of operation that can stall.
type Class string

// The classes of operations, of databases and of devices.
const (
	Writing      Class = "writes"
	Reading      Class = "reads"
	Commanding   Class = "commands"
	Committing   Class = "commits"
	Syncing      Class = "fsyncs"
	DeviceWrites Class = "device writes"
	DeviceReads  Class = "device reads"
)

// A Stall is stalled time as one detector sees it: one class of operation of one database, member or
// device.
type Stall struct {
	Rule    string // the symptom rule that reports it
	Subject string // "mongodb writes"
	Class   Class
	// Latency is the mean latency in seconds an operation had, or nil where the
	// detector judges throughput.
	Latency []float64
	// Waiting is operations waiting at once (seconds waited per second), or nil.
	Waiting []float64
	// Ops is the operations completed per second, or nil.
	Ops       []float64
	Threshold float64 // seconds above which a cell is stalled; 0 where throughput is judged
	// Thresholds are those of each cell, where what is usual changes; nil if it does not.
	Thresholds []float64
	Cells      timeline.Mask
	// Few is where a few clients ran long operations and nobody else waited: slow, and no stall.
	Few timeline.Mask
	// Observed is where the detector could judge at all.
	Observed timeline.Mask
	// Active is where clients wanted something: only such time is compared with
	// the stalled, for an idle database does not stall whatever its disk does.
	Active timeline.Mask
	// IsDatabase tells a database's own view from a device's.
	IsDatabase bool
	// OfLog says that what stalled are syncs of the log themselves.
	OfLog bool
	// Aside says that the recording is judged by this only where it has nothing else.
	Aside bool
	// Foremost says that what clients wrote is what stalled: no longer stall of something else goes
	// before it.
	Foremost bool
}

// Any reports whether anything stalled.
func (s Stall) Any() bool { return s.Cells.Count() > 0 }

// Called names what the stall is of: a device's name is no word to begin a sentence with.
func (s Stall) Called() string {
	switch {
	case s.IsDatabase || s.Subject == "":
		return s.Subject
	case s.Class == DeviceReads:
		return "reads of " + s.Subject
	}
	return "writes of " + s.Subject
}

// ThresholdAt is the latency from which a cell is stalled.
func (s Stall) ThresholdAt(k int) float64 {
	if s.Thresholds != nil {
		return s.Thresholds[k]
	}
	return s.Threshold
}

// Slice is the stall of some cells, first to last. Its masks are copies.
func (s Stall) Slice(first, last int) Stall {
	s.Latency, s.Waiting, s.Ops, s.Thresholds = part(s.Latency, first, last), part(s.Waiting, first, last), part(s.Ops, first, last), part(s.Thresholds, first, last)
	s.Cells, s.Few = slices.Clone(part(s.Cells, first, last)), slices.Clone(part(s.Few, first, last))
	s.Observed, s.Active = slices.Clone(part(s.Observed, first, last)), slices.Clone(part(s.Active, first, last))
	return s
}

// part is a part of a series; nil of none.
func part[S ~[]E, E any](s S, first, last int) S {
	if s == nil {
		return nil
	}
	return s[first : last+1 : last+1]
}

// NotStalled is the time under load that did not stall.
func (st *Stalls) NotStalled() timeline.Mask { return st.Stall.Active.Without(st.Stall.Cells) }

// Share is the part of the cells of whole that are in part; 0 if whole is empty.
func Share(part, whole timeline.Mask) float64 {
	n := whole.Count()
	if n == 0 {
		return 0
	}
	return float64(part.And(whole).Count()) / float64(n)
}
