package volume

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
)

// The draws match the published figures, to the precision of 400,000 draws.
func TestCalibrations(t *testing.T) {
	const draws = 400_000
	for _, c := range []*Calibration{
		&GP3, &GP2, &IO2BlockExpress, &LocalNVMeRead, &LocalNVMeWrite, &HDD,
		&PremiumV2, &UltraDisk, &PremiumSSDRead, &PremiumSSDWrite, &PDSSD,
	} {
		latency := c.Latency()
		chance := random.Seed(1).Stream(c.Name)
		drawn := make([]units.Duration, draws)

		var sum, squares float64
		for i := range drawn {
			d := latency.Draw(chance)
			drawn[i] = d
			sum += float64(d)
			squares += float64(d) * float64(d)
		}

		slices.Sort(drawn)
		mean := sum / draws
		is := map[string]float64{
			"mean": mean, "deviation": math.Sqrt(squares/draws - mean*mean), "min": float64(drawn[0]),
			"p99": float64(drawn[draws*99/100]), "p99.9": float64(drawn[draws*999/1000]), "max": float64(drawn[draws-1]),
		}

		for _, f := range []struct {
			name      string
			published units.Duration
			within    float64
		}{
			{"mean", c.Mean, .03}, {"deviation", c.Deviation, .05}, {"min", c.Min, .03},
			{"p99", c.P99, .03}, {"p99.9", c.P999, .03}, {"max", c.Max, .05},
		} {
			was, said := is[f.name], float64(f.published)
			published := "-"
			if f.published != 0 {
				published = fmt.Sprintf("%.3f ms", said/1e6)
			}

			t.Logf("%-18s %-9s published %10s, drawn %8.3f ms", c.Name, f.name, published, was/1e6)
			switch {
			case f.published == 0:
			case f.name == "mean" && c.MeanBelow:
				if was >= said {
					t.Errorf("%s: mean of %.0f us, published as below %.0f", c.Name, was/1e3, said/1e3)
				}
			case math.Abs(was/said-1) > f.within:
				t.Errorf("%s: %s of %.0f us, published %.0f", c.Name, f.name, was/1e3, said/1e3)
			}
		}

		if m := float64(latency.Mean()); math.Abs(m/mean-1) > .005 {
			t.Errorf("%s: Mean says %v, drawn %.0f ns", c.Name, latency.Mean(), mean)
		}
	}
}

// Two consecutive writes on Premium SSD take as long as syncs measured in Azure's regions.
func TestPremiumSSDSyncs(t *testing.T) {
	const draws = 400_000
	latency, chance := PremiumSSDWrite.Latency(), random.Seed(1).Stream("syncs")
	syncs := make([]units.Duration, draws)

	var sum units.Duration
	for i := range syncs {
		syncs[i] = latency.Draw(chance) + latency.Draw(chance)
		sum += syncs[i]
	}

	slices.Sort(syncs)
	for _, f := range []struct {
		name     string
		took     units.Duration
		from, to units.Duration // of the regions
	}{
		{"mean", sum / draws, 2320 * us, 4330 * us},
		{"p99", syncs[draws*99/100], 5590 * us, 9800 * us},
		{"p99.99", syncs[draws*9999/10_000], 16_750 * us, 31_230 * us},
	} {
		t.Logf("a sync's %s: %v, in the regions %v to %v", f.name, f.took, f.from, f.to)
		if f.took < f.from || f.took > f.to {
			t.Errorf("a sync's %s is %v, in the regions %v to %v", f.name, f.took, f.from, f.to)
		}
	}
}

// io2's promise about outliers, compared with gp3's distribution.
func TestIO2HasFewerOutliers(t *testing.T) {
	over := func(l Latency) float64 {
		lo, hi := 0.0, 1.0
		for range 40 {
			if mid := (lo + hi) / 2; l.Quantile(units.Ratio(mid)) < 800*us {
				lo = mid
			} else {
				hi = mid
			}
		}
		return 1 - lo
	}

	gp3, io2 := over(GP3.Latency()), over(IO2BlockExpress.Latency())
	t.Logf("over 800 us: gp3 %.2f %%, io2 %.2f %%", 100*gp3, 100*io2)
	if io2*10 > gp3 {
		t.Errorf("io2 %.4f, gp3 %.4f: not ten times fewer", io2, gp3)
	}
}

// A distribution goes through its quantiles, to the resolution of its table, and stays between the
// first and the last.
func TestLatencyGoesThroughItsQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		var quantiles []Quantile

		share, takes := 0, 0
		for range n {
			share += rapid.IntRange(1, 120).Draw(t, "share")
			takes += rapid.IntRange(0, 10_000_000).Draw(t, "takes")
			quantiles = append(quantiles, Quantile{units.Ratio(share) / 1000, units.Duration(takes)})
		}

		l, err := NewLatency(quantiles...)
		if err != nil {
			t.Fatal(err)
		}

		first, last := quantiles[0], quantiles[n-1]
		for _, q := range quantiles {
			near := units.Ratio(1.0 / 256)
			if got := l.Quantile(q.Share - near); q.Share > near && got > q.Takes {
				t.Fatalf("%v a cell before quantile %v, which is %v", got, float64(q.Share), q.Takes)
			}
			if got := l.Quantile(q.Share + near); got < q.Takes {
				t.Fatalf("%v a cell after quantile %v, which is %v", got, float64(q.Share), q.Takes)
			}
		}

		s := random.Seed(rapid.Uint64().Draw(t, "seed")).Stream("x")
		for range 100 {
			if d := l.Draw(s); d < first.Takes || d > last.Takes {
				t.Fatalf("%v drawn, from %v to %v", d, first.Takes, last.Takes)
			}
		}

		if l.Quantile(0) != first.Takes || l.Quantile(1) != last.Takes {
			t.Fatalf("from %v to %v, want %v to %v", l.Quantile(0), l.Quantile(1), first.Takes, last.Takes)
		}
	})
}

// The tail has a resolution of a millionth, so the latency of one request in ten thousand is not
// smeared.
func TestLatencyTail(t *testing.T) {
	l, err := NewLatency(Quantile{0, 1000}, Quantile{.9998, 1000}, Quantile{.9999, 1_000_000}, Quantile{1, 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := l.Quantile(.9997), l.Quantile(.99995); a != 1000 || b != 1_000_000 {
		t.Errorf("%v and %v around one in ten thousand", a, b)
	}
	if l.Scaled(2).Quantile(.5) != 2000 || Constant(7).Quantile(.3) != 7 || (Latency{}).Quantile(.5) != 0 {
		t.Error("a scaled, constant or absent latency has a wrong quantile")
	}
}

func TestLatencyRefuses(t *testing.T) {
	for want, quantiles := range map[string][]Quantile{
		"quantile 1.5 out of range":     {{1.5, 1}},
		"quantile NaN out of range":     {{units.Ratio(math.NaN()), 1}},
		"to 1h":                         {{.5, -1}},
		"0.5 after 0.5: want ascending": {{.5, 1}, {.5, 2}},
		"less than":                     {{.5, 2}, {.6, 1}},
	} {
		if _, err := NewLatency(quantiles...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", quantiles, err, want)
		}
	}
}
