package diagnose_test

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// meanOf returns the mean of a per-second value over the interval that ends at a time.
func meanOf(each func(s float64) float64, periodS float64) func(s float64) float64 {
	return func(s float64) float64 {
		sum := 0.0
		for at := s - periodS; at < s; at++ {
			sum += each(at)
		}
		return sum / periodS
	}
}

// A database that is sampled seldom stalls for some seconds of an interval. A device that is sampled
// every second shows which ones, and the limit that it reaches in them. In the rest of these intervals
// it has headroom.
func TestFineDeviceInCoarseStalls(t *testing.T) {
	const length = 30 * time.Minute
	burst := func(s float64) bool { return math.Mod(s, 97) < 4 }
	latency := func(s float64) float64 {
		if burst(s) {
			return 0.4
		}
		return 0.002
	}

	ops := func(s float64) float64 {
		if burst(s) {
			return 250
		}
		return 500 * jitter(s, "ops", 0.05)
	}

	quick, atLimit := capped(900, 3000, 0.0008, 16, 0.1), capped(5000, 3000, 0.0008, 16, 0.1)
	device := func(s float64) did {
		if burst(s) {
			return atLimit(s)
		}
		return quick(s)
	}

	for _, every := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute} {
		t.Run(every.String(), func(t *testing.T) {
			database := forms(t, every, length)
			database.counter(meanOf(ops, every.Seconds()), "mongodb_ss_opLatencies_ops", "op_type", "writes").
				counter(meanOf(func(s float64) float64 { return ops(s) * latency(s) * 1e6 }, every.Seconds()), "mongodb_ss_opLatencies_latency", "op_type", "writes")
			node := forms(t, time.Second, length).node("nvme1n1", device)

			r, err := diagnose.Run(t.Context(), []recording.Reader{database.mem, node.mem}, diagnose.Options{Pack: testkit.Pack()})
			if err != nil {
				t.Fatal(err)
			}

			f := foundAnywhere(r, "disk/iops-capped")
			if f == nil || f.Kind != rules.Cause || f.Severity == rules.Info || f.Weight < 0.5 {
				t.Fatalf("the cap is not named as a cause of half of it: %+v\n%s", f, r.Verdict)
			}

			for _, w := range f.Windows {
				if took := w.To.Sub(w.From); took > 10*time.Second {
					t.Errorf("at the cap for %s from %s, where it is for 4 s", took, w.From)
				}
			}

			truth := 4 * math.Ceil(length.Seconds()/97)
			if s := r.Stalls; s.LeastS > truth || s.MostS < truth {
				t.Errorf("stalled for %.0f s; the range is %.0f to %.0f s: %s", truth, s.LeastS, s.MostS, r.Verdict)
			}
		})
	}
}
