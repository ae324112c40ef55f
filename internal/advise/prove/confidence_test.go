package prove

import (
	"context"
	"testing"

	"plimsoll/internal/base/units"
)

// At the highest confidence that the command accepts, a large change over many units is proved:
// there are enough permutations for the family of figures.
func TestHighConfidenceCanProve(t *testing.T) {
	for _, confidence := range []units.Ratio{0.95, 0.99, 0.999} {
		a := made{seed: 1, cells: 620, every: 30}
		b := made{seed: 2, cells: 620, every: 30, slower: 0.1}
		r, err := compare(context.Background(), a.side("before"), b.side("after"), Options{Confidence: confidence})
		if err != nil {
			t.Fatal(err)
		}
		if f := figure(r, "write_p50"); f.Verdict != Better {
			t.Errorf("%g: %s after %d resamples, p %g, corrected %g, advice %+v", confidence, f.Verdict, r.Method.Resamples, *f.P, *f.PAdjusted, f.Record)
		}
	}
}

// With too few units for the confidence, there is no verdict however different the sides are, and
// the advice states how many are needed.
func TestTooFewUnitsForTheConfidence(t *testing.T) {
	a := made{seed: 1, cells: 485, every: 60}
	b := made{seed: 2, cells: 485, every: 60, slower: 0.01}
	r, err := compare(context.Background(), a.side("before"), b.side("after"), Options{Confidence: 0.999})
	if err != nil {
		t.Fatal(err)
	}
	f := figure(r, "write_p50")
	if f.Verdict != CantTell || f.Record == nil || f.Record.For != "any verdict at this confidence" || f.Record.Units <= 7 || f.Record.Units > 20 {
		t.Errorf("%s, advice %+v", f.Verdict, f.Record)
	}
}

func TestRunsLeast(t *testing.T) {
	for alpha, want := range map[float64]int{0.05 / 13: 6, 0.05: 4, 0.001 / 15: 9} {
		if got := runsLeast(alpha); got != want {
			t.Errorf("%g: %d runs, want %d", alpha, got, want)
		}
	}
}
