package rules

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// Stalled seconds are found from what clients experienced, never from a cause: from a database's
// own latency if it reports one, otherwise from its throughput, otherwise from the time that
// requests spent at the device.
//
// A second is stalled if its mean latency is at least
//
//	clamp(5 x the median, floor, 100 ms)
//
// So a tenth of a second is a stall on any volume, and 20 ms are one for a database's operations if
// they usually take 4 ms or less. Counters credit a wait when it ends. So the cells before it, in
// which hardly any operation ended, are stalled too, as far back as twice the mean latency reaches.
//
// A detector is as coarse as the samples of the detector's signals. The grid may have shorter cells,
// because other signals were sampled more often.
const (
	StallFloorS   = 0.020 // of a database's operation
	StallCeilingS = 0.100
	StallFactor   = 5
	// minWaiting is how many operations must have been waiting, on average over a cell: a single
	// slow write on an idle server is not a stall.
	minWaiting = 0.5
	// quietOps is the share of the usual completions below which a cell with slow operations counts
	// as part of the wait that ended after it.
	quietOps = 0.5
	// maxReachS bounds how far back a latency reaches.
	maxReachS = 600
)

// Found returns a detector's stall as a list; empty if the detector could not judge.
func Found(s Stall, ok bool) []Stall {
	if !ok {
		return nil
	}
	return []Stall{s}
}

// ByLatency finds stalled time by the mean latency per interval, with a floor in seconds. It
// returns false if the stall's waiting or completions were not measured.
func ByLatency(t Time, floor float64, s Stall) (Stall, bool) {
	return ByLatencyUpTo(t, floor, StallCeilingS, s)
}

// ByLatencyUpTo does the same with a ceiling in seconds: a latency at or above it is always a
// stall.
func ByLatencyUpTo(t Time, floor, ceiling float64, s Stall) (Stall, bool) {
	if s.Waiting == nil || s.Ops == nil {
		return s, false
	}
	s.PeriodS = t.ResolutionS(s.Of...)
	return StalledCells(t, stallThresholds(t, s, floor, ceiling), s)
}

// ByUsual does the same if a mean says little about a client's wait, because some operations are
// long by nature. Then only a latency far from the usual one is a stall.
func ByUsual(t Time, floor float64, s Stall) (Stall, bool) {
	return ByLatencyUpTo(t, floor, math.Inf(1), s)
}

// stallThresholds returns the latencies above which cells are stalled, based on the usual latency
// around each cell. A recording of a few hours has a single threshold.
func stallThresholds(t Time, s Stall, floor, ceiling float64) []float64 {
	coarse := s.PeriodS >= CoarseFromS && !s.Sampled
	if coarse {
		floor = coarseFloor(s.PeriodS, floor)
	}

	each := Ratio(s.Waiting, s.Ops)

	var usual []float64
	runs := t.Grid.Runs() // recordings made months apart are judged separately
	for _, e := range runs {
		part := timeline.UsualAround(each[e.First:e.Last+1], t.Cells(usualSpan), usualFactor)
		if len(part) == 1 && len(runs) > 1 {
			part = slices.Repeat(part, e.Cells())
		}
		usual = append(usual, part...)
	}

	quick := math.Inf(1)
	if coarse {
		quick = timeline.Quantile(each, 0.25)
	}

	// The threshold is bounded on both sides: small medians must not turn noise into stalls, and
	// large ones must not hide them.
	for k, x := range usual {
		// If every other interval contains a short stall, the median is that of a stalled interval.
		if x > mixed*quick {
			x = quick
		}
		from := StallFactor * x
		if coarse && !math.IsInf(ceiling, 1) {
			from = min(from, max(coarseFactor*x, x+floor))
		}
		usual[k] = min(max(from, floor), ceiling)
	}

	return usual
}

// In an interval of many seconds, the mean of a one-second stall includes the quick operations of the
// other seconds: one second at the floor raises the mean of ten by a tenth of the floor. So the floor
// falls with the interval's length, but not below coarseLeastS, which is still several times the usual.
const (
	CoarseFromS  = 5.0
	coarseLeastS = 0.005
	// A short stall adds the same to a long interval's mean whatever is usual, so it counts from
	// coarseFactor times the usual.
	coarseFactor = 2.0
	mixed        = 1.5 // times the lower quartile: above this, the median is not that of quiet intervals
)

func coarseFloor(stepS, floor float64) float64 {
	return min(floor, max(floor/stepS, coarseLeastS))
}

const (
	// usualSpan is the time over which the usual latency is determined, half of it on either side.
	usualSpan = 4 * time.Hour
	// usualFactor is the largest multiple of the whole recording's median that may count as usual
	// at some time, so that a stall of hours does not become the norm.
	usualFactor = 4
)

// StalledCells marks the cells whose mean latency reaches their threshold, and the earlier cells
// that this latency covers. A single threshold applies to all cells.
func StalledCells(sampling Time, thresholds []float64, stall Stall) (Stall, bool) {
	count := sampling.Grid.N
	if sampling.SlowFromS > 0 {
		thresholds = []float64{sampling.SlowFromS}
	}

	stall.PeriodS = sampling.ResolutionS(stall.Of...)
	stall.Latency = Ratio(stall.Waiting, stall.Ops)
	stall.Observed = timeline.Known(stall.Waiting)

	if timeline.Count(stall.Latency) == 0 {
		// It was measured, but nothing was written: not a stall.
		stall.Cells = make(timeline.Mask, count)
		return stall, stall.Observed.Count() > 0
	}

	stall.Threshold = timeline.Quantile(thresholds, 0.5)
	if len(thresholds) > 1 {
		stall.Thresholds = thresholds
	}

	q := quietOf(sampling, stall)
	stall.Cells = make(timeline.Mask, count)

	for k := range count {
		// The minimum applies to one interval, or to as many as the latency covers: one writer's
		// eight-second wait is credited to the second in which it ends.
		if !(stall.Latency[k] >= stall.ThresholdAt(k)) ||
			stall.Waiting[k]*stall.PeriodS < minWaiting*max(stall.PeriodS, stall.Latency[k]) {
			continue
		}

		stall.Cells[k] = true

		// Requests that arrive evenly while nothing completes wait half of that time on average, so
		// the preceding silence may last twice the mean latency.
		intervals := int(math.Ceil(min(2*stall.Latency[k], maxReachS)/stall.PeriodS)) - 1
		for j := k - 1; j >= 0 && j >= k-intervals*q.interval && q.partOfWait(stall, j); j-- {
			stall.Cells[j] = true
		}
	}

	q.mark(&stall)
	stall.Cells = stall.Cells.And(stall.Observed)
	return stall, true
}

// Usual is the median of a value over time, or its lower quartile if every other interval contains
// a short burst. The value comes from the given signals.
func (t Time) Usual(values []float64, of ...*Signal) float64 {
	usual := timeline.Quantile(values, 0.5)
	if t.ResolutionS(of...) < CoarseFromS {
		return usual
	}
	if quick := timeline.Quantile(values, 0.25); usual > mixed*quick {
		return quick
	}
	return usual
}

// A throughput stall: completions fall below ThroughputDrop of the usual rate while requests wait.
const (
	ThroughputDrop = 0.3
	minUsualOps    = 5.0
)

// ByThroughput judges completions if there is no latency. A pressure of at least atLeast shows that
// clients were still sending requests.
func ByThroughput(t Time, s Stall, pressure []float64, atLeast float64) (Stall, bool) {
	if s.Ops == nil {
		return s, false
	}

	s.PeriodS = t.ResolutionS(s.Of...)
	s.Observed = timeline.Known(s.Ops)
	s.Cells = make(timeline.Mask, t.Grid.N)

	usual := usualOps(t, s, pressure, atLeast)
	if !(usual >= minUsualOps) || pressure == nil {
		return s, s.Observed.Count() > 0
	}

	for k, x := range s.Ops {
		s.Cells[k] = x < ThroughputDrop*usual && pressure[k] >= atLeast
	}

	// An open loop catches up after a stall. A sample in which the backlog drains between two
	// stalled ones belongs to the stall.
	s.Cells = s.Cells.Close(t.SampleCells(s.Of...)).And(s.Observed)
	return s, true
}

// leastCalm is how many samples without pressure show the usual rate: one may be a backlog that drains.
const leastCalm = 3

// usualOps is the median of the completions per second of cells with completions, so that idle time does
// not lower it. If most cells are under pressure, it is that of the others: a stall of two thirds of the
// time, in which a few operations complete, is not what is usual.
func usualOps(t Time, s Stall, pressure []float64, atLeast float64) float64 {
	var all, calm []float64
	for k, x := range s.Ops {
		if !(x > 0) {
			continue
		}
		all = append(all, x)
		if pressure != nil && !(pressure[k] >= atLeast) {
			calm = append(calm, x)
		}
	}

	usual := timeline.Quantile(all, 0.5)
	if len(calm) >= leastCalm*t.SampleCells(s.Of...) {
		return max(usual, timeline.Quantile(calm, 0.5))
	}

	return usual
}

// SubjectOn names a part of an instance: "etcd WAL fdatasync on 10.0.0.1:2379".
func SubjectOn(what, instance string) string {
	if instance == "" {
		return what
	}
	return what + " on " + instance
}
