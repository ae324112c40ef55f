package series

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// TestBatchesOfALongTrace: the counters of a long trace come in batches of minutes that join up,
// and equal those of a single batch.
func TestBatchesOfALongTrace(t *testing.T) {
	c := New()
	began := time.Unix(1_800_000_000, 0)

	const minutes = 95

	// The first call ends before the trace began, as if the clock had been set back.
	for m := -1; m < minutes; m++ {
		for k := range m%3 + 1 {
			call := events.Call{Task: events.Task{PID: 7, TID: 7, Comm: fmt.Sprint("db", k)}, Kind: events.Fsync, Enter: 1, Exit: 2_000_000_000}
			c.Add(&chain.Chain{Call: call}, began.Add(time.Duration(m)*time.Minute))
		}
	}

	of, to := Trace{Target: "db", Slower: 20 * time.Millisecond}, began.Add(minutes*time.Minute)

	whole := c.Batch(of, began, to)
	var times []int64
	values := map[string][]float64{}

	err := c.Batches(of, began, to, func(b *recording.Batch) error {
		if len(b.TimesMs) > batchSeconds {
			t.Errorf("a batch of %d seconds, want at most %d", len(b.TimesMs), batchSeconds)
		}

		times = append(times, b.TimesMs...)
		for _, col := range b.Columns {
			v := col.Values
			if len(v) == 1 {
				v = slices.Repeat(v, len(b.TimesMs))
			}
			values[col.Labels.String()] = append(values[col.Labels.String()], v...)
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if !slices.Equal(times, whole.TimesMs) || len(times) != minutes*60+3 {
		t.Errorf("%d seconds in batches, %d in a single batch, want %d", len(times), len(whole.TimesMs), minutes*60+3)
	}

	for _, col := range whole.Columns {
		want := col.Values
		if len(want) == 1 {
			want = slices.Repeat(want, len(whole.TimesMs))
		}
		if !slices.Equal(values[col.Labels.String()], want) {
			t.Errorf("%s differs between batches and a single batch", col.Labels)
		}
		if col.Labels.Get(labels.MetricName) == "plimsoll_trace_slow_calls_total" && want[len(want)-1] == 0 {
			t.Error("no call was counted")
		}
	}

	if len(values) != len(whole.Columns) {
		t.Errorf("%d series in batches, want %d", len(values), len(whole.Columns))
	}
}
