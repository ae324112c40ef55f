package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// A mean of many seconds does not show for how many of them clients waited. It bounds that:
//
//   - No operation of an interval waited longer than the longest wait in it, so their mean is no longer
//     than that wait either. A mean that is a stall by itself contains at least one stalled second.
//   - Clients that all wait for d of an interval's T seconds complete nothing meanwhile and what they
//     usually do otherwise, so the mean is the usual one times T / (T - d). Clients that keep asking
//     wait more, and stall for less of it. So an interval that is no stall by its mean may hide one of
//     T x (1 - usual / mean).
const (
	// hidesFrom is the multiple of the usual latency from which an interval may hide a stall: means
	// vary by less than that without one.
	hidesFrom = 1.25
	// secondS is the resolution to which stalled time is known at best.
	secondS = 1.0
)

// StalledRange bounds the stalled time in seconds: some stalled cells of a detector with long intervals
// may have stalled for part of it only, and others may hide a stall. seen restricts the cells in which
// it looks for hidden ones.
func (t Time) StalledRange(s Stall, seen timeline.Mask) (least, most float64) {
	stalled := s.AsSampled()
	calm := timeline.At(s.Latency, s.Observed.Without(stalled))
	usual := timeline.Quantile(calm, 0.25) // many of the calm intervals may hide a stall

	if timeline.Count(calm) == 0 {
		usual = timeline.Quantile(s.Latency, 0.25)
	}

	for _, e := range t.intervals(stalled, s.PeriodS) {
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

// leastOf is how long at least operations stalled in one interval of a length in seconds.
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

	alone := max(s.ThresholdAt(e.First), min(max(StallFactor*usual, floor), StallCeilingS))
	switch {
	case !(mean >= alone):
		return 0
	case s.Sampled:
		return min(secondS, lengthS)
	}

	return min(max(secondS, mean), lengthS)
}

// deviceStallS is the latency from which a device's requests may stall, in seconds: several times what
// flash takes.
const deviceStallS = 0.005

// intervals divides a mask's episodes into the intervals of a detector whose samples are so many
// seconds apart.
func (t Time) intervals(m timeline.Mask, periodS float64) []timeline.Episode {
	cells := max(1, int(math.Round(periodS/t.Grid.StepSeconds())))
	var out []timeline.Episode
	for _, e := range m.Episodes() {
		for first := e.First; first <= e.Last; first += cells {
			out = append(out, timeline.Episode{First: first, Last: min(first+cells-1, e.Last)})
		}
	}
	return out
}

// pinpointFactor is how many times as often a device must be sampled as clients' operations before it
// shows where in an interval they stalled.
const pinpointFactor = 2

// Pinpoint finds where in the stalled intervals of a detector with long ones a device that is sampled
// more often was slow or saturated: the seconds for which causes are looked for. An interval in which no
// device was remains whole. It only chooses the time that is looked at: whether that device has to do with
// the stalls is decided by whole intervals.
func (c *Case) Pinpoint(all []Stall) {
	for i := range all {
		s := &all[i]
		if !s.IsDatabase || !s.Any() || s.PeriodS < coarseFromS {
			continue
		}

		busy := c.devicesWaited(all, s.PeriodS/pinpointFactor)
		narrow := make(timeline.Mask, c.Grid.N)
		for _, e := range c.intervals(s.Cells, s.PeriodS) {
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

// devicesWaited is where requests of some device were slow or queued, by samples at most so many seconds
// apart.
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
