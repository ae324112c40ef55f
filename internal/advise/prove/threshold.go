package prove

import (
	"math"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/timeline"
)

// evenThresholds judges both sides' stalled time by the threshold of the recording before. By default, each
// recording's threshold is derived from its own usual values. If all operations became ten times faster, so
// would the threshold, and waits that used to be ordinary would count as stalls.
func evenThresholds(a, b *side) {
	threshold := a.c.Stall.Threshold
	if threshold <= 0 || a.c.Stall.Rule != b.c.Stall.Rule || b.c.Stall.Threshold <= 0 {
		return // judged by throughput, or by different operations
	}

	for _, s := range []*side{a, b} {
		if s.c.Stall.Threshold != threshold || len(s.c.Stall.Thresholds) > 0 {
			s.c = diagnose.AtThreshold(s.c, threshold)
		}
	}
}

// stalled reads the stalled seconds per hour of observed time.
func stalled(s *side) measure {
	if s.c.Stall.Rule == "" || s.c.Stall.Observed.Count() == 0 {
		return nil
	}

	num, den := make([]float64, s.c.Grid.N), make([]float64, s.c.Grid.N)
	for k := range num {
		if s.c.Stall.Observed[k] {
			den[k] = 1
		}
		if s.c.Stall.Cells[k] {
			num[k] = 3600
		}
	}

	q := newQuotient(s.cut, num, den).(*quotient)
	step := s.c.Grid.StepSeconds()
	if observed := timeline.Sum(q.den) * step; observed > 0 {
		q.oneEvent = 3600 * max(s.longestStallS, step) / observed
	}

	return q
}

// stallAssumedS is the assumed length of a stall in seconds if neither recording has one. It only bounds
// what a recording without stalls can prove. The stalls of the databases in cases.md last 1 to 20 s.
const stallAssumedS = 10

// expectStalls sets both sides' expected length of a stall to that of the longest stall in either.
func expectStalls(a, b *side) {
	longest := 0.0
	for _, s := range []*side{a, b} {
		for _, e := range s.c.Stall.Cells.Episodes() {
			longest = max(longest, float64(e.Cells())*s.c.Grid.StepSeconds())
		}
	}
	if longest == 0 {
		longest = stallAssumedS
	}
	a.longestStallS, b.longestStallS = longest, longest
}

// noneSeen returns the upper end of the interval for the rate of events if none was observed: with n events
// expected, the probability of observing none is exp(-n), so n is at most -ln(alpha). At 95 % that is 3.0,
// the rule of three (Hanley, Lippman-Hand, JAMA 249 (1983) 1743-1745). oneEvent is the rate that a single
// event would have caused.
func noneSeen(oneEvent, alpha float64) float64 { return -math.Log(alpha) * oneEvent }
