package iostat

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

// modified replaces the modification time of the files, which a checkout does not preserve.
var modified = time.Date(2026, 11, 21, 2, 43, 30, 0, time.UTC)

var berlin = func() *time.Location {
	l, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	return l
}()

// read reads a log into memory. loc nil means UTC.
func read(t testing.TB, path string, text []byte, opt source.Options) (*recording.Memory, source.Source, error) {
	t.Helper()
	if opt.Location == nil {
		opt.Location = time.UTC
	}

	src, err := New(source.File{
		Path:     path,
		Open:     func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
		Bytes:    int64(len(text)),
		Modified: modified,
	})
	if err != nil {
		return nil, nil, err
	}

	m := recording.NewMemory(recording.MemoryOptions{})
	return m, src, src.Read(context.Background(), m, opt)
}

// irates returns the rates between consecutive samples of the selected series, one line per time.
func irates(t testing.TB, m *recording.Memory, selector string) map[int64]float64 {
	t.Helper()
	series, err := m.Samples(context.Background(), recording.MustSelector(selector), time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}

	out := map[int64]float64{}
	for _, s := range series {
		for i := 1; i < len(s.Points); i++ {
			a, b := s.Points[i-1], s.Points[i]
			if b.F >= a.F { // not a new run
				out[b.T] = (b.F - a.F) / (float64(b.T-a.T) / 1000)
			}
		}
	}

	return out
}

// TestGolden reads every log in testdata and compares the result. The logs were made with sysstat
// 12.6.1, in the locales that their names give, while a program was writing with O_DSYNC.
func TestGolden(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}

	n := 0
	for _, path := range logs {
		if ext := filepath.Ext(path); ext != ".log" && ext != ".json" {
			continue
		}

		n++
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			golden := path + ".golden"
			got := dump(t, path, text)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}

	if n < 15 {
		t.Errorf("only %d logs under testdata", n)
	}
}

// dump prints the source, the notes and the rates between samples.
func dump(t *testing.T, path string, text []byte) string {
	var b strings.Builder
	m, src, err := read(t, filepath.Base(path), text, source.Options{})
	if err != nil {
		return "error: " + err.Error() + "\n"
	}

	d := src.Describe()
	fmt.Fprintf(&b, "%s host %q, %d samples every %v, %s to %s, %v\n", d.Kind, d.Host, d.Samples, d.Period,
		d.From.Format(time.RFC3339), d.To.Format(time.RFC3339), d.Facts)

	for _, n := range m.Notes() {
		fmt.Fprintf(&b, "%s: %s\n", n.Kind, n.Text)
	}

	metrics, err := m.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}

	for _, metric := range metrics {
		series, err := m.Samples(context.Background(), recording.MetricSelector(metric.Name), time.UnixMilli(0), time.UnixMilli(1<<45))
		if err != nil {
			t.Fatal(err)
		}

		for _, s := range series {
			fmt.Fprintf(&b, "%s", s.Labels)
			for i := 1; i < len(s.Points); i++ {
				p, q := s.Points[i-1], s.Points[i]
				fmt.Fprintf(&b, " %.8g", (q.F-p.F)/(float64(q.T-p.T)/1000))
			}
			b.WriteByte('\n')
		}
	}

	return b.String()
}

// TestRatesAreTheLogs parses the columns of a log independently and compares the rates of the series
// with them.
func TestRatesAreTheLogs(t *testing.T) {
	for path, loc := range map[string]*time.Location{"testdata/xmt_c.log": time.UTC, "testdata/xkt_de_de.log": berlin} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		m, _, err := read(t, path, text, source.Options{Location: loc})
		if err != nil {
			t.Fatal(err)
		}

		for heading, want := range map[string]struct {
			metric string
			factor float64
			times  string // another column to multiply by
		}{
			"w/s":     {"node_disk_writes_completed_total", 1, ""},
			"wMB/s":   {"node_disk_written_bytes_total", 1 << 20, ""},
			"wkB/s":   {"node_disk_written_bytes_total", 1 << 10, ""},
			"w_await": {"node_disk_write_time_seconds_total", 1e-3, "w/s"},
			"f_await": {"node_disk_flush_requests_time_seconds_total", 1e-3, "f/s"},
			"%util":   {"node_disk_io_time_seconds_total", 1e-2, ""},
			"aqu-sz":  {"node_disk_io_time_weighted_seconds_total", 1, ""},
		} {
			values := columnByHand(string(text), heading)
			if values == nil {
				continue
			}

			got := irates(t, m, want.metric+`{device="vda"}`)
			if len(got) != len(values)-1 {
				t.Fatalf("%s %s: %d intervals for %d reports", path, heading, len(got), len(values))
			}

			times := slices.Sorted(mapKeys(got))
			for i, ms := range times {
				expect := values[i+1] * want.factor
				if want.times != "" {
					expect *= columnByHand(string(text), want.times)[i+1]
				}
				if math.Abs(got[ms]-expect) > 1e-6*math.Max(1, expect) {
					t.Errorf("%s %s interval %d: rate %v, the log says %v", path, heading, i, got[ms], expect)
				}
			}
		}
	}
}

func mapKeys[V any](m map[int64]V) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func columnByHand(text, heading string) []float64 {
	var out []float64
	at := -1
	for _, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) > 0 && f[0] == "Device":
			at = slices.Index(f, heading)
		case len(f) > 0 && f[0] == "vda" && at > 0:
			var v float64
			if _, err := fmt.Sscan(strings.ReplaceAll(f[at], ",", "."), &v); err != nil {
				panic(err)
			}
			out = append(out, v)
		}
	}

	return out
}

// old is the output of sysstat 10: a different heading, a colon, and await in three columns.
const old = `Linux 2.6.32-431.el6.x86_64 (db1) 	02/11/2014 	_x86_64_	(4 CPU)

02/11/2014 11:59:58 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           5.00    0.00    1.00    2.00    0.00   92.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
dm-0              0.00     0.00    1.00    1.00     0.01     0.01     8.00     0.10    1.00    1.00    1.00   0.10   0.10

02/11/2014 11:59:59 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    0.00    5.00   35.00    0.00   50.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
dm-0              0.00     2.00    0.00 3100.00     0.00    48.00    31.71    38.75   12.50    0.00   12.50   0.32  98.00

02/12/2014 12:00:00 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    0.00    5.00   35.00    0.00   50.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
dm-0              0.00     2.00    0.00 3000.00     0.00    48.00    31.71    38.75   12.50    0.00   12.50   0.32  99.00

`

func TestOldHeadings(t *testing.T) {
	m, src, err := read(t, "old.log", []byte(old), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	d := src.Describe()
	if d.Host != "db1" || d.Facts["cores"] != "4" || d.Period != time.Second || d.Samples != 3 {
		t.Errorf("described as %+v", d)
	}

	if want := time.Date(2014, 2, 12, 0, 0, 0, 0, time.UTC); !d.To.Equal(want) {
		t.Errorf("ends at %v, want %v", d.To, want)
	}

	at := time.Date(2014, 2, 11, 23, 59, 59, 0, time.UTC).UnixMilli()
	for selector, want := range map[string]float64{
		"node_disk_writes_completed_total":         3100,
		"node_disk_written_bytes_total":            48 << 20,
		"node_disk_write_time_seconds_total":       38.75, // 3,100 x 12.5 ms: Little's law gives avgqu-sz
		"node_disk_io_time_weighted_seconds_total": 38.75,
		"node_disk_io_time_seconds_total":          0.98,
		"node_disk_writes_merged_total":            2,
		`node_cpu_seconds_total{mode="iowait"}`:    1.4, // 35 % of 4 CPUs
	} {
		if got := irates(t, m, selector)[at]; math.Abs(got-want) > 1e-9*want {
			t.Errorf("irate of %s = %v, want %v", selector, got, want)
		}
	}

	if n := m.Notes(); len(n) != 0 {
		t.Errorf("notes %v, want none", n)
	}
}

func TestOptions(t *testing.T) {
	text := xlog(banner, stamps, sda, sda, sda, sda, sda)
	begin := time.Date(2026, 11, 21, 3, 15, 0, 0, time.UTC)
	m, src, err := read(t, "o.log", text, source.Options{
		ClockOffset: time.Hour,
		From:        begin.Add(2 * time.Second), To: begin.Add(3 * time.Second),
		Want: func(m string) bool { return m == "node_disk_io_time_seconds_total" },
	})
	if err != nil {
		t.Fatal(err)
	}

	metrics, err := m.Metrics(context.Background())
	if err != nil {
		t.Fatal(err)
	}

	if len(metrics) != 1 || metrics[0].Name != "node_disk_io_time_seconds_total" {
		t.Errorf("metrics %v, want the one asked for", metrics)
	}

	if d := src.Describe(); d.Samples != 2 || !d.From.Equal(begin.Add(2*time.Second)) || !d.To.Equal(begin.Add(3*time.Second)) {
		t.Errorf("described as %+v", d)
	}

	if got := irates(t, m, "node_disk_io_time_seconds_total"); len(got) != 1 || math.Abs(got[begin.Add(3*time.Second).UnixMilli()]-0.5) > 1e-9 {
		t.Errorf("rates %v, want 0.5 at the second sample", got)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := src.Read(ctx, m, source.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled read: %v", err)
	}
}

// TestJSONSaysTheSame compares the JSON reader's result with the text reader's.
func TestJSONSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "reports")
		var text, js strings.Builder
		text.WriteString("Linux 6.1.0 (db1) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n")
		js.WriteString(`{"sysstat":{"hosts":[{"nodename":"db1","release":"6.1.0","number-of-cpus":2,"date":"2026-11-21","statistics":[`)

		var want []float64
		for i := range n {
			w := float64(rapid.IntRange(0, 9_999_999).Draw(t, "w")) / 100
			await := float64(rapid.IntRange(0, 99_999).Draw(t, "await")) / 100
			want = append(want, w, w*await/1000)
			fmt.Fprintf(&text, "2026-11-21 02:00:%02d\nDevice w/s w_await %%util\nsda %.2f %.2f 1.00\n\n\n", i, w, await)
			if i > 0 {
				js.WriteString(",")
			}
			fmt.Fprintf(&js, `{"timestamp":"2026-11-21 02:00:%02d","disk":[{"disk_device":"sda","w/s":%.2f,"w_await":%.2f,"util":1.00}]}`, i, w, await)
		}

		js.WriteString(`]}]}}`)
		for _, in := range []string{text.String(), js.String()} {
			src, err := New(source.File{Path: "x", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(in)), nil }, Modified: modified})
			if err != nil {
				t.Fatal(err)
			}

			m := recording.NewMemory(recording.MemoryOptions{})
			if err := src.Read(context.Background(), m, source.Options{Location: time.UTC}); err != nil {
				t.Fatal(err)
			}

			for k, metric := range []string{"node_disk_writes_completed_total", "node_disk_write_time_seconds_total"} {
				series, err := m.Samples(context.Background(), recording.MustSelector(metric), time.UnixMilli(0), time.UnixMilli(1<<45))
				if err != nil || len(series) != 1 || len(series[0].Points) != n {
					t.Fatalf("%s: %v, error %v; want one series of %d points", metric, series, err, n)
				}
				p := series[0].Points
				for i := 1; i < n; i++ {
					got := (p[i].F - p[i-1].F) / (float64(p[i].T-p[i-1].T) / 1000)
					if w := want[2*i+k]; math.Abs(got-w) > 1e-9*math.Max(1, p[i].F) {
						t.Fatalf("%s interval %d: rate %v, the log says %v", metric, i, got, w)
					}
				}
			}
		}
	})
}

// TestProgress checks that two passes over a file are reported as one piece of work.
func TestProgress(t *testing.T) {
	text, err := os.ReadFile("testdata/xkt_iso.log")
	if err != nil {
		t.Fatal(err)
	}
	var done, total int64
	if _, _, err = read(t, "xkt_iso.log", text, source.Options{Progress: func(d, of int64) { done, total = d, of }}); err != nil || total != int64(len(text)) || done > total {
		t.Errorf("error %v, progress %d of %d", err, done, total)
	}
}

// TestSniffCompressed: compressed bytes are not recognised as a log.
func TestSniffCompressed(t *testing.T) {
	var z bytes.Buffer
	gz := gzip.NewWriter(&z)
	io.WriteString(gz, old)
	gz.Close()
	if Sniff("x.gz", z.Bytes()) {
		t.Error("compressed bytes taken for a log")
	}
}
