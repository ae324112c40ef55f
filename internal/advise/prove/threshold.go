package prove

import (
	"math"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/timeline"
)

// evenThresholds judges both sides' stalled time by the threshold of the recording before. By default a
// threshold follows from what is usual in its own recording. If all operations get ten times faster, so
// does the threshold, and waits that used to be ordinary would count as stalls.
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

// stalled is stalled seconds an hour of watched time.
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

// stallAssumedS is how long a stall lasts that was not seen, in seconds, if neither recording has one. It
// only bounds what a recording without stalls can prove. Assumed: the stalls of cases.md's databases
// last from 1 to 20 s.
const stallAssumedS = 10

// expectStalls gives both sides the length of the longest stall in either of them.
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

// noneSeen is the upper end of the interval of a rate of events of which none was seen: with n of them
// expected, none is seen with the probability exp(-n), so n is at most -ln(alpha). At 95 % that is 3.0,
// the rule of three (Hanley, Lippman-Hand, JAMA 249 (1983) 1743-1745). oneEvent is the rate that one
// event would have made.
func noneSeen(oneEvent, alpha float64) float64 { return -math.Log(alpha) * oneEvent }
