package timeline_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/record/timeline"
)

// The level of a rate without a limit is hardly ever as sharp as that of a limit, however much the rate
// varies.
func TestPlateauChance(t *testing.T) {
	const tries, most = 200, 0.003
	for _, cv := range []float64{0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5} {
		for _, n := range []int{20, 60, 300} {
			accused := 0
			for seed := range tries {
				r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
				p, ok := timeline.FindPlateau(rates(r, n, cv), all(n), 0.05, 5, 1)
				if ok && p.Share >= 0.35 && p.Above <= 0.1 && p.Chance <= most {
					accused++
				}
			}
			if accused > tries/20 {
				t.Errorf("rates that vary by %g: %d of %d look like a limit in %d samples", cv, accused, tries, n)
			}
		}
	}

	r := rand.New(rand.NewPCG(1, 1))
	if p, ok := timeline.FindPlateau(rates(r, 30, 0.004), all(30), 0.05, 5, 1); !ok || p.Chance > most {
		t.Errorf("a limit is not recognized: %+v", p)
	}
}

// A sample that covers many cells counts once.
func TestPlateauCountsSamples(t *testing.T) {
	one := slices.Repeat([]float64{3000}, 15)
	if _, ok := timeline.FindPlateau(one, all(15), 0.05, 5, 15); ok {
		t.Error("one sample of 15 cells makes a plateau")
	}
	if _, ok := timeline.FindPlateau(one, all(15), 0.05, 5, 1); !ok {
		t.Error("15 samples make none")
	}
}

// A level that is exceeded in much of the saturated time is not a cap, however long the rest of the
// recording is.
func TestPlateauIsPassedInTheSaturatedTime(t *testing.T) {
	values, where := slices.Repeat([]float64{100}, 3600), make(timeline.Mask, 3600)
	for k := range 60 {
		where[k] = true
		if values[k] = 2000; k >= 24 {
			values[k] = 3000 + 80*float64(k-24)
		}
	}
	if p, ok := timeline.FindPlateau(values, where, 0.05, 5, 1); !ok || p.Above < 0.5 {
		t.Errorf("it is passed in %.0f %% of the saturated time", 100*p.Above)
	}
}

func rates(r *rand.Rand, n int, cv float64) []float64 {
	out := make([]float64, n)
	for k := range out {
		out[k] = max(0.1, 1+cv*r.NormFloat64()) * 2000
	}
	return out
}

func all(n int) timeline.Mask {
	m := make(timeline.Mask, n)
	for k := range m {
		m[k] = true
	}
	return m
}
