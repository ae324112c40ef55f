package etcdlog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/engine/etcd/judge"
	"plimsoll/internal/judge/corerules"
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// A log and the metrics of the same member are one source. Metrics sampled every 15 s have the fast
// syncs and hide the slow ones; the log has only the slow ones, with their times.
func TestWithMetrics(t *testing.T) {
	begin := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	var b strings.Builder
	for k := range 10 {
		at := begin.Add(time.Duration(k) * time.Minute)
		fmt.Fprintf(&b, `{"level":"warn","ts":%q,"caller":"wal/wal.go:805","msg":"slow fdatasync","took":"3s","expected-duration":"1s"}`+"\n",
			at.Format(time.RFC3339))
	}
	logged, _ := read(t, b.String())

	metrics := recording.NewMemory(recording.MemoryOptions{})
	for k := range 40 {
		n := float64(k) * 1500
		batch := &recording.Batch{TimesMs: []int64{begin.Add(time.Duration(k) * 15 * time.Second).UnixMilli()}}
		for name, v := range map[string]float64{"etcd_disk_wal_fsync_duration_seconds_count": n,
			"etcd_disk_wal_fsync_duration_seconds_sum": n*0.0015 + float64(k/4)*3} {
			batch.Columns = append(batch.Columns, recording.Column{Values: []float64{v},
				Labels: labels.FromStrings(labels.MetricName, name, "instance", "10.0.0.5:2379")})
		}
		if err := metrics.Append(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}

	pack := corerules.NewPack([]rules.Knowledge{judge.Knowledge()})
	r, err := diagnose.Each(t.Context(), []recording.Reader{metrics, logged}, diagnose.Options{Pack: pack})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Others) != 0 || !strings.Contains(r.Verdict, "logged WAL fdatasyncs stalled for 27.0 s") {
		t.Errorf("%d other servers; %s", len(r.Others), r.Verdict)
	}
}
