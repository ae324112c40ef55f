package prove

import (
	"context"
	"slices"
	"sync"
	"testing"

	"plimsoll/internal/base/random"
	"plimsoll/internal/record/timeline"
)

// few is a number of resamples that suffices for a verdict on thirteen figures: the smallest p is 1/500,
// which Holm's correction turns into 0.026.
var few = Options{Confidence: confidenceDefault, Resamples: 499}

// underRace says that the race detector is on.
var underRace bool

// reports compares n pairs of synthetic recordings, each with its own seeds.
func reports(t *testing.T, n int, pair func(i int) (before, after made)) []*Report {
	t.Helper()
	if underRace {
		t.Skip("hundreds of comparisons are ten times as slow under the race detector: the tests without it make them")
	}

	out := make([]*Report, n)
	var wg sync.WaitGroup
	for part := range 2 {
		wg.Go(func() {
			for i := part; i < n; i += 2 {
				a, b := pair(i)
				a.seed, b.seed = random.Seed(2*i+1), random.Seed(2*i+2)
				r, err := compare(context.Background(), a.side("before"), b.side("after"), few)
				if err != nil {
					t.Error(err)
					return
				}
				out[i] = r
			}
		})
	}

	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}

	return out
}

// For two recordings of the same system, reports contain a false verdict no more often than stated.
func TestFalseVerdicts(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		made made
	}{
		{"7 cycles", 200, made{cells: 485, every: 60}},
		{"20 cycles", 100, made{cells: 620, every: 30}},
		{"no cycles", 60, made{cells: 300}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wrong, changed, figures := 0, 0, 0
			for _, r := range reports(t, c.n, func(int) (before, after made) { return c.made, c.made }) {
				if slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Verdict != CantTell && f.Verdict != NoChange }) {
					wrong++
				}
				for _, f := range r.Figures {
					figures++
					if f.Verdict == NoChange {
						changed++
					}
				}
			}

			stated := 1 - confidenceDefault
			t.Logf("%d of %d reports contain a false verdict (stated: %.0f %%); %d of %d figures are reported as unchanged", wrong, c.n, 100*stated, changed, figures)
			if binomialTail(wrong, c.n, stated) < 1e-3 {
				t.Errorf("%d of %d reports contain a false verdict, which is hardly possible at %.0f %%", wrong, c.n, 100*stated)
			}
		})
	}
}

// A change of 30 % in p99 is found, given enough cycles; the checkpoint, which is the same, is
// reported as different no more often than stated.
func TestPower(t *testing.T) {
	const n = 20
	found, wrong := 0, 0
	for _, r := range faster(t, n, 240) {
		if figure(r, "write_p99").Verdict == Better && r.Verdict == Better {
			found++
		}
		if v := figure(r, "checkpoint").Verdict; v == Better || v == Worse {
			wrong++
		}
	}

	t.Logf("240 cycles: found in %d of %d; %d false", found, n, wrong)
	if binomialTail(wrong, n, 1-confidenceDefault) < 1e-3 {
		t.Errorf("the checkpoint is called other in %d of %d reports", wrong, n)
	}

	if found < n*9/10 {
		t.Errorf("write p99 is called better in %d of %d reports", found, n)
	}
}

// faster compares recordings with this many cycles; everything in the later one takes 30 % less time.
func faster(t *testing.T, n, cycles int) []*Report {
	t.Helper()
	m := made{cells: 30*cycles + 31, every: 30}
	return reports(t, n, func(int) (before, after made) { after = m; after.slower = 0.7; return m, after })
}

// A recording of the advised length is about long enough: four in five then give a verdict.
func TestAdvice(t *testing.T) {
	const n, cycles = 30, 40
	var asked []float64
	for _, r := range faster(t, n, cycles) {
		if a := figure(r, "write_p99").Record; a != nil {
			asked = append(asked, float64(a.Units))
		}
	}

	if len(asked) < n/3 {
		t.Fatalf("%d of %d undecided: too few to check their advice", len(asked), n)
	}

	enough := int(timeline.Quantile(asked, 0.5))
	found := 0
	for _, r := range faster(t, n, enough) {
		if figure(r, "write_p99").Verdict == Better {
			found++
		}
	}

	t.Logf("%d cycles ask for %d; with these, %d of %d give a verdict", cycles, enough, found, n)
	if enough <= cycles || binomialTail(n-found, n, 0.4) < 1e-3 {
		t.Errorf("%d cycles ask for %d, but with these only %d of %d give a verdict", cycles, enough, found, n)
	}
}

// The interval of a value contains the value of an infinite recording, at about the stated
// confidence: with seven cycles it misses in one of fourteen cases instead of one of twenty.
func TestCoverage(t *testing.T) {
	truth := map[string]float64{}
	endless := made{seed: 99, cells: 100_000, every: 60}.side("before")
	endless.cut, _ = cut(endless.c, endless.c)
	endless.device = busiest(movedShares(endless.c))

	for _, x := range both(endless, endless, &Report{}) {
		truth[x.figure.Name] = x.before.estimate(once(x.before.units()))
	}

	for _, c := range []struct {
		cells, n int
		stated   float64 // probability of a miss that the test allows
	}{
		{485, 100, 0.08}, {1285, 60, 0.08},
	} {
		missed := map[string]int{}
		m := made{cells: c.cells, every: 60}
		for _, r := range reports(t, c.n, func(int) (before, after made) { return m, m }) {
			for _, f := range r.Figures {
				if f.P == nil {
					continue // too few units for one
				}
				if x := truth[f.Name]; x < *f.After.Low || f.After.High != nil && x > *f.After.High {
					missed[f.Name]++
				}
			}
		}

		t.Logf("%d s: missed by %v of %d intervals", c.cells, missed, c.n)
		for name, k := range missed {
			if binomialTail(k, c.n, c.stated) < 1e-3 {
				t.Errorf("%d s: %d of %d intervals of %s miss", c.cells, k, c.n, name)
			}
		}
	}
}
