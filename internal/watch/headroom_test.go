package watch_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// gauges returns a watch's gauges of resources, by name and resource.
func gauges(t *testing.T, w *watched) map[string]float64 {
	t.Helper()
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

	return values
}

// At 800 IOPS with a baseline of 150, 5.4 million credits last 8,308 s. A sliding window does not
// refill them.
func TestCreditsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, watch.Options{Pack: testkit.Pack(), Known: bursting, Window: 2 * time.Minute, Every: 30 * time.Second}, newStalling(nil))
		time.Sleep(20 * time.Minute)
		values := gauges(t, w)

		want := 5.4e6/650 - 20*60
		if got := values["plimsoll_seconds_to_limit volume_credits"]; math.Abs(got-want) > 60 {
			t.Errorf("credits end in %v s, want %v", got, want)
		}

		if got, want := values["plimsoll_headroom_ratio volume_credits"], 1-20*60*650/5.4e6; math.Abs(got-want) > 0.01 {
			t.Errorf("%v of the credits are left, want %v", got, want)
		}

		if got := values["plimsoll_headroom_ratio volume_iops"]; math.Abs(got-(1-800.0/3000)) > 0.01 {
			t.Errorf("%v of the IOPS are left", got)
		}
	})
}

// filling is a source that also reports its file system, every ten seconds like the host source.
type filling struct{ *stalling }

func (s *filling) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return s.Poll(ctx, w, opt, s)
}

func (s *filling) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	b, err := s.stalling.Sample(ctx, at)
	if err != nil || s.second%10 != 1 {
		return b, err
	}
	for name, v := range map[string]float64{"size": 100e9, "avail": 8e9 - 1e6*float64(s.second)} {
		b[0].Columns = append(b[0].Columns, recording.Column{Values: []float64{v},
			Labels: labels.FromStrings("__name__", "node_filesystem_"+name+"_bytes", "device", "/dev/nvme1n1", "mountpoint", "/var/lib/db")})
	}
	return b, nil
}

// Space that shrinks by 1 MB/s runs out once the rest is used up.
func TestSpaceIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, watch.Options{Pack: testkit.Pack(), Window: 15 * time.Minute, Every: 5 * time.Minute}, &filling{newStalling(nil)})
		time.Sleep(20 * time.Minute)
		values := gauges(t, w)
		left := values["plimsoll_headroom_ratio filesystem_space"] * 100e9 // at the last diagnosis
		if !(left >= 6.8e9 && left <= 7.2e9) {
			t.Errorf("%v bytes of the space are left, want about 7 GB", left)
		}
		if got, want := values["plimsoll_seconds_to_limit filesystem_space"], left/1e6; math.Abs(got-want) > 0.02*want {
			t.Errorf("space ends in %v s, want %v", got, want)
		}
	})
}
