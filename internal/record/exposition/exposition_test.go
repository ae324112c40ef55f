package exposition

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

var modified = time.Date(2026, 11, 21, 2, 43, 30, 0, time.UTC)

func openText(t testing.TB, text string) source.Source {
	t.Helper()
	return New(source.File{Path: "m.txt",
		Open:     func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		Modified: modified, Bytes: int64(len(text)),
	}, exporters)
}

func readText(t testing.TB, text string, opt source.Options) (*recording.Memory, recording.Source, error) {
	t.Helper()
	if opt.Location == nil {
		opt.Location = time.UTC
	}
	src := openText(t, text)
	m := recording.NewMemory(recording.MemoryOptions{})
	err := src.Read(context.Background(), m, opt)
	return m, src.Describe(), err
}

// points returns the samples of a selector as "second:value", in seconds since 02:00:00.
func points(t testing.TB, m *recording.Memory, selector string) string {
	t.Helper()
	series, err := m.Samples(context.Background(), recording.MustSelector(selector), time.UnixMilli(0), time.UnixMilli(1<<45))
	if err != nil {
		t.Fatal(err)
	}
	base := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC).UnixMilli()
	var out []string
	for _, s := range series {
		for _, p := range s.Points {
			out = append(out, fmt.Sprintf("%g:%g", float64(p.T-base)/1000, p.F))
		}
	}
	return strings.Join(out, " ")
}

// exporters are some existing exporters.
var exporters = []Exporter{
	{Engine: "mongodb", Prefix: "mongodb", VersionMetric: "mongodb_version_info", VersionLabel: "mongodb"},
	{Engine: "etcd", Prefix: "etcd", VersionMetric: "etcd_server_version", VersionLabel: "server_version"},
	{Engine: "postgres", Prefix: "pg", VersionMetric: "pg_static", VersionLabel: "short_version"},
	{Engine: "iris", Prefix: "iris", Product: "IRIS", Page: "/api/monitor/metrics"},
}

const etcdPage = `# HELP etcd_disk_wal_fsync_duration_seconds The latency distributions of fsync called by WAL.
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} %[1]d
etcd_disk_wal_fsync_duration_seconds_bucket{le="1"} %[1]d
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} %[1]d
etcd_disk_wal_fsync_duration_seconds_sum 0.5
etcd_disk_wal_fsync_duration_seconds_count %[1]d
# HELP etcd_server_version Which version is running. 1 for 'server_version' label with current version.
# TYPE etcd_server_version gauge
etcd_server_version{server_version="3.6.1"} 1
# HELP etcd_debugging_lease_ttl_total Empty.
# TYPE etcd_debugging_lease_ttl_total summary
etcd_debugging_lease_ttl_total{quantile="0.5"} NaN
`

func page1(n int) string { return fmt.Sprintf(etcdPage, n) }

// TestPages: each page is found with its time, no matter how pages are joined.
func TestPages(t *testing.T) {
	eof := func(n int) string { return page1(n) + "# EOF\n" }
	const s = 1795226400 // 2026-11-21 02:00:00 UTC
	for name, tt := range map[string]struct {
		text, want string
		notes      int
	}{
		"one page":            {page1(7), "2610:7", 2},
		"no separator":        {page1(7) + page1(8) + page1(9), "2608:7 2609:8 2610:9", 1},
		"EOF":                 {eof(7) + eof(8), "2609:7 2610:8", 1},
		"EOF cut short":       {eof(7) + page1(8), "2609:7 2610:8", 1},
		"EOF without newline": {eof(7) + strings.TrimSuffix(eof(8), "\n"), "2609:7 2610:8", 1},
		"scraped":             {fmt.Sprintf("# scraped %d\n%s# scraped %d\n%s", s+5, page1(7), s+6, page1(8)), "5:7 6:8", 0},
		"milliseconds":        {fmt.Sprintf("# scraped %d250\n%s# scraped %d250\n%s", s+5, page1(7), s+6, page1(8)), "5.25:7 6.25:8", 0},
		"nanoseconds":         {fmt.Sprintf("# %d250000000\n%s# %d250000000\n%s", s+5, page1(7), s+6, page1(8)), "5.25:7 6.25:8", 0},
		"fraction":            {fmt.Sprintf("# time: %d.5\n%s# time: %d.5\n%s", s+5, page1(7), s+6, page1(8)), "5.5:7 6.5:8", 0},
		"RFC 3339":            {"# scraped 2026-11-21T03:00:05+01:00\n" + page1(7) + "\n# scraped 2026-11-21T03:00:06+01:00\n" + page1(8), "5:7 6:8", 0},
		"date":                {"Sat Nov 21 02:00:05 UTC 2026\n" + page1(7) + "Sat Nov 21 02:00:06 UTC 2026\n" + page1(8), "5:7 6:8", 0},
		"date, US":            {"Sat Nov 21 02:00:05 AM UTC 2026\n" + page1(7) + "Sat Nov 21 02:00:06 AM UTC 2026\n" + page1(8), "5:7 6:8", 0},
		"date -R":             {"Sat, 21 Nov 2026 02:00:05 +0000\n" + page1(7) + "Sat, 21 Nov 2026 02:00:06 +0000\n" + page1(8), "5:7 6:8", 0},
		"date, odd zone":      {"Sat Nov 21 02:00:05 XYZT 2026\n" + page1(7) + "Sat Nov 21 02:00:06 XYZT 2026\n" + page1(8), "5:7 6:8", 0},
		"date after page":     {page1(7) + "Sat Nov 21 02:00:05 UTC 2026\n" + page1(8) + "Sat Nov 21 02:00:06 UTC 2026\n", "5:7 6:8", 0},
		"date after EOF":      {eof(7) + "Sat Nov 21 02:00:05 UTC 2026\n" + eof(8) + "Sat Nov 21 02:00:06 UTC 2026\n", "5:7 6:8", 0},
		"date and EOF":        {"Sat Nov 21 02:00:05 UTC 2026\n" + eof(7) + "Sat Nov 21 02:00:06 UTC 2026\n" + eof(8), "5:7 6:8", 0},
		"failed scrape":       {"Sat Nov 21 02:00:05 UTC 2026\n" + page1(7) + "Sat Nov 21 02:00:06 UTC 2026\nSat Nov 21 02:00:07 UTC 2026\n" + page1(8), "5:7 7:8", 0},
		"node time":           {page1(7) + "node_time_seconds 1.795226405e+09\n" + page1(8) + "node_time_seconds 1.795226406e+09\n", "5:7 6:8", 0},
		"own timestamps":      {"etcd_disk_wal_fsync_duration_seconds_count 7 1795226405000\netcd_disk_wal_fsync_duration_seconds_count 8 1795226406000\n", "5:7 6:8", 0},
		"own timestamps, OM":  {"# TYPE etcd_disk_wal_fsync_duration_seconds summary\netcd_disk_wal_fsync_duration_seconds_count 7 1795226405\netcd_disk_wal_fsync_duration_seconds_count 8 1795226406.5\n# EOF\n", "5:7 6.5:8", 0},
		"CRLF":                {strings.ReplaceAll("# scraped 1795226405\n"+page1(7)+"# scraped 1795226406\n"+page1(8), "\n", "\r\n"), "5:7 6:8", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, d, err := readText(t, tt.text, source.Options{})
			if err != nil {
				t.Fatal(err)
			}

			if got := points(t, m, "etcd_disk_wal_fsync_duration_seconds_count"); got != tt.want {
				t.Errorf("samples %s, want %s", got, tt.want)
			}

			if n := m.Notes(); len(n) != tt.notes {
				t.Errorf("notes %v, want %d", n, tt.notes)
			}

			if d.Engine != "etcd" || d.Kind != "openmetrics" {
				t.Errorf("described as %+v", d)
			}
		})
	}
}

func TestClassicHistogramAndVersion(t *testing.T) {
	m, d, err := readText(t, page1(7)+page1(8), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Version != "3.6.1" || d.Samples != 2 || d.Period != time.Second {
		t.Errorf("described as %+v", d)
	}
	// le="1" and le="1.0" are one bucket: labels are normalised as in Prometheus.
	if got := points(t, m, `etcd_disk_wal_fsync_duration_seconds_bucket{le="1.0"}`); got != "2609:7 2610:8" {
		t.Errorf("bucket %q", got)
	}
	if got := points(t, m, "etcd_debugging_lease_ttl_total"); got != "" {
		t.Errorf("NaN became %q", got)
	}
}

func TestEngines(t *testing.T) {
	for text, want := range map[string]string{
		`pg_static{version="PostgreSQL 15.4 on x86_64",short_version="15.4.0"} 1`: "postgres 15.4.0",
		`mongodb_version_info{mongodb="8.0.4"} 1`:                                 "mongodb 8.0.4",
		`iris_wd_cycle_time 12`:                                                   "iris ",
		"node_uname_info{nodename=\"db1\"} 1\nnode_load1 3":                       " ",
		"go_goroutines 4": " ",
		"node_load1 3\netcd_server_version{server_version=\"3.4.23\"} 1\nfoo_x 17": "etcd 3.4.23",
	} {
		_, d, err := readText(t, text+"\n", source.Options{})
		if got := d.Engine + " " + d.Version; err != nil || got != want {
			t.Errorf("%s: %q, error %v; want %q", text, got, err, want)
		}
	}
}

// TestDamage: a torn line costs only that line.
func TestDamage(t *testing.T) {
	torn := strings.Replace(page1(8), "etcd_disk_wal_fsync_duration_seconds_sum 0.5", "etcd_disk_wal_fsync_dura etcd_", 1)
	m, _, err := readText(t, page1(7)+torn+page1(9), source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := points(t, m, "etcd_disk_wal_fsync_duration_seconds_count"); got != "2608:7 2609:8 2610:9" {
		t.Errorf("count %s", got)
	}

	if got := points(t, m, "etcd_disk_wal_fsync_duration_seconds_sum"); got != "2608:0.5 2610:0.5" {
		t.Errorf("sum %s", got)
	}

	notes := m.Notes()
	at := int64(strings.Index(page1(7)+torn, "etcd_disk_wal_fsync_dura etcd_"))
	if len(notes) != 2 || notes[0].Kind != recording.NoteDamage || notes[0].Offset != at {
		t.Errorf("notes %+v, want damage at byte %d", notes, at)
	}

	// The last line may have lost digits.
	m, _, err = readText(t, "a_x 1\nb_x 2\na_x 3\nb_x 40", source.Options{})
	if err != nil {
		t.Fatal(err)
	}

	if got := points(t, m, "b_x"); got != "2609:2" {
		t.Errorf("torn last line: %s", got)
	}
}

func TestNothing(t *testing.T) {
	for text, want := range map[string]string{"": "has no samples", "# HELP a b\n": "has no samples", "what is this\n": "byte 0"} {
		if _, _, err := readText(t, text, source.Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "m.txt") {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		page1(1): true, "up 1\n": true, "up{a=\"b c\"} 1 1795226405000\n": true,
		"Sat Nov 21 02:00:05 UTC 2026\nup 1\n": true, "# a comment\nup 1\n": true,
		"hello world\n": false, "": false, "{\"a\": 1}\n": false, "up one\n": false,
		"Linux 6.1.0 (db1)  11/21/26  _x86_64_  (2 CPU)\n":                     false,
		`{"t":{"$date":"2026-11-21T02:00:05.000+00:00"},"s":"I"}` + "\n":       false,
		"2026-11-21 02:00:05.123 UTC [42] LOG:  checkpoint starting: time\n":   false,
		"2026-11-21T02:00:05.000+0000 I STORAGE  [initandlisten] wiredtiger\n": false,
	} {
		if got := Sniff("x", []byte(text)); got != want {
			t.Errorf("Sniff(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	text := ""
	for i := range 5 {
		text += fmt.Sprintf("# scraped %d\nnode_a %d\nnode_b 1\n", 1795226400+i, i)
	}

	base := time.Unix(1795226400, 0)
	m, d, err := readText(t, text, source.Options{
		ClockOffset: 10 * time.Second, From: base.Add(11 * time.Second), To: base.Add(13 * time.Second),
		Want: func(n string) bool { return n == "node_a" },
	})
	if err != nil {
		t.Fatal(err)
	}

	if got := points(t, m, "node_a"); got != "11:1 12:2 13:3" || points(t, m, "node_b") != "" || d.Samples != 3 {
		t.Errorf("samples %s, described as %+v", got, d)
	}
}
