package diagnose_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// Slow growth over weeks of one-minute samples is a finding: nothing stalls, and the await rises from
// 0.4 to 1.2 ms, across days and nights.
func TestGrowthOverWeeks(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	const minutes = 21 * 24 * 60
	names := []string{"node_disk_writes_completed_total", "node_disk_write_time_seconds_total", "node_disk_io_time_seconds_total", "node_disk_io_time_weighted_seconds_total"}

	sums := make([]float64, len(names))
	for i := range minutes {
		grown := float64(i) / minutes
		night := 1 + 0.15*math.Sin(2*math.Pi*float64(i)/(24*60))
		jitter := 1 + 0.1*math.Sin(float64(i)*12.9898)
		await, rate := (0.0004+0.0008*grown)*jitter, 1000*night

		b := &recording.Batch{TimesMs: []int64{start.Add(time.Duration(i) * time.Minute).UnixMilli()}}
		for k, add := range []float64{60 * rate, 60 * rate * await, 60 * (0.45 + 0.27*grown), 60 * rate * await} {
			sums[k] += add
			b.Columns = append(b.Columns, recording.Column{Labels: labels.FromStrings("__name__", names[k], "device", "nvme1n1"), Values: []float64{sums[k]}})
		}

		if err := m.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	r, err := diagnose.Run(context.Background(), []recording.Reader{m}, diagnose.Options{Pack: testkit.Pack()})
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(r.Verdict, "their latency grew steadily") || !strings.Contains(r.Verdict, "at the same load") {
		t.Errorf("verdict: %s", r.Verdict)
	}
}
