package random

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"
	"time"
)

// Changing these numbers changes every published result.
func TestStreamIsForever(t *testing.T) {
	s := Seed(1).Stream("volumes.data.latency")
	h := fnv.New64a()
	for range 100_000 {
		fmt.Fprintln(h, s.Uint64(), s.Below(1000), s.Float(), s.Exponential(time.Second))
	}
	if got, want := fmt.Sprintf("%x", h.Sum64()), "db2298fb2278ae99"; got != want {
		t.Errorf("the numbers of seed 1 are others than ever before: %s, want %s", got, want)
	}
}

func TestNamesAreIndependent(t *testing.T) {
	a, b := Seed(1).Stream("a"), Seed(1).Stream("b")
	var products, n float64 = 0, 100_000
	for range int(n) {
		products += (a.Float() - 0.5) * (b.Float() - 0.5)
	}
	// The correlation of n independent pairs is 0 with a standard deviation of 1/sqrt(n).
	if r := products / n * 12; math.Abs(r) > 5/math.Sqrt(n) {
		t.Errorf("correlation of two streams: %v", r)
	}
}

func TestLogarithms(t *testing.T) {
	for i, got := range lnTable {
		want := -math.Log(0.5+float64(i)/(1<<(lnBits+1))) * (1 << 32)
		if math.Abs(float64(got)-want) > 4 {
			t.Fatalf("-ln of entry %d: %d, want %.0f", i, got, want)
		}
	}
}

func TestExponential(t *testing.T) {
	const n = 1_000_000
	s := Seed(7).Stream("x")
	var sum, squares float64

	tails := [4]int{}
	for range n {
		x := s.Exponential(time.Millisecond).Seconds() * 1e3
		sum += x
		squares += x * x
		for i := range tails {
			if x > float64(int(1)<<i) {
				tails[i]++
			}
		}
	}

	// Five standard deviations of each estimate: the seed is fixed, so it passes always or never.
	if mean := sum / n; math.Abs(mean-1) > 0.005 {
		t.Errorf("mean %v", mean)
	}

	if m2 := squares / n; math.Abs(m2-2) > 0.025 {
		t.Errorf("second moment %v", m2)
	}

	for i, got := range tails {
		p := math.Exp(-float64(int(1) << i))
		if math.Abs(float64(got)-n*p) > 5*math.Sqrt(n*p) {
			t.Errorf("beyond %d means: %d, want %.0f", 1<<i, got, n*p)
		}
	}
}

func BenchmarkExponential(b *testing.B) {
	s := Seed(7).Stream("x")
	for range b.N {
		s.Exponential(time.Millisecond)
	}
}
