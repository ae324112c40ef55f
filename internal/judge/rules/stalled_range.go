package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// A mean over many seconds does not show for how many of them clients waited, but it bounds that number:
//
// - No operation of an interval waited longer than the longest wait in it, so the mean is no longer
// than that wait either. A mean that is a stall by itself contains at least one stalled second. -
// If clients all wait for d of an interval's T seconds, they complete nothing then and the usual
// amount otherwise, so the mean is the usual one times T / (T - d). Clients in a closed loop wait
// more, and stall for less of it. So an interval whose mean is not a stall may hide one of T x (1 -
// usual / mean).
const (
	// hidesFrom is the multiple of the usual latency above which an interval may hide a stall:
	// without one, means vary by less.
	hidesFrom = 1.25
	// secondS is the finest resolution at which stalled time is known.
	secondS = 1.0
)

// StalledRange bounds the stalled time in seconds: stalled cells of a detector with long intervals
// may have stalled for only part of it, and others may hide a stall. seen restricts the cells in
// which it looks for hidden ones.
func (t Time) StalledRange(s Stall, seen timeline.Mask) (least, most float64) {
	stalled := s.AsSampled()
	calm := timeline.At(s.Latency, s.Observed.Without(stalled))
	usual := timeline.Quantile(calm, 0.25) // many of the calm intervals may hide a stall

	if timeline.Count(calm) == 0 {
		usual = timeline.Quantile(s.Latency, 0.25)
	}

	for _, e := range t.Intervals(stalled, s.PeriodS) {
		least += s.leastOf(e, usual, float64(e.Cells())*t.Grid.StepSeconds())
	}

	most = t.Seconds(stalled)
	for k, x := range s.Latency {
		if seen[k] && !stalled[k] && x > hidesFrom*usual && !math.IsInf(x, 0) {
			most += t.Grid.StepSeconds() * (1 - usual/x)
		}
	}

	return min(least, most), most
}

// leastOf is the minimum time for which operations stalled in an interval of the given length, both
// in seconds.
func (s Stall) leastOf(e timeline.Episode, usual, lengthS float64) float64 {
	if s.Ops != nil && timeline.Max(s.Ops[e.First:e.Last+1]) == 0 {
		return lengthS
	}
	if s.Latency == nil {
		return 0
	}

	mean := timeline.Max(s.Latency[e.First : e.Last+1])
	floor := deviceStallS
	if s.IsDatabase {
		floor = StallFloorS
	}

	// A mean below this can come from usual operations plus one short stall, so it proves no
	// stalled second.
	alone := max(s.ThresholdAt(e.First), min(max(StallFactor*usual, floor), StallCeilingS))
	switch {
	case !(mean >= alone):
		return 0
	case s.Sampled:
		return min(secondS, lengthS)
	}

	return min(max(secondS, mean), lengthS)
}

// deviceStallS is the latency above which a device's requests may stall, in seconds: several times
// what flash takes.
const deviceStallS = 0.005

// Intervals divides a mask's episodes into the sampling intervals of a detector with the given
// period.
func (t Time) Intervals(m timeline.Mask, periodS float64) []timeline.Episode {
	cells := max(1, int(math.Round(periodS/t.Grid.StepSeconds())))
	var out []timeline.Episode
	for _, e := range m.Episodes() {
		for first := e.First; first <= e.Last; first += cells {
			out = append(out, timeline.Episode{First: first, Last: min(first+cells-1, e.Last)})
		}
	}
	return out
}

// PinpointFactor is the minimum ratio of a device's sampling rate to that of clients' operations at which the
// device shows when within an interval they stalled.
const PinpointFactor = 2

// Pinpoint narrows the stalled intervals of a detector with long ones to the seconds in which a
// device that is sampled more often was slow or saturated: causes are searched for in these. An
// interval without such a device remains whole. This only selects the time to examine: whether that
// device caused the stalls is decided by whole intervals.
func (c *Case) Pinpoint(all []Stall) {
	for i := range all {
		s := &all[i]
		if !s.IsDatabase || !s.Any() || s.PeriodS < CoarseFromS {
			continue
		}

		busy := c.devicesWaited(all, s.PeriodS/PinpointFactor)

		// Without a device that was slow or saturated, there is nothing to narrow the interval down
		// with.
		narrow := make(timeline.Mask, c.Grid.N)
		for _, e := range c.Intervals(s.Cells, s.PeriodS) {
			whole := busy[e.First:e.Last+1].Count() == 0
			for k := e.First; k <= e.Last; k++ {
				narrow[k] = s.Cells[k] && (whole || busy[k])
			}
		}

		if narrow.Count() < s.Cells.Count() {
			s.Intervals, s.Cells = s.Cells, narrow
		}
	}
}

// devicesWaited marks the cells in which requests of some device were slow or queued, according to
// samples at most mostS seconds apart.
func (c *Case) devicesWaited(all []Stall, mostS float64) timeline.Mask {
	out := make(timeline.Mask, c.Grid.N)
	for _, s := range all {
		if !s.IsDatabase && s.PeriodS <= mostS {
			out = out.Or(s.Cells)
		}
	}
	if full, ok := c.Saturated(); ok && c.Signals.ResolutionS(DiskBusy, DiskQueue) <= mostS {
		out = out.Or(full)
	}
	return out
}
