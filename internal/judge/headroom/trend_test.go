package headroom

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The interval contains the slope about as often as it claims, with independent noise and with
// autocorrelated noise.
func TestSlopeIsInItsInterval(t *testing.T) {
	for _, rho := range []float64{0, 0.5} {
		rng := rand.New(rand.NewPCG(7, 8))
		const tries = 300

		within := 0
		for range tries {
			at, values := make([]float64, 80), make([]float64, 80)
			noise := 0.0
			for i := range at {
				noise = rho*noise + rng.NormFloat64()
				at[i], values[i] = float64(i)*60, 5+0.002*float64(i)*60+noise
			}
			if _, low, high := theilSen(at, values); low <= 0.002 && 0.002 <= high {
				within++
			}
		}

		if share := float64(within) / tries; share < 0.90 {
			t.Errorf("with a correlation of %v the interval of 95 %% holds the slope in %v of the cases", rho, share)
		}
	}
}

// Autocorrelated values, or values that switch between levels, have no trend. They are reported as a
// trend in about 5 % of the cases, even if there are few values.
func TestNoTrendOfLevels(t *testing.T) {
	const tries = 400
	for _, n := range []int{20, 40, 100} {
		for _, of := range []struct {
			name  string
			rho   float64
			lasts int // consecutive values on one level; 0: each depends on the previous one
		}{{"independent", 0, 0}, {"rho 0.5", 0.5, 0}, {"rho 0.8", 0.8, 0}, {"rho 0.9", 0.9, 0}, {"levels of 5", 0, 5}, {"levels of 10", 0, 10}} {
			rng := rand.New(rand.NewPCG(7, 8))
			found := 0
			for range tries {
				at, values := make([]float64, n), make([]float64, n)
				level, noise, begins := 0.0, 0.0, 0
				if of.lasts > 0 {
					begins, noise = rng.IntN(of.lasts), 0.3
				}

				for i := -50; i < n; i++ { // burn-in: the first values depend on earlier ones, too
					switch {
					case of.lasts == 0:
						level = of.rho*level + rng.NormFloat64()
					case (i+50+begins)%of.lasts == 0:
						level = 3 * rng.NormFloat64()
					}
					if i >= 0 {
						at[i], values[i] = float64(i)*60, 5+level+noise*rng.NormFloat64()
					}
				}

				if _, low, high := theilSen(at, values); low > 0 || high < 0 {
					found++
				}
			}

			if share := float64(found) / tries; share > 0.07 {
				t.Errorf("%d values, %s: a trend in %.1f %% of the cases, want about 5 %%", n, of.name, 100*share)
			}
		}
	}
}

// A straight line is found exactly, whatever a few of its points are.
func TestSlopeIsRobust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slope := rapid.Float64Range(-100, 100).Draw(t, "slope")
		at, values := make([]float64, 60), make([]float64, 60)
		for i := range at {
			at[i], values[i] = float64(i), slope*float64(i)
		}
		for range rapid.IntRange(0, 6).Draw(t, "outliers") {
			values[rapid.IntRange(0, 59).Draw(t, "where")] = rapid.Float64Range(-1e6, 1e6).Draw(t, "outlier")
		}
		if got, _, _ := theilSen(at, values); math.Abs(got-slope) > 1e-6*math.Max(1, math.Abs(slope)) {
			t.Fatalf("slope %v, not %v", got, slope)
		}
	})
}

// A bucket is never below zero or above its capacity. At a steady drain it is empty at the predicted
// time.
func TestBucketEndsWhenItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Float64Range(100, 1e6).Draw(t, "capacity")
		drain := rapid.Float64Range(0.5, 500).Draw(t, "drain")
		refill := rapid.Float64Range(1, 90).Draw(t, "refill")
		from := time.Unix(1_700_000_000, 0)
		run := func(cells int) (*rules.Case, *bucket) {
			grid := timeline.NewGrid(from, from.Add(time.Duration(cells-1)*time.Second), time.Second)
			b := &bucket{capacity: capacity, refill: refill, net: make([]float64, grid.N)}
			for k := range b.net {
				b.net[k] = drain
			}
			return rules.NewCase(nil, grid, nil), b
		}

		c, b := run(60)
		left := b.balances(c, Balance{}, false)
		for _, x := range left {
			if x < 0 || x > capacity {
				t.Fatalf("%v left of %v", x, capacity)
			}
		}

		ends := b.ends(left[len(left)-1], b.drain(c))
		if ends == nil {
			t.Fatalf("no end at a drain of %v beside a refill of %v", drain, refill)
		}

		total := 60 + ends.InS
		if total > 20000 {
			return
		}

		c, b = run(int(math.Ceil(total)) + 1)
		all := b.balances(c, Balance{}, false)
		if last := all[len(all)-1]; last > 1e-6*capacity {
			t.Fatalf("%v left after %v s", last, total)
		}

		if before := int(ends.InS) + 60 - 2; ends.InS > 3 && before < len(all) && all[before] <= 0 {
			t.Fatalf("empty before %v s", total)
		}
	})
}

// Samples that overflow, such as those of a broken exporter, give no slope and no panic.
func TestSlopeOfAbsurdSamples(t *testing.T) {
	at, values := make([]float64, 60), make([]float64, 60)
	for i := range at {
		at[i], values[i] = float64(i)*60, math.MaxFloat64
		if i%2 == 0 {
			values[i] = -math.MaxFloat64
		}
	}
	if slope, low, high := theilSen(at, values); low > 0 || high < 0 {
		t.Errorf("slope %g within %g and %g", slope, low, high)
	}
}
