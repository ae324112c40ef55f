package benchmark

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

func fileOf(text string) source.File {
	return source.File{Path: "report.txt", Bytes: int64(len(text)),
		Modified: time.Date(2026, 11, 21, 2, 2, 0, 0, time.UTC),
		Open:     func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// read returns the samples of a report, one line each: seconds since 2026-11-21 02:00 UTC, series and
// value.
func read(t *testing.T, f LogFormat, text string) ([]string, recording.Source, error) {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	src := f.NewLog(fileOf(text))
	if err := src.Read(context.Background(), m, source.Options{Location: time.UTC}); err != nil {
		return nil, recording.Source{}, err
	}

	zero := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	series, err := m.Samples(t.Context(), recording.MustSelector(`{__name__=~"bench_.*"}`), time.Unix(0, 0), time.Unix(1<<33, 0))
	if err != nil {
		t.Fatal(err)
	}

	var out []string
	for _, s := range series {
		for _, p := range s.Points {
			name := strings.TrimPrefix(s.Labels.Get("__name__"), "bench_")
			out = append(out, fmt.Sprintf("%s %s%s %g %.6g", s.Labels.Get("operation"), name,
				s.Labels.Get("quantile"), time.UnixMilli(p.T).Sub(zero).Seconds(), p.F))
		}
	}
	slices.Sort(out)
	return out, src.Describe(), nil
}

const sysbenchText = `Running the test with following options:
Number of threads: 8
Report intermediate results every 10 second(s)

[ 10s ] thds: 8 tps: 100.00 qps: 2000.00 (r/w/o: 1400.00/400.00/200.00) lat (ms,95%): 90.50 err/s: 0.00 reconn/s: 0.00
[ 20s ] thds: 8 tps: 0.00 qps: 0.00 (r/w/o: 0.00/0.00/0.00) lat (ms,95%): 0.00 err/s: 0.00 reconn/s: 0.00
[ 60s ] thds: 8 tps: 50.00 qps: 1000.00 (r/w/o: 700.00/200.00/100.00) lat (ms,95%): 190.50 err/s: 0.00 reconn/s: 0.00
SQL statistics:
General statistics:
    total time:                          60.0012s
    total number of events:              1500
`

// Without a target rate, waiting follows from the threads; a line that an excerpt lacks is a gap.
func TestSysbench(t *testing.T) {
	got, d, err := read(t, Sysbench, sysbenchText)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		"transactions operations_total 60 0", "transactions operations_total 70 1000",
		"transactions operations_total 80 1000", "transactions operations_total 110 1000",
		"transactions operations_total 120 1500",
		"transactions operation_seconds_total 80 160", "transactions operation_latency_seconds0.95 70 0.0905",
		"transactions operations_waiting 80 8",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if d.Kind != "sysbench" || d.Period != 10*time.Second {
		t.Errorf("described as %+v", d)
	}
}

// The spelling differs between versions and excerpts.
func TestSysbenchForms(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"0.5": {"[   1s] threads: 4, tps: 40.00, reads: 8.1, writes: 2.3, response time: 226.63ms (95%), errors: 0.00, reconnects:  0.00\n" +
			"[   2s] threads: 4, tps: 40.00, reads: 8.1, writes: 2.3, response time: 226.63ms (95%), errors: 0.00, reconnects:  0.00\n",
			"transactions operation_seconds_total 120 8"},
		"1.1": {"[ 1s ] threads: 4 tps: 40.00 qps: 8.1 (r/w/o: 1/2/3) latency: 226.63ms (95%) errors/s: 0.00 reconnects/s:  0.00\n",
			"transactions operation_seconds_total 120 4"},
		"a prefix": {"2026-11-21T02:00:01Z [ 1s ] thds: 4 tps: 40.00 qps: 8.1 lat (ms,95%): 2.00\n2026-11-21T02:00:02Z [ 2s ] thds: 4 tps: 40.00 qps: 8.1 lat (ms,95%): 2.00\n2026-11-21T02:00:03Z [ 3s ] thds: 4 tps: 40.00 qps: 8.1 lat (ms,95%): 2.00\n",
			"transactions operation_seconds_total 3 12"},
		"a rate": {"Target transaction rate: 100/sec\n[ 1s ] thds: 64 tps: 100.00 qps: 2000.00 lat (ms,95%): 20.00\n",
			"transactions operation_seconds_total 120 2"},
		"totals of 0.4": {"General statistics:\n total time: 60.0s\n total number of events: 1000\n total time taken by event execution: 3839.5555s\n response time:\n min: 1.23ms\n avg: 12.00ms\n max: 567.89ms\n approx.  95 percentile: 34.56ms\n",
			"transactions operation_max_seconds 120 0.56789"},
	} {
		if !SniffSysbench([]byte(c.text)) {
			t.Errorf("%s: not recognised", name)
		}
		got, _, err := read(t, Sysbench, c.text)
		if err != nil || !slices.Contains(got, c.want) {
			t.Errorf("%s: missing %q in\n%s\n%v", name, c.want, strings.Join(got, "\n"), err)
		}
	}
}

const ycsbText = `2026-11-21 02:00:00:213 0 sec: 0 operations; est completion in 0 second
2026-11-21 02:00:10:213 10 sec: 150 operations; 15 current ops/sec; est completion in 1 minute [READ: Count=100, Max=12031, Min=249, Avg=1500.5, 90=2625, 99=7915, 99.9=9551, 99.99=11385] [UPDATE: Count=50, Max=22031, Min=249, Avg=2000, 90=2625, 99=8000, 99.9=9551, 99.99=11385]
2026-11-21 02:00:20:213 20 sec: 250 operations; 10 current ops/sec; [READ: Count=100, Max=12031, Min=249, Avg=1500,5, 90=2625, 99=7915, 99.9=9551, 99.99=11385] [CLEANUP: Count=8, Max=10, Min=1, Avg=2, 90=1, 99=2, 99.9=3, 99.99=4]
[OVERALL], RunTime(ms), 20213
[READ], Operations, 200
[READ], AverageLatency(us), 1500.5
`

// Status lines have absolute times; the summary after them adds nothing.
func TestYCSB(t *testing.T) {
	got, _, err := read(t, YCSB, ycsbText)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"READ operations_total 0.213 0", "READ operations_total 10.213 100", "READ operations_total 20.213 200",
		"READ operation_seconds_total 20.213 0.3001", "UPDATE operation_max_seconds 10.213 0.022031",
		"UPDATE operation_latency_seconds0.99 10.213 0.008",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "CLEANUP") }) {
		t.Error("closing connections is not what clients wait for")
	}
}

// A summary alone is one interval; a time series has one for each row.
func TestYCSBSummary(t *testing.T) {
	const summary = "[OVERALL], RunTime(ms), 10000\n[UPDATE], Operations, 500\n[UPDATE], AverageLatency(us), 4000.0\n[UPDATE], MaxLatency(us), 9000\n"
	for name, c := range map[string]struct{ text, want string }{
		"summary":       {summary, "UPDATE operation_seconds_total 120 2"},
		"a histogram":   {summary + "[UPDATE], 0, 400\n[UPDATE], 1, 100\n", "UPDATE operation_seconds_total 120 2"},
		"a time series": {summary + "[UPDATE], 0, 2000.5\n[UPDATE], 5000, 6000.5\n", "UPDATE operation_seconds_total 120 2.00025"},
	} {
		got, _, err := read(t, YCSB, c.text)
		if err != nil || !slices.Contains(got, c.want) {
			t.Errorf("%s: missing %q in\n%s\n%v", name, c.want, strings.Join(got, "\n"), err)
		}
	}
}

// A report without any figure is an error that names it.
func TestNothingInLog(t *testing.T) {
	for _, f := range []LogFormat{Sysbench, YCSB} {
		if _, _, err := read(t, f, "nothing\n"); err == nil || !strings.Contains(err.Error(), "report.txt") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

func FuzzLogs(f *testing.F) {
	for _, s := range []string{sysbenchText, ycsbText, "[ 1s ] thds: 9999999999999999999 tps: 1e", "0 sec: 9 operations; "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		SniffSysbench([]byte(text))
		SniffYCSB([]byte(text))
		for _, format := range []LogFormat{Sysbench, YCSB} {
			got, _, err := read(t, format, text)
			if err == nil && len(got) == 0 {
				t.Error("neither samples nor an error")
			}
			for _, s := range got {
				var v float64
				if _, err := fmt.Sscan(s[strings.LastIndexByte(s, ' ')+1:], &v); err == nil && math.IsInf(v, 0) {
					t.Errorf("an infinite value: %s", s)
				}
			}
		}
	})
}
