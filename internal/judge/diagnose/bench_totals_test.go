package diagnose_test

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/testkit"
)

// The totals of a benchmark's run are one interval. Wherever the interval falls on the grid of minutes, it
// does not show when something stalled: it is not a run of two minutes without a stall.
func TestTotalsOfARunOnAnyGrid(t *testing.T) {
	const operations, waitedS, slowestS = 10_000, 239.9, 8.8
	pairs := []string{"benchmark", "sysbench", "operation", "transactions", "kind", "transaction"}
	column := func(name string, values ...float64) recording.Column {
		return recording.Column{Labels: labels.FromStrings(append(pairs, labels.MetricName, name)...), Values: values}
	}

	for offset := range 60 {
		began := time.Date(2026, 1, 1, 0, 0, offset, 0, time.UTC)
		for _, length := range []time.Duration{60 * time.Second, 60_020 * time.Millisecond, 59_500 * time.Millisecond} {
			ended := began.Add(length)
			m := recording.NewMemory(recording.MemoryOptions{})
			m.Source(recording.Source{Kind: "benchmark", Name: "total.txt", From: began, To: ended})
			if err := m.Append(t.Context(), &recording.Batch{TimesMs: []int64{began.UnixMilli(), ended.UnixMilli()}, Columns: []recording.Column{
				column("bench_operations_total", 0, operations), column("bench_operation_seconds_total", 0, waitedS),
			}}); err != nil {
				t.Fatal(err)
			}
			if err := m.Append(t.Context(), &recording.Batch{TimesMs: []int64{ended.UnixMilli()}, Columns: []recording.Column{
				column("bench_operation_max_seconds", slowestS),
			}}); err != nil {
				t.Fatal(err)
			}

			r, err := diagnose.Run(t.Context(), []recording.Reader{m}, diagnose.Options{Pack: testkit.Pack()})
			if err != nil {
				t.Fatal(err)
			}
			if r.Stalls.Of != 0 {
				t.Errorf("%v of a run of %v that began at second %d were judged: %s", r.Stalls.Of, length, offset, r.Verdict)
			}
		}
	}
}
