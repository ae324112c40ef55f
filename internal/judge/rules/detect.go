package rules

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// The stalled seconds are found from what clients felt, never from a cause: a
// database's own latency where it tells one, else its throughput, else what the
// device made its users wait.
//
// A second is stalled when the mean latency in it is at least
//
//	clamp(5 x the median, floor, 100 ms)
//
// that is: a tenth of a second is a stall on any volume; for a database's operation 20 ms
// are one where operations usually take four or less. Counters credit a wait when it
// ends, so the cells before, in which fewer operations than usual ended, are
// stalled too, as far back as twice the mean latency reaches.
const (
	StallFloorS   = 0.020 // of a database's operation
	StallCeilingS = 0.100
	StallFactor   = 5
	// minWaiting is how many operations must have been waiting, on average over a cell: a
	// single slow write of an idle server is no stall.
	minWaiting = 0.5
	// quietOps is the part of the usual completions below which a cell is
	// counted to the wait that ended after it.
	quietOps = 0.5
	// maxReachS bounds how far back a latency reaches.
	maxReachS = 600
)

// Found is a stall that a detector could judge, or none.
func Found(s Stall, ok bool) []Stall {
	if !ok {
		return nil
	}
	return []Stall{s}
}

// ByLatency finds stalled time by the mean latency of an interval, from a floor in seconds on. It
// is false where the waiting or the completions of the stall are not told.
func ByLatency(t Time, floor float64, s Stall) (Stall, bool) {
	if s.Waiting == nil || s.Ops == nil {
		return s, false
	}
	return StalledCells(t, stallThresholds(t, s, floor, StallCeilingS), s)
}

// ByUsual is the same where a mean says little of what a client waits: of operations among which
// are long ones by nature, only what is far from usual stalls.
func ByUsual(t Time, floor float64, s Stall) (Stall, bool) {
	if s.Waiting == nil || s.Ops == nil {
		return s, false
	}
	return StalledCells(t, stallThresholds(t, s, floor, math.Inf(1)), s)
}

// stallThresholds are the latencies from which cells are stalled, by what is usual around each:
// one of a recording of a few hours.
func stallThresholds(t Time, s Stall, floor, ceiling float64) []float64 {
	each := make([]float64, len(s.Ops))
	for k, x := range s.Ops {
		if each[k] = math.NaN(); x > 0 {
			each[k] = s.Waiting[k] / x
		}
	}
	var usual []float64
	runs := t.Grid.Runs() // what was recorded months apart is judged apart
	for _, e := range runs {
		part := timeline.UsualAround(each[e.First:e.Last+1], t.Cells(usualSpan), usualFactor)
		if len(part) == 1 && len(runs) > 1 {
			part = slices.Repeat(part, e.Cells())
		}
		usual = append(usual, part...)
	}
	for k, x := range usual {
		usual[k] = min(max(StallFactor*x, floor), ceiling)
	}
	return usual
}

const (
	// usualSpan is how much time before and after tells what is usual: half of it on either side.
	usualSpan = 4 * time.Hour
	// usualFactor is how many times the whole recording's median may be called usual around some
	// time: a stall of hours is not.
	usualFactor = 4
)

// StalledCells marks the cells whose mean latency is at least their threshold, and those over
// which it reaches. One threshold is of all cells.
func StalledCells(t Time, thresholds []float64, s Stall) (Stall, bool) {
	n := t.Grid.N
	if t.SlowFromS > 0 {
		thresholds = []float64{t.SlowFromS}
	}
	s.Latency = make([]float64, n)
	s.Observed = timeline.Known(s.Waiting)
	for k := range n {
		s.Latency[k] = math.NaN()
		if s.Ops[k] > 0 {
			s.Latency[k] = s.Waiting[k] / s.Ops[k]
		}
	}
	if timeline.Count(s.Latency) == 0 {
		// Observed, and nothing was written: no stall.
		s.Cells = make(timeline.Mask, n)
		return s, s.Observed.Count() > 0
	}
	s.Threshold = timeline.Quantile(thresholds, 0.5)
	if len(thresholds) > 1 {
		s.Thresholds = thresholds
	}
	usual := timeline.Quantile(s.Ops, 0.5)
	step := t.Grid.StepSeconds()
	s.Cells = make(timeline.Mask, n)
	silences(s, usual, step)
	for k := range n {
		// Over one cell, or over as many as the latency reaches: eight seconds' wait of one
		// writer is credited to the one second in which it ends.
		if !(s.Latency[k] >= s.ThresholdAt(k)) || s.Waiting[k]*step < minWaiting*max(step, s.Latency[k]) {
			continue
		}
		s.Cells[k] = true
		// Requests that come evenly while nothing completes wait half as long as that lasted,
		// on average: the silence before may be twice the mean latency.
		reach := int(math.Ceil(min(2*s.Latency[k], maxReachS)/step)) - 1
		for j := k - 1; j >= 0 && j >= k-reach && s.Ops[j] <= quietOps*usual; j-- {
			s.Cells[j] = true
		}
	}
	s.Cells = s.Cells.And(s.Observed)
	return s, true
}

// silentWaiters is how many operations must have waited through a silence, on average, to make
// it a stall.
const silentWaiters = 4

// silences marks cells in which next to nothing completed although operations waited: what ends in
// the cell after them is credited with at least their length, many times over. The mean latency
// there hides it: a server with 64 connections sees 64 waits of nine seconds, and then thousands of
// quick writes that clients had held back.
func silences(s Stall, usual, step float64) {
	first := -1
	for k, ops := range s.Ops {
		if ops <= quietOps*usual && usual >= minUsualOps {
			if first < 0 {
				first = k
			}
			continue
		}
		if first >= 0 {
			silent := float64(k-first) * step
			if silent >= s.ThresholdAt(k) && silent <= maxReachS && s.Waiting[k]*step >= silentWaiters*silent {
				for j := first; j <= k; j++ {
					s.Cells[j] = true
				}
			}
		}
		first = -1
	}
}

// A throughput stall: completions fall below ThroughputDrop of the usual ones
// while something is waiting.
const (
	ThroughputDrop = 0.3
	minUsualOps    = 5.0
)

// ByThroughput judges completions where there is no latency; pressure of at least
// atLeast shows that clients still wanted something.
func ByThroughput(t Time, s Stall, pressure []float64, atLeast float64) (Stall, bool) {
	if s.Ops == nil {
		return s, false
	}
	s.Observed = timeline.Known(s.Ops)
	s.Cells = make(timeline.Mask, t.Grid.N)
	var active []float64
	for _, x := range s.Ops {
		if x > 0 {
			active = append(active, x)
		}
	}
	usual := timeline.Quantile(active, 0.5)
	if !(usual >= minUsualOps) || pressure == nil {
		return s, s.Observed.Count() > 0
	}
	for k, x := range s.Ops {
		s.Cells[k] = x < ThroughputDrop*usual && pressure[k] >= atLeast
	}
	// An open loop catches up after a stall; a second in which the backlog drains
	// between two stalled ones belongs to them.
	s.Cells = s.Cells.Close(1).And(s.Observed)
	return s, true
}

// SubjectOn names what an instance has: "etcd WAL fdatasync on 10.0.0.1:2379".
func SubjectOn(what, instance string) string {
	if instance == "" {
		return what
	}
	return what + " on " + instance
}
