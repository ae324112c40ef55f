package rules

import (
	"slices"

	"plimsoll/internal/record/timeline"
)

// Stalls are the stalled time, found before any cause is judged.
type Stalls struct {
	Time
	// Stall is the stall whose causes are judged.
	Stall Stall
	// Symptoms are the detectors that fired, worst first, including Stall.
	Symptoms []Stall
	// Others is the stalled time of the same operations in other incidents; nil if there is none.
	// Incidents are separated by the conditions that held, so whether a condition and stalls
	// coincide by chance is computed over all of them.
	Others timeline.Mask
	// Change, if not nil, is the subject of the case: no stall, but slower than usual.
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

// A Stall is the stalled time found by one detector: for one class of operation of one database,
// member or device.
type Stall struct {
	Rule    string // the symptom rule that reports it
	Subject string // "mongodb writes"
	Class   Class
	// Of are the signals that the detector reads. PeriodS is the time between their samples in seconds: a
	// cell, or the longest sampling period of these signals.
	Of      []*Signal
	PeriodS float64
	// Latency is the operations' mean latency in seconds, or nil if the detector judges throughput.
	Latency []float64
	// Waiting is the number of operations waiting concurrently (seconds waited per second), or nil.
	Waiting []float64
	// Ops is the operations completed per second, or nil.
	Ops []float64
	// Connected is the number of connected clients, or nil. If no latency is known, it shows
	// whether clients stayed.
	Connected []float64
	// Queued is how many operations waited at one moment of each interval, as counted by the engine
	// or the device, or nil. It shows whether clients waited while nothing completed.
	Queued []float64
	// Sampled means that Waiting was counted at one moment of each interval, so it is not a mean.
	Sampled   bool
	Threshold float64 // seconds above which a cell is stalled; 0 if throughput is judged
	// Thresholds are the thresholds of each cell if the usual latency changes; otherwise nil.
	Thresholds []float64
	Cells      timeline.Mask
	// Intervals marks the stalled sampling intervals if Cells are only the parts of them that
	// [Case.Pinpoint] selected; otherwise nil.
	Intervals timeline.Mask
	// Unsure marks stalled cells in which operations took longer than usual, but not as long as in
	// a stall: clients probably waited before sending requests, for an unknown time. Such cells
	// alone never make a finding critical. It is nil if there are none.
	Unsure timeline.Mask
	// Undetermined marks a silence at the end of the recording: nothing completed any more and no
	// source counts waiting clients, so it is either a stall or the end of the load. It is nil if
	// there is none.
	Undetermined timeline.Mask
	// Few marks the cells in which a few clients ran long operations and no other client waited:
	// slow, but not a stall.
	Few timeline.Mask
	// Observed marks the cells that the detector could judge.
	Observed timeline.Mask
	// Active marks the cells with load. Only these are compared with the stalled time, because an
	// idle database does not stall whatever its disk does.
	Active timeline.Mask
	// IsDatabase is true for a database's own figures, false for a device's.
	IsDatabase bool
	// OfLog means that the stalled operations are the log's syncs themselves.
	OfLog bool
	// Aside means that this stall is judged only if the recording has no other.
	Aside bool
	// Logged means that a log reported the slow operations only. How many others there were, and
	// whether there was a load, is unknown.
	Logged bool
	// Combined means that the latency covers reads and writes combined.
	Combined bool
	// Foremost means that this is a stall of clients' writes: it takes precedence over a longer
	// stall of anything else.
	Foremost bool
}

// Any reports whether anything stalled.
func (s Stall) Any() bool { return s.Cells.Count() > 0 }

// AsSampled marks the stalled time as sampled: whole intervals of the detector's own signals.
func (s Stall) AsSampled() timeline.Mask {
	if s.Intervals != nil {
		return s.Intervals
	}
	return s.Cells
}

// Called names the stall's subject so that it can begin a sentence, which a device's name cannot.
func (s Stall) Called() string {
	switch {
	case s.IsDatabase || s.Subject == "":
		return s.Subject
	case s.Combined:
		return "reads and writes of " + s.Subject
	case s.Class == DeviceReads:
		return "reads of " + s.Subject
	}
	return "writes of " + s.Subject
}

// ThresholdAt is the latency above which a cell is stalled.
func (s Stall) ThresholdAt(k int) float64 {
	if s.Thresholds != nil {
		return s.Thresholds[k]
	}
	return s.Threshold
}

// Slice is the stall in the cells from first to last. Its masks are copies.
func (s Stall) Slice(first, last int) Stall {
	s.Connected, s.Queued = part(s.Connected, first, last), part(s.Queued, first, last)
	s.Latency, s.Waiting, s.Ops, s.Thresholds = part(s.Latency, first, last), part(s.Waiting, first, last),
		part(s.Ops, first, last), part(s.Thresholds, first, last)
	s.Cells, s.Few = slices.Clone(part(s.Cells, first, last)), slices.Clone(part(s.Few, first, last))
	s.Unsure, s.Undetermined = slices.Clone(part(s.Unsure, first, last)),
		slices.Clone(part(s.Undetermined, first, last))
	s.Intervals = slices.Clone(part(s.Intervals, first, last))
	s.Observed, s.Active = slices.Clone(part(s.Observed, first, last)), slices.Clone(part(s.Active, first, last))
	return s
}

// part is a part of a series; nil for nil.
func part[S ~[]E, E any](s S, first, last int) S {
	if s == nil {
		return nil
	}
	return s[first : last+1 : last+1]
}

// NotStalled marks the time under load that did not stall.
func (st *Stalls) NotStalled() timeline.Mask { return st.Stall.Active.Without(st.Stall.Cells) }

// Share is the share of whole's cells that are also in part; 0 if whole is empty.
func Share(part, whole timeline.Mask) float64 {
	n := whole.Count()
	if n == 0 {
		return 0
	}
	return float64(part.And(whole).Count()) / float64(n)
}
