package series

import (
	"testing"
	"time"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
)

// The series of a trace add up to its report.
func TestSeries(t *testing.T) {
	h, b, err := events.LoadFile("../chain/testdata/xfs-dd.trace")
	if err != nil {
		t.Fatal(err)
	}

	w := chain.NewWindow(h)
	w.Add(b)

	c := New()
	for i := range b.Calls {
		x := w.Explain(&b.Calls[i])
		c.Add(&x, h.Clock(x.Call.Exit))
	}

	r := chain.Replay(h, b)
	got := c.Batch(Trace{Target: h.Target, Slower: h.Slower}, h.Began, h.Began.Add(h.Lasted))

	sums := map[string]float64{}
	for _, column := range got.Columns {
		if len(column.Values) != len(got.TimesMs) || column.Values[0] != 0 && column.Labels.Get("target") == "" {
			t.Fatalf("%s: %v", column.Labels, column.Values)
		}
		for i := 1; i < len(column.Values); i++ {
			if column.Values[i] < column.Values[i-1] {
				t.Errorf("%s falls: %v", column.Labels, column.Values)
			}
		}
		sums[column.Labels.Get("__name__")] += column.Values[len(column.Values)-1]
	}

	if n := sums["plimsoll_trace_slow_calls_total"]; n != float64(r.Slow) {
		t.Errorf("%v calls, want %d", n, r.Slow)
	}

	for _, name := range []string{"plimsoll_trace_slow_seconds_total", "plimsoll_trace_stage_seconds_total", waitSeconds} {
		if d := sums[name] - r.SlowTime.Seconds(); d > 1e-6 || d < -1e-6 {
			t.Errorf("%s is %v, want %v", name, sums[name], r.SlowTime.Seconds())
		}
	}

	if s := sums["plimsoll_trace_culprit_seconds_total"]; s < 0.7*r.SlowTime.Seconds() || s > r.SlowTime.Seconds() {
		t.Errorf("culprits account for %v of %v", s, r.SlowTime.Seconds())
	}
}

func TestCulpritsBounded(t *testing.T) {
	c := New()
	for pid := range uint32(culpritsMax + 100) {
		call := events.Call{Enter: 0, Exit: int64(time.Second)}
		c.Add(&chain.Chain{Call: call, Segments: []chain.Segment{{To: int64(time.Second), Stage: chain.DeviceQueue,
			Shares: []chain.Share{{Culprit: chain.Culprit{Comm: string(rune('a' + pid)), PID: pid}, Time: time.Second}}}}}, time.Unix(100, 0))
	}
	if n := len(c.names); n > 2*culpritsMax+10 {
		t.Errorf("%d series", n)
	}
}
