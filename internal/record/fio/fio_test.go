package fio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// onDisk is the file at a path.
func onDisk(path string) source.Source {
	return New(source.File{Path: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
}

func readPath(t testing.TB, path string, opt source.Options) (*recording.Memory, recording.Source) {
	t.Helper()
	src := onDisk(path)
	m := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(context.Background(), m, opt); err != nil {
		t.Fatal(err)
	}
	return m, src.Describe()
}

func readText(text []byte, opt source.Options) (*recording.Memory, recording.Source, error) {
	src := New(source.File{Path: "no/such/folder/x.json", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
	m := recording.NewMemory(recording.MemoryOptions{})
	err := src.Read(context.Background(), m, opt)
	return m, src.Describe(), err
}

// samplesOf returns a selector's samples, those of several series one after another.
func samplesOf(t testing.TB, m *recording.Memory, selector string) []float64 {
	t.Helper()
	series, err := m.Samples(context.Background(), recording.MustSelector(selector), time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, s := range series {
		for _, p := range s.Points {
			out = append(out, p.F)
		}
	}
	return out
}

// TestSerialAppends: 1,823 appends of 2,300 bytes, each followed by fdatasync. The expected values are
// those that fio printed (see the file).
func TestSerialAppends(t *testing.T) {
	m, d := readPath(t, "testdata/serial.json", source.Options{})
	for selector, want := range map[string][]float64{
		"fio_write_ios_total":                        {0, 1823},
		"fio_write_bytes_total":                      {0, 4192900},
		"fio_write_iops":                             {5938.110749, 5938.110749},
		"fio_sync_ios_total":                         {0, 1823},
		"fio_sync_latency_mean_seconds":              {164790.598464e-9, 164790.598464e-9},
		"fio_sync_latency_max_seconds":               {3266992e-9, 3266992e-9},
		`fio_sync_latency_seconds{quantile="0.99"}`:  {296960e-9, 296960e-9},
		`fio_sync_latency_seconds{quantile="0.999"}`: {2605056e-9, 2605056e-9},
		"fio_job_iodepth":                            {1, 1},
		`fio_job_info{rw="write",bs="2300",fdatasync="1",ioengine="sync"}`: {1, 1},
		"fio_read_iops": nil,
	} {
		got := samplesOf(t, m, selector)
		if len(got) != len(want) {
			t.Errorf("%s = %v, want %v", selector, got, want)
			continue
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12*math.Max(1, want[i]) {
				t.Errorf("%s = %v, want %v", selector, got, want)
			}
		}
	}

	if d.Version != "fio-3.33" || d.From.IsZero() {
		t.Errorf("described as %+v", d)
	}

	// The log next to it has a row for each append: none may be lost, nor counted twice.
	sum := 0.0
	for _, v := range samplesOf(t, m, "fio_log_write_iops") {
		sum += v // one-second slots
	}

	if sum != 1823 {
		t.Errorf("the log's slots hold %v requests, want 1823", sum)
	}

	if top := samplesOf(t, m, `fio_log_write_latency_seconds{quantile="1"}`); len(top) == 0 || top[0] != maxOfLog(t, "testdata/wal_lat.1.log")/1e9 {
		t.Errorf("largest latency %v, want %v", top, maxOfLog(t, "testdata/wal_lat.1.log")/1e9)
	}

	if n := m.Notes(); len(n) != 0 {
		t.Errorf("notes %v", n)
	}
}

func maxOfLog(t *testing.T, path string) float64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	top := 0.0
	for line := range strings.Lines(string(text)) {
		var ms, ns float64
		if _, err := fmt.Sscanf(line, "%g, %g,", &ms, &ns); err != nil {
			t.Fatal(err)
		}
		top = max(top, ns)
	}
	return top
}

// TestStatusInterval: one report per second, with the processes of one job combined.
func TestStatusInterval(t *testing.T) {
	m, d := readPath(t, "testdata/two.json", source.Options{})
	iops := samplesOf(t, m, `fio_write_iops{job="randwrite"}`)
	ios := samplesOf(t, m, `fio_write_ios_total{job="randwrite"}`)
	if len(iops) != 5 || len(ios) != 5 || ios[0] != 0 {
		t.Fatalf("iops %v, ios %v: want the start and four reports", iops, ios)
	}

	for _, v := range iops[:4] { // the last one covers 109 ms
		if v < 2900 || v > 3100 {
			t.Errorf("rate %v, fio was held to 3,000", v)
		}
	}

	if depth := samplesOf(t, m, `fio_job_iodepth{job="randwrite"}`); depth[0] != 32 {
		t.Errorf("depth of randwrite %v, want 32", depth)
	}

	if depth := samplesOf(t, m, `fio_job_iodepth{job="readers"}`); depth[0] != 2 {
		t.Errorf("depth of readers %v, want 2 processes x 1", depth)
	}

	reads := samplesOf(t, m, `fio_read_ios_total{job="readers"}`)
	if last := reads[len(reads)-1]; last < 1190 || last > 1210 {
		t.Errorf("%v reads, want 2 processes x 200/s x 3 s", last)
	}

	if logs := samplesOf(t, m, `fio_log_write_iops{job="randwrite",process="1"}`); len(logs) != 4 || math.Abs(logs[0]-3002) > 5 {
		t.Errorf("the IOPS log's seconds %v, want 3,002 first", logs)
	}

	if logs := samplesOf(t, m, `fio_log_read_latency_mean_seconds{job="readers",process="3"}`); len(logs) < 3 || math.Abs(logs[0]-(107392+115229)/2e9) > 1e-12 {
		t.Errorf("the third process's latency log %v, want %v first", logs, (107392+115229)/2e9)
	}

	if q := samplesOf(t, m, `fio_log_write_latency_seconds`); q != nil {
		t.Errorf("quantiles %v of windows' means", q)
	}

	if n := m.Notes(); len(n) != 1 || !strings.Contains(n[0].Text, "upper bound") {
		t.Errorf("notes %v, want one about quantiles of several processes", n)
	}

	if d.To.Sub(d.From) < 2*time.Second || d.Samples < 5 {
		t.Errorf("described as %+v", d)
	}
}

// TestTextAround: the normal report and warnings around the JSON are skipped.
func TestTextAround(t *testing.T) {
	m, _ := readPath(t, "testdata/group.json", source.Options{})
	if got := samplesOf(t, m, "fio_write_ios_total"); len(got) != 2 || got[1] < 8900 {
		t.Errorf("writes %v", got)
	}

	text, err := os.ReadFile("testdata/serial.json")
	if err != nil {
		t.Fatal(err)
	}

	noisy := append([]byte("fio: this platform does not support {process shared} mutexes\nnote: both iodepth >= 1\n"), text...)
	noisy = append(noisy, "\nRun status group 0 (all jobs):\n  WRITE: {x}\n"...)
	if !Sniff("x", noisy[:2000]) {
		t.Error("not recognised after warnings")
	}

	m, _, err = readText(noisy, source.Options{})
	if err != nil || len(samplesOf(t, m, "fio_write_iops")) != 2 {
		t.Errorf("error %v", err)
	}
}

func TestDamage(t *testing.T) {
	two, err := os.ReadFile("testdata/two.json")
	if err != nil {
		t.Fatal(err)
	}

	// Cut within the last report.
	m, _, err := readText(two[:len(two)-500], source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := samplesOf(t, m, `fio_write_ios_total{job="randwrite"}`); len(got) != 4 {
		t.Errorf("writes %v, want the start and three reports", got)
	}

	n := m.Notes()
	if at := bytes.LastIndex(two, []byte("\n{")) + 1; len(n) != 2 || n[1].Kind != recording.NoteDamage || n[1].Offset != int64(at) {
		t.Errorf("notes %+v, want damage at byte %d", n, at)
	}

	for text, want := range map[string]string{
		"":                                      "no report",
		"{}":                                    "fio version",
		`{"fio version":"fio-3"}`:               "timestamp_ms",
		`{"fio version":"fio-3","timestamp":1}`: "no jobs",
		`{"fio version":"fio-3","timestamp":1,"jobs":[{"write":7}]}`:                 "jobs.write",
		`{"fio version":"fio-3","timestamp_ms":9223372036854775807,"jobs":[{}]}`:     "timestamp_ms",
		`{"fio version":"fio-3","timestamp":9223372036854775807,"jobs":[{"a":"b"}]}`: "timestamp_ms",
		"{\"fio version\"": "closing bracket",
	} {
		if _, _, err := readText([]byte(text), source.Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// report makes a report of one job.
func report(endMs, runtimeMs int64, ios float64) string {
	return fmt.Sprintf(`{"fio version":"fio-3.36","timestamp_ms":%d,"jobs":[{"jobname":"a","job_start":%d,
"write":{"io_bytes":%g,"total_ios":%g,"iops":%g,"runtime":%d,"lat_ns":{"mean":1000,"max":2000,"N":%g}}}]}
`, endMs, endMs-runtimeMs, ios*4096, ios, ios/float64(runtimeMs)*1000, runtimeMs, ios)
}

// TestRuns: reports of the same run continue; those of another run start at zero again.
func TestRuns(t *testing.T) {
	text := report(1_795_000_001_000, 1000, 100) + report(1_795_000_002_000, 2000, 300) + report(1_795_000_002_000, 2000, 300) +
		report(1_795_000_102_000, 2000, 50)
	m, d, err := readText([]byte(text), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := fmt.Sprint(samplesOf(t, m, "fio_write_ios_total")); got != "[0 100 300 0 50]" {
		t.Errorf("writes %s, want [0 100 300 0 50]", got)
	}

	if got := fmt.Sprint(samplesOf(t, m, "fio_write_iops")); got != "[100 100 200 25 25]" {
		t.Errorf("rates %s, want [100 100 200 25 25]", got)
	}

	if want := time.UnixMilli(1_795_000_000_000); !d.From.Equal(want) || d.Samples != 5 {
		t.Errorf("described as %+v, want from %v", d, want)
	}
}

func TestOptions(t *testing.T) {
	text := report(1_795_000_001_000, 1000, 100) + report(1_795_000_002_000, 2000, 300)
	m, d, err := readText([]byte(text), source.Options{
		ClockOffset: time.Hour, From: time.UnixMilli(1_795_003_601_000), To: time.UnixMilli(1_795_003_601_000),
		Want: func(n string) bool { return n == "fio_write_iops" },
	})
	if err != nil {
		t.Fatal(err)
	}

	metrics, err := m.Metrics(context.Background())
	if err != nil || len(metrics) != 1 || d.Samples != 1 || !d.From.Equal(time.UnixMilli(1_795_003_601_000)) {
		t.Errorf("metrics %v, error %v, described as %+v", metrics, err, d)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := onDisk("testdata/serial.json").Read(ctx, m, source.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled read: %v", err)
	}
}

// TestBadLog: invalid rows are counted, the rest is read.
func TestBadLog(t *testing.T) {
	dir := t.TempDir()
	text := strings.Replace(report(1_795_000_001_000, 1000, 2), `"job_start"`, `"job options":{"write_lat_log":"/elsewhere/p"},"job_start"`, 1)
	for name, s := range map[string]string{
		"x.json":      text,
		"p_lat.1.log": "1, 5000, 1, 4096, 0\nnonsense\n2, 7000, 1, 4096, 0, 0\n3, 1, 9, 4096, 0\n1500, 9000, 1, 4096, 0\n1501, 99",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	m, _ := readPath(t, filepath.Join(dir, "x.json"), source.Options{})
	if got := fmt.Sprint(samplesOf(t, m, "fio_log_write_iops")); got != "[2 1]" {
		t.Errorf("seconds %s, want [2 1]", got)
	}

	if got := fmt.Sprint(samplesOf(t, m, `fio_log_write_latency_seconds{quantile="0.5"}`)); got != "[5e-06 9e-06]" {
		t.Errorf("medians %s", got)
	}

	if n := m.Notes(); len(n) != 1 || !strings.Contains(n[0].Text, "line 2") {
		t.Errorf("notes %v, want one about line 2", n)
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		"{\n  \"fio version\" : \"fio-3.33\"":          true,
		"warning\n{\n  \"fio version\" : \"fio-3.33\"": true,
		"{\"sysstat\": {}}":                            false,
		"the \"fio version\" is 3":                     false,
		"":                                             false,
	} {
		if got := Sniff("x", []byte(text)); got != want {
			t.Errorf("Sniff(%q) = %v, want %v", text, got, want)
		}
	}
}

// FuzzJSON reads arbitrary input: no panic, no endless loop, and no value that is not a number.
func FuzzJSON(f *testing.F) {
	for _, name := range []string{"serial.json", "group.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
	}

	f.Add([]byte(report(1_795_000_001_000, 1000, 100) + report(1_795_000_000_500, 2000, 300)))
	f.Add([]byte(`{"fio version":"x","timestamp_ms":1,"jobs":[{"jobname":"a","job_runtime":-5,"write":{"total_ios":1e308,"runtime":9223372036854775807,"lat_ns":{"N":1e308,"mean":1e308,"percentile":{"1e999":1,"0.1":2,"0.10":3}}}},{"jobname":"a","write":{"total_ios":1e308,"lat_ns":{"N":1e308,"mean":1e308}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, d, err := readText(text, source.Options{})
		if err != nil {
			return
		}
		if _, err := m.Metrics(context.Background()); err != nil {
			t.Fatal(err)
		}
		if d.To.Before(d.From) {
			t.Fatalf("described as %+v", d)
		}
	})
}

func FuzzLogRow(f *testing.F) {
	f.Add("1, 5000, 1, 4096, 0")
	f.Add("1, 5000, 1, 4096, 0, 0x2001")
	f.Add("-1,,1,9999999999999999999,")
	f.Fuzz(func(t *testing.T, line string) {
		if r, ok := parseRow(line); ok && (r.ms < 0 || r.ms > logMsMax || r.dir < 0 || r.dir >= directions || r.value < 0 || r.bytes < 0) {
			t.Errorf("parseRow(%q) = %+v", line, r)
		}
	})
}
