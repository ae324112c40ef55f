package random

import (
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func mustZipf(t testing.TB, n uint64, theta float64) *Zipf {
	z, err := NewZipf(n, theta)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// shares returns the probability of each cell as the alias table draws it.
func (z *Zipf) shares() []float64 {
	n := float64(len(z.cells))
	out := make([]float64, len(z.cells))
	for i, c := range z.cells {
		keep := float64(c.keep) / (1 << 64)
		out[i] += keep / n
		out[c.alias] += (1 - keep) / n
	}
	return out
}

// The table's probabilities must match the sums they stand for, computed rank by rank.
func TestZipfCellsAreExact(t *testing.T) {
	for _, theta := range []float64{0.01, 0.5, 0.99, 1, 1.5, ZipfThetaMax} {
		for _, n := range []uint64{1, 2, 10, zipfHead, zipfHead + 1, 400_000} {
			z := mustZipf(t, n, theta)
			var all float64
			for k := n; k >= 1; k-- {
				all += math.Pow(float64(k), -theta)
			}

			shares := z.shares()
			for i, got := range shares {
				first, width := uint64(i)+1, uint64(1)
				if i >= int(z.head) {
					first, width = z.blocks[i-int(z.head)].first, z.blocks[i-int(z.head)].width
				}

				var want float64
				for k := first; k < first+width; k++ {
					want += math.Pow(float64(k), -theta)
				}

				want /= all

				// The table rounds to 2^-50 of the whole.
				if math.Abs(got-want) > 1e-11*want+2e-15 {
					t.Fatalf("theta %g, %d items: ranks %d ... have %.17g of the draws, want %.17g", theta, n, first, got, want)
				}
			}

			if n > zipfHead {
				if last := z.blocks[len(z.blocks)-1]; last.first+last.width-1 != n {
					t.Errorf("%d items: the last block ends at %d", n, last.first+last.width-1)
				}
			}
		}
	}
}

// chiSquared compares counts with the expected ones and fails at five standard deviations above the
// mean of the statistic, which has as many degrees of freedom as there are counts, minus one. The
// seeds are fixed: it passes always or never.
func chiSquared(t *testing.T, name string, got, want []float64) {
	t.Helper()
	var x, dof float64
	dof = -1
	for i := range got {
		if want[i] < 5 { // the usual rule: below this, the approximation fails
			t.Fatalf("%s: %v expected in class %d are too few to judge", name, want[i], i)
		}
		x += (got[i] - want[i]) * (got[i] - want[i]) / want[i]
		dof++
	}
	if math.Abs(x-dof) > 5*math.Sqrt(2*dof) {
		t.Errorf("%s: chi-squared %.0f with %.0f degrees of freedom", name, x, dof)
	}
}

func TestZipfDraws(t *testing.T) {
	const draws = 300_000
	for _, tt := range []struct {
		n     uint64
		theta float64
	}{{1, 0.99}, {10, 0.99}, {1000, 0.99}, {5000, 0.5}, {100_000, 0.01}, {100_000, 1}, {500_000, 0.99}} {
		z := mustZipf(t, tt.n, tt.theta)
		s := Seed(3).Stream(fmt.Sprint("zipf", tt.n))

		// Classes of ranks: one rank each at first, then 37 % wide, for as long as enough draws are
		// expected.
		var bounds []uint64 // first rank of each class
		for b := uint64(0); b < tt.n; b += 1 + b*3/8 {
			bounds = append(bounds, b)
		}

		class := make([]int, tt.n)
		want := make([]float64, len(bounds))

		var all float64
		for k := range tt.n {
			i := 0
			if k > 0 {
				i = class[k-1]
			}
			if i+1 < len(bounds) && bounds[i+1] == k {
				i++
			}
			class[k] = i
			w := math.Pow(float64(k+1), -tt.theta)
			want[i] += w
			all += w
		}

		got := make([]float64, len(bounds))
		for range draws {
			got[class[z.Draw(s)]]++
		}

		for i := range want {
			want[i] *= draws / all
		}

		// The classes at the head of a flat distribution are too small: join them.
		for len(want) > 1 && want[0] < 20 {
			want[1] += want[0]
			got[1] += got[0]
			want, got = want[1:], got[1:]
		}

		chiSquared(t, fmt.Sprintf("theta %g over %d", tt.theta, tt.n), got, want)
	}
}

// Within one wide block, ranks occur in proportion to their probabilities: the rejection is correct.
func TestZipfWithinABlock(t *testing.T) {
	const theta, n, classes = 5, 1 << 30, 8
	z := mustZipf(t, n, theta)
	b := z.blocks[len(z.blocks)-40]
	only := &Zipf{items: n, theta: theta, cells: []zipfCell{{keep: math.MaxUint64}}, blocks: []zipfRange{b}}
	s := Seed(1).Stream("block")
	var got, want [classes]float64

	var all float64
	for k := b.first; k < b.first+b.width; k += max(1, b.width/100_000) {
		w := math.Pow(float64(k)/float64(b.first), -theta)
		want[(k-b.first)*classes/b.width] += w
		all += w
	}

	const draws = 400_000
	for range draws {
		got[(only.Draw(s)+1-b.first)*classes/b.width]++
	}

	for i := range want {
		want[i] *= draws / all
	}

	chiSquared(t, "a block", got[:], want[:])
	if spread := want[0] / want[classes-1]; spread < 1.05 {
		t.Errorf("the block is so flat (%v) that this shows nothing", spread)
	}
}

func TestZipfIsForever(t *testing.T) {
	h := fnv.New64a()
	for _, n := range []uint64{1, 7, 5000, 1 << 33} {
		for _, theta := range []float64{0.5, 0.99, 1.2} {
			s := Seed(1).Stream("zipf")
			z, p := mustZipf(t, n, theta), NewScramble(n, s)
			for range 20_000 {
				fmt.Fprintln(h, p.At(z.Draw(s)))
			}
		}
	}
	if got, want := fmt.Sprintf("%x", h.Sum64()), "a97583bb7560461d"; got != want {
		t.Errorf("the ranks of seed 1 are others than ever before: %s, want %s", got, want)
	}
}

func TestZipfRefuses(t *testing.T) {
	for _, tt := range []struct {
		n     uint64
		theta float64
	}{{0, 1}, {ZipfItemsMax + 1, 1}, {10, 0}, {10, -1}, {10, math.NaN()}, {10, ZipfThetaMax + 1}} {
		if _, err := NewZipf(tt.n, tt.theta); err == nil {
			t.Errorf("%d items and theta %g are taken", tt.n, tt.theta)
		}
	}
}

func TestLnAndExp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-300, 1e300).Draw(t, "x")
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 1e-15*math.Abs(want)+1e-16 {
			t.Errorf("ln %g = %.17g, want %.17g", x, got, want)
		}
		y := rapid.Float64Range(-690, 690).Draw(t, "y")
		if got, want := Exp(y), math.Exp(y); math.Abs(got-want) > 1e-15*want {
			t.Errorf("exp %g = %.17g, want %.17g", y, got, want)
		}
	})
}

func TestScrambleIsAPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 5000).Draw(t, "n")
		p := NewScramble(n, Seed(rapid.Uint64().Draw(t, "seed")).Stream("scramble"))
		seen := make([]bool, n)
		for i := range n {
			k := p.At(i)
			if k >= n || seen[k] {
				t.Fatalf("%d of %d -> %d, which is outside or had before", i, n, k)
			}
			seen[k] = true
		}
	})
}

// The most popular ranks are spread over pages at random: uniformly, by chi-squared over the keys,
// and without the order of their ranks.
func TestScrambleSpreads(t *testing.T) {
	const n, hot, parts = 10_000_000, 20_000, 100
	var got, want [parts]float64
	p := NewScramble(n, Seed(5).Stream("scramble"))
	ascending := 0.0

	before := uint64(0)
	for i := range uint64(hot) {
		k := p.At(i)
		got[k*parts/n]++
		if k > before {
			ascending++
		}
		before = k
	}

	for i := range want {
		want[i] = hot / parts
	}

	chiSquared(t, "spread", got[:], want[:])

	// Half the steps of independent numbers ascend; the standard deviation is sqrt(n/12).
	if math.Abs(ascending-hot/2) > 5*math.Sqrt(hot/12.0) {
		t.Errorf("%.0f of %d steps ascend", ascending, hot)
	}
}

func BenchmarkZipf(b *testing.B) {
	z := mustZipf(b, 10_000_000, 0.99)
	s := Seed(1).Stream("zipf")
	p := NewScramble(z.Items(), s)
	b.ReportAllocs()
	var sum uint64
	for b.Loop() {
		sum += p.At(z.Draw(s))
	}
	_ = sum
}
