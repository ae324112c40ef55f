package watch_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/watch"
)

// At 800 operations a second over a baseline of 150, credits of 5.4 million last 8,308 s. A window that
// slides does not fill them again.
func TestCreditsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, watch.Options{Pack: pack, Known: bursting, Window: 2 * time.Minute, Every: 30 * time.Second}, newStalling(nil))
		time.Sleep(20 * time.Minute)
		values := map[string]float64{}
		families, err := w.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() == "resource" && m.GetGauge() != nil {
						values[f.GetName()+" "+l.GetValue()] = m.GetGauge().GetValue()
					}
				}
			}
		}
		want := 5.4e6/650 - 20*60
		if got := values["plimsoll_seconds_to_limit volume_credits"]; math.Abs(got-want) > 60 {
			t.Errorf("credits end in %v s, not in %v", got, want)
		}
		if got, want := values["plimsoll_headroom_ratio volume_credits"], 1-20*60*650/5.4e6; math.Abs(got-want) > 0.01 {
			t.Errorf("%v of the credits are left, not %v", got, want)
		}
		if got := values["plimsoll_headroom_ratio volume_iops"]; math.Abs(got-(1-800.0/3000)) > 0.01 {
			t.Errorf("%v of the IOPS are left", got)
		}
	})
}
