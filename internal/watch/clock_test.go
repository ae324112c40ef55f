package watch_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/testkit"
	"plimsoll/internal/watch"
)

// dated adds one value from the year 2100 to each sample of another source.
type dated struct{ *stalling }

func (d dated) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	return d.Poll(ctx, w, opt, d)
}

func (d dated) Sample(ctx context.Context, at time.Time) ([]recording.Batch, error) {
	out, err := d.stalling.Sample(ctx, at)
	return append(out, recording.Batch{
		TimesMs: []int64{time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()},
		Columns: []recording.Column{{Labels: labels.FromStrings("__name__", "mongodb_ss_opLatencies_ops", "op_type", "reads"), Values: []float64{1}}},
	}), err
}

// A value with a timestamp in the future neither hides a stall nor empties the ring: it is dropped,
// counted, and logged once with its source.
func TestFutureTimestamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ring, err := recording.Create(dir, recording.DiskOptions{Keep: time.Hour, BlockSamples: 500})
		if err != nil {
			t.Fatal(err)
		}

		w := start(t, watch.Options{Pack: testkit.Pack(), Ring: ring}, dated{newStalling(func(second int) bool { return second > 60 && second < 90 })})
		time.Sleep(3 * time.Minute)
		families, err := w.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}

		figures := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				figures[f.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}

		w.end()
		if err := ring.Close(); err != nil {
			t.Fatal(err)
		}

		if figures["plimsoll_diagnoses_total"] < 4 || figures["plimsoll_diagnoses_failed_total"] != 0 || figures["plimsoll_stalls_total"] != 1 || figures["plimsoll_window_stalled_seconds"] < 20 {
			t.Errorf("%v diagnoses, %v failed, %v stalls, %v s stalled", figures["plimsoll_diagnoses_total"], figures["plimsoll_diagnoses_failed_total"], figures["plimsoll_stalls_total"], figures["plimsoll_window_stalled_seconds"])
		}

		if n := figures["plimsoll_source_dropped_values_total"]; n < 170 || n > 190 {
			t.Errorf("%v values are counted as dropped", n)
		}

		if figures["plimsoll_heap_bytes"] < 1<<20 {
			t.Errorf("a heap of %v bytes", figures["plimsoll_heap_bytes"])
		}

		logged := 0
		for _, l := range w.log.said(t, "the source has a note") {
			if l["level"] == "WARN" && l["source"] == "mongodb://db:27017" && strings.Contains(l["note"].(string), "2100-01-01") {
				logged++
			}
		}

		if logged < 1 || logged > 2 {
			t.Errorf("logged %d times: %v", logged, w.log.all(t))
		}

		r, err := recording.Open(dir)
		if err != nil {
			t.Fatal(err)
		}

		defer r.Close()
		metrics, err := r.Metrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range metrics {
			if m.To.Year() == 2100 || m.Name == "mongodb_ss_wt_block_manager_bytes_written" && m.To.Sub(m.From) < 170*time.Second {
				t.Errorf("the ring has %s from %s to %s", m.Name, m.From, m.To)
			}
		}
	})
}
