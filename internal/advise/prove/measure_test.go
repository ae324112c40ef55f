package prove

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
)

// A percentile is the smallest value that leaves at most its share of the operations above, with
// each unit's operations counted as often as the unit.
func TestPercentileIsThatOfAllOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "units")
		p := partition{n: n}

		var values, weights []float64
		for range rapid.IntRange(n, 40).Draw(t, "cells") {
			p.unit = append(p.unit, int32(rapid.IntRange(-1, n-1).Draw(t, "unit")))
			values = append(values, float64(rapid.IntRange(1, 9).Draw(t, "value")))
			weights = append(weights, float64(rapid.IntRange(0, 3).Draw(t, "weight")))
		}

		times := make([]int32, n)
		for i := range times {
			times[i] = int32(rapid.IntRange(0, 3).Draw(t, "times"))
		}

		var all []float64
		for k, u := range p.unit {
			if u >= 0 {
				for range int(weights[k]) * int(times[u]) {
					all = append(all, values[k])
				}
			}
		}

		q := rapid.SampledFrom([]float64{0.5, 0.75}).Draw(t, "q") // shares that are exact in binary
		got := newPercentile(p, q, values, weights).estimate(times)
		if len(all) == 0 {
			if !math.IsNaN(got) {
				t.Fatalf("the percentile of no values is %g", got)
			}
			return
		}

		slices.Sort(all)
		above := int(math.Floor((1 - q) * float64(len(all))))
		if want := all[len(all)-1-above]; got != want {
			t.Fatalf("%g of %v is %g, want %g", q, all, got, want)
		}
	})
}

// A histogram's percentile is interpolated within its class, over the sum of the units.
func TestHistogram(t *testing.T) {
	h := &histogram{q: 0.99, edges: []float64{0.001, 0.002, math.Inf(1)}, upTo: [][]float64{{90, 100, 100}, {100, 100, 100}}}
	if got := h.estimate(once(2)); math.Abs(got-0.0018) > 1e-12 { // rank 198 of 200: 8 of the 10 in the second class
		t.Errorf("p99 is %g, want 0.0018", got)
	}
	if got := h.estimate([]int32{0, 1}); math.Abs(got-0.00099) > 1e-12 {
		t.Errorf("p99 of the second unit is %g, want 0.00099", got)
	}
	h.upTo[0][1] = 90 // ten above the last finite bound
	if got := h.estimate(once(2)); got != 0.002 {
		t.Errorf("p99 beyond the last edge is %g, want that edge", got)
	}
}

// For two sides that differ as much as possible, the permutation test returns the share of orders
// that are as extreme: 2 of 924.
func TestPermutationIsExact(t *testing.T) {
	low := &quotient{num: []float64{1, 2, 3, 4, 5, 6}, den: ones(6)}
	high := &quotient{num: []float64{11, 12, 13, 14, 15, 16}, den: ones(6)}
	const n = 100_000
	got := permute(low, high, 1, n, random.Seed(1).Stream("x"))
	if want := 2.0 / 924; math.Abs(got-want) > 4*math.Sqrt(want/n) {
		t.Errorf("p is %.5f, want about %.5f", got, want)
	}
	if got := permute(low, low, 1, 99, random.Seed(1).Stream("x")); got != 1 {
		t.Errorf("p of no difference is %g, want 1", got)
	}
}

// A run is one unit if units are independent, and longer the longer the dependence between them lasts.
func TestBlockLength(t *testing.T) {
	series := func(memory float64) []float64 {
		next := noise(random.Seed(7).Stream("x"), memory)
		out := make([]float64, 2000)
		for i := range out {
			out[i] = next()
		}
		return out
	}

	none, some, much := blockLength(series(0)), blockLength(series(0.5)), blockLength(series(0.95))
	if none > 2 || some < 5 || much < 3*some {
		t.Errorf("runs of %d without memory, %d with some, %d with much", none, some, much)
	}

	if got := blockLength(make([]float64, 100)); got != 1 {
		t.Errorf("runs of %d without any variation", got)
	}
}

// If a percentile's operations fell into one cycle of seven, nothing bounds it from above.
func TestPercentileOfOneCycleHasNoUpperEnd(t *testing.T) {
	p := byLength(420, 60)
	values, weights := ones(420), ones(420)
	for k := range 6 {
		values[k] = 50
	}
	m := newPercentile(p, 0.99, values, weights)
	s, reach := m.spread(m.estimate(once(7)), 0.05, critical(0.05, 7), func(q *quotient) float64 {
		return deviation(bootstrap(q, 1, 999, random.Seed(1).Stream("x")))
	})
	if s.value != 50 || s.low != 1 || !math.IsInf(s.high, 1) || reach < 1 {
		t.Errorf("%+v, reach %g", s, reach)
	}
}

func TestDevices(t *testing.T) {
	type shares = map[string]float64
	for _, c := range []struct {
		name          string
		before, after shares
		want          [2]string
	}{
		{"the host's disk was busier before, with a backup", shares{"vda": 0.6, "nvme1n1": 0.4}, shares{"vda": 0.1, "nvme1n1": 0.9}, [2]string{"nvme1n1", "nvme1n1"}},
		{"the journal went to a volume of its own", shares{"vda": 0.1, "nvme1n1": 0.9}, shares{"nvme1n1": 0.45, "nvme2n1": 0.5, "vda": 0.05}, [2]string{"nvme1n1", "nvme1n1"}},
		{"the data went to another volume", shares{"vda": 0.1, "nvme1n1": 0.9}, shares{"vda": 0.1, "nvme2n1": 0.9}, [2]string{"nvme1n1", "nvme2n1"}},
		{"one has no devices", shares{}, shares{"nvme1n1": 1}, [2]string{"", "nvme1n1"}},
	} {
		if before, after := devices(c.before, c.after); before != c.want[0] || after != c.want[1] {
			t.Errorf("%s: %s, %s", c.name, before, after)
		}
	}
}
