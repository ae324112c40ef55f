package prove

import (
	"math"
	"testing"

	"plimsoll/internal/base/random"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
	"plimsoll/internal/testkit"
)

// latencies gives a side the mean latency of each second's writes, and the stalled time that follows
// from them.
func (s *side) latencies(at func(k int) float64) *side {
	all := s.c.Tracks
	rate := s.c.One(testkit.Pack().Signal(rules.SignalPrefix + "mongodb_writes:rate"))

	latency, waiting := make([]float64, s.c.Grid.N), make([]float64, s.c.Grid.N)
	for k := range latency {
		latency[k] = at(k)
		waiting[k] = latency[k] * rate[k]
	}

	s.c.Tracks = func(of *rules.Signal) []timeline.Track {
		switch of.Name {
		case rules.SignalPrefix + "mongodb_write_latency:seconds":
			return []timeline.Track{{Values: latency}}
		case rules.SignalPrefix + "mongodb_write_waiting:ratio":
			return []timeline.Track{{Values: waiting}}
		}
		return all(of)
	}

	s.c.Stall.Subject = "MongoDB writes"
	s.c = diagnose.AtThreshold(s.c, 0)
	return s
}

// If ordinary operations become ten times faster, and the slowest three times, then less waiting in
// every second is not more stalled time.
func TestOneThresholdForBoth(t *testing.T) {
	every := func(usual, slow float64) func(int) float64 {
		return func(k int) float64 {
			if k%20 == 0 {
				return slow
			}
			return usual
		}
	}

	a := made{seed: 1, cells: 620}.side("before").latencies(every(0.018, 0.085))
	b := made{seed: 2, cells: 620}.side("after").latencies(every(0.0018, 0.028))
	if a.c.Stall.Any() || !b.c.Stall.Any() {
		t.Fatalf("by their own thresholds, %d cells before and %d after are stalled; want none and some", a.c.Stall.Cells.Count(), b.c.Stall.Cells.Count())
	}

	evenThresholds(a, b)
	r, err := compare(t.Context(), a, b, few)
	if err != nil {
		t.Fatal(err)
	}

	f := figure(r, "stalled")
	if f.Verdict == Worse || *f.After.Value != 0 || r.Before.ThresholdS != r.After.ThresholdS {
		t.Errorf("%+v; thresholds %g and %g", f, r.Before.ThresholdS, r.After.ThresholdS)
	}
}

// If stalls of 5 to 10 s occur at random and exceed the bound in total, a recording that happens to
// have none does not meet it.
func TestNoStallSeenIsNotNoStall(t *testing.T) {
	const n, seconds, bound, perHour = 400, 600, 30.0, 36.0
	require := Bound{name: "stalled", less: true, bound: bound}

	met, none := 0, 0
	for i := range n {
		chance := random.Seed(i + 1).Stream("stalls")
		s := &side{c: &rules.Case{}, cut: byLength(seconds, 1)}
		s.c.Time.Grid = timeline.Grid{StepMs: 1000, N: seconds}
		s.c.Stall = rules.Stall{Rule: "mongodb/slow-writes", Cells: make(timeline.Mask, seconds), Observed: make(timeline.Mask, seconds)}

		for k := range seconds {
			s.c.Stall.Observed[k] = true
			if chance.Float() < perHour/7.5/3600 {
				for j := k; j < min(k+5+int(chance.Below(6)), seconds); j++ {
					s.c.Stall.Cells[j] = true
				}
			}
		}

		if !s.c.Stall.Any() {
			none++
		}

		expectStalls(s, s)
		x := &pair{before: stalled(s), after: stalled(s), figure: Figure{Name: "stalled"}}
		x.estimate(&Report{}, few)

		if require.outcome(x.figure.After) == Met {
			met++
		}
	}

	t.Logf("%d of %d recordings have no stall; %d meet %g s/h, where the truth is %g s/h", none, n, met, bound, perHour)
	if none < n/10 {
		t.Fatalf("only %d recordings have no stall: this tests nothing", none)
	}

	if binomialTail(met, n, 1-confidenceDefault) < 1e-3 {
		t.Errorf("%d of %d recordings meet a bound that is not met", met, n)
	}
}

// With enough observed time, a recording without a stall meets a bound, and the advice states how
// much that is.
func TestNoStallForLongEnough(t *testing.T) {
	outcome := func(seconds int) (Outcome, *Advice) {
		b := Bound{name: "stalled", less: true, bound: 30}
		s := made{seed: 1, cells: seconds}.side("after")
		s.cut = byLength(seconds, 1)
		expectStalls(s, s)
		x := &pair{before: stalled(s), after: stalled(s), figure: Figure{Name: "stalled"}}
		x.estimate(&Report{Before: Side{UnitSeconds: 1}, After: Side{UnitSeconds: 1}}, few)
		return b.outcome(x.figure.After), x.adviseBound(b, 0.05)
	}

	got, advice := outcome(600)
	if got != CantTellYet || advice == nil || advice.Seconds < 3000 {
		t.Fatalf("ten minutes: %s, advice %+v", got, advice)
	}

	if got, _ := outcome(int(advice.Seconds) + 1); got != Met {
		t.Errorf("%g s as advised: %s", advice.Seconds, got)
	}
}

func TestNoneSeenIsTheRuleOfThree(t *testing.T) {
	if got := noneSeen(1, 0.05); math.Abs(got-3) > 0.01 {
		t.Errorf("at 95 %%, at most %g events are expected where none was seen, want 3", got)
	}
}
