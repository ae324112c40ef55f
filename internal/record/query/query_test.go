package query_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/query"
	"plimsoll/internal/record/recording"
)

// base is the time of the first sample.
var base = time.UnixMilli(1_700_000_000_000)

// twoPeriods has a counter that grows by 5 every second, and a gauge that is sampled every 10 s.
func twoPeriods(t *testing.T) recording.Reader {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	add := func(name string, second int, value float64) {
		b := &recording.Batch{TimesMs: []int64{base.UnixMilli() + int64(second)*1000}, Columns: []recording.Column{{Labels: labels.FromStrings(labels.MetricName, name), Values: []float64{value}}}}
		if err := m.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}

	for s := range 60 {
		add("writes_total", s, float64(5*s))
		if s%10 == 0 {
			add("dirty_bytes", s, float64(s))
		}
	}

	return m
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		expr       string
		opt        query.Options
		step       time.Duration
		first, end time.Duration // since base
		last       float64
	}{
		{"writes_total", query.Options{}, time.Second, 0, 59 * time.Second, 295},
		{"rate(writes_total[10s])", query.Options{}, time.Second, 0, 59 * time.Second, 5},
		{"dirty_bytes", query.Options{}, 10 * time.Second, 0, 50 * time.Second, 50},
		{"dirty_bytes + on() writes_total", query.Options{}, 10 * time.Second, 0, 59 * time.Second, 50 + 250},
		{"writes_total", query.Options{At: base.Add(30 * time.Second)}, 0, 30 * time.Second, 30 * time.Second, 150},
		{"writes_total", query.Options{From: base.Add(10 * time.Second), Step: 7 * time.Second}, 7 * time.Second, 10 * time.Second, 59 * time.Second, 295},
		{"1 + 1", query.Options{At: base}, 0, 0, 0, 2},
	} {
		t.Run(c.expr, func(t *testing.T) {
			e, err := query.Parse(c.expr)
			if err != nil {
				t.Fatal(err)
			}

			r, err := query.Run(t.Context(), twoPeriods(t), e, c.opt)
			if err != nil {
				t.Fatal(err)
			}

			if r.Step != c.step || !r.From.Equal(base.Add(c.first)) || !r.To.Equal(base.Add(c.end)) {
				t.Errorf("from %s to %s every %s; want %s to %s every %s", r.From.Sub(base), r.To.Sub(base), r.Step, c.first, c.end, c.step)
			}

			if len(r.Series) != 1 {
				t.Fatalf("%d series, want 1", len(r.Series))
			}

			if p := r.Series[0].Points; p[len(p)-1].F != c.last {
				t.Errorf("the last value is %v, want %v", p[len(p)-1].F, c.last)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for expr, want := range map[string]string{
		"writes_totl":          "the nearest is writes_total",
		"no_such_thing_at":     "no such metric: no_such_thing_at",
		`{__name__=~"disk.*"}`: `no name matches {__name__=~"disk.*"}`,
		"1 + 1":                "selects no series",
	} {
		e, err := query.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = query.Run(t.Context(), twoPeriods(t), e, query.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
		if is := errors.Is(err, query.ErrNoMetric); is == (expr == "1 + 1") {
			t.Errorf("%s: ErrNoMetric: %v", expr, is)
		}
	}
	for expr, want := range map[string]string{"rate(": "1:6", "writes_total[5m]": "range vector", `"text"`: "string"} {
		if _, err := query.Parse(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
}

func TestUnit(t *testing.T) {
	for name, want := range map[string]string{
		"node_memory_Dirty_bytes": "bytes", "node_disk_io_time_seconds_total": "s, counter", "etcd_disk_wal_fsync_duration_seconds_bucket": "s, counter",
		"etcd_disk_wal_fsync_duration_seconds_count": "counter", "node_procs_blocked": "", "pg_stat_bgwriter_checkpoints_timed_total": "counter",
	} {
		if got := query.Unit(name); got != want {
			t.Errorf("%s is in %q, want %q", name, got, want)
		}
	}
}
