//go:build linux

package trace_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// latencies is a histogram of latencies, in classes of half a percent.
type latencies map[int]int

// latencyClass is the ratio of adjacent latency classes.
const latencyClass = 1.005

func latenciesOf(all []time.Duration) latencies {
	l := latencies{}
	for _, d := range all {
		l[classOf(d.Seconds())]++
	}
	return l
}

// classOf returns the class of a latency in seconds.
func classOf(seconds float64) int {
	return int(math.Round(math.Log(max(seconds, 1e-9)) / math.Log(latencyClass)))
}

func (l latencies) add(o latencies) {
	for class, n := range o {
		l[class] += n
	}
}

func (l latencies) count() (n int) {
	for _, x := range l {
		n += x
	}
	return n
}

// quantile returns a quantile in seconds.
func (l latencies) quantile(q float64) float64 {
	classes := slices.Sorted(maps.Keys(l))
	left := int(q * float64(l.count()))
	for _, class := range classes {
		if left -= l[class]; left < 0 {
			return math.Pow(latencyClass, float64(class))
		}
	}
	return 0
}

// pooled reports by how many percent the quantiles of all operations with a trace differ from those
// without, with a 95 % confidence interval from resampling the pairs (bootstrap); and how many
// pairs an interval of ±2 % would need.
func pooled(kind string, without, with []measurement) string {
	const draws = 1000
	rng := rand.New(rand.NewPCG(1, 1))
	qs := []float64{0.1, 0.5, 0.9, 0.99}
	ratios := func(pick func(i int) int) []float64 {
		sums := [2]latencies{{}, {}}
		for i := range with {
			k := pick(i)
			sums[0].add(without[k].latencies[kind])
			sums[1].add(with[k].latencies[kind])
		}
		var out []float64
		for _, q := range qs {
			out = append(out, 100*(sums[1].quantile(q)/sums[0].quantile(q)-1))
		}
		return out
	}

	at := ratios(func(i int) int { return i })
	all := latencies{} // without a trace
	for i := range without {
		all.add(without[i].latencies[kind])
	}

	drawn := make([][]float64, len(qs))
	for range draws {
		for i, r := range ratios(func(int) int { return rng.IntN(len(with)) }) {
			drawn[i] = append(drawn[i], r)
		}
	}

	text := fmt.Sprintf("    all %s (%d without a trace):", kind, all.count())
	for i, q := range qs {
		slices.Sort(drawn[i])
		low, high := drawn[i][draws*25/1000], drawn[i][draws*975/1000]
		half := (high - low) / 2
		text += fmt.Sprintf(" p%g %.1f us %+.1f %% (%+.1f to %+.1f; %.0f pairs for 2 %%)", 100*q, 1e6*all.quantile(q), at[i], low, high, float64(len(with))*half*half/4)
	}

	return text
}

// The quantiles of the histogram are those of the latencies.
func TestPooledLatencies(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(i+1)*time.Microsecond)
	}
	l := latenciesOf(all[:500])
	l.add(latenciesOf(all[500:]))
	for q, want := range map[float64]float64{0.5: 500e-6, 0.99: 990e-6} {
		if got := l.quantile(q); got < want*0.99 || got > want*1.01 {
			t.Errorf("%g: %g, want %g", q, got, want)
		}
	}
}
