package exposition

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

var modified = time.Date(2026, 11, 21, 2, 43, 30, 0, time.UTC)

func openText(t testing.TB, text string) source.Source {
	t.Helper()
	src, err := New("m.txt", FileOptions{Exporters: exporters,
		Open:     func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		Modified: modified, Bytes: int64(len(text)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return src
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

// points are a selector's samples as "second:value", seconds counted from 02:00:00.
func points(t testing.TB, m *recording.Memory, selector string) string {
	t.Helper()
	series, err := m.Samples(context.Background(), selector, time.UnixMilli(0), time.UnixMilli(1<<45))
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

// exporters are some that there are.
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

// TestPages: however pages are joined, each is found with its time.
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
	// le="1" and le="1.0" are one bucket: labels are normalised as Prometheus does.
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

// TestDamage: a torn line costs that line.
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
	for text, want := range map[string]string{"": "holds no sample", "# HELP a b\n": "holds no sample", "what is this\n": "byte 0"} {
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

// TestWhateverIsWrittenIsRead: pages written by a loop come back value for value.
func TestWhateverIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{2,6}_[a-z]{1,8}`), 1, 6, rapid.ID[string]).Draw(t, "names")
		n := rapid.IntRange(1, 8).Draw(t, "pages")
		var text strings.Builder
		want := make([][]float64, len(names))
		for i := range n {
			fmt.Fprintf(&text, "# scraped %d\n", 1795226400+i)
			for k, name := range names {
				v := rapid.Float64().Draw(t, "v")
				fmt.Fprintf(&text, "%s{k=\"a \\\"} b\"} %v\n", name, v)
				want[k] = append(want[k], v)
			}
			if i%2 == 1 {
				text.WriteString("# EOF\n")
			}
		}
		src, err := New("x", FileOptions{Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.String())), nil }})
		if err != nil {
			t.Fatal(err)
		}
		m := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(context.Background(), m, source.Options{Location: time.UTC}); err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}
		for k, name := range names {
			series, err := m.Samples(context.Background(), name, time.Unix(0, 0), time.Unix(1<<33, 0))
			if err != nil || len(series) != 1 || len(series[0].Points) != n {
				t.Fatalf("%s: %v, error %v; want %d samples of\n%s", name, series, err, n, text.String())
			}
			for i, p := range series[0].Points {
				if p.T != int64(1795226400+i)*1000 || math.Float64bits(p.F) != math.Float64bits(want[k][i]) {
					t.Fatalf("%s sample %d: %v, want %v", name, i, p, want[k][i])
				}
			}
		}
	})
}

// TestLongFile: pages are handed on one by one, none is kept.
func TestLongFile(t *testing.T) {
	one := []byte(page1(7))
	src, err := New("big.txt", FileOptions{Open: func() (io.ReadCloser, error) { return io.NopCloser(&repeat{b: one, n: 5000}), nil }, Modified: modified})
	if err != nil {
		t.Fatal(err)
	}
	m := recording.NewMemory(recording.MemoryOptions{})
	if err := src.Read(context.Background(), m, source.Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	if d := src.Describe(); d.Samples != 5000 || d.To.Sub(d.From) != 4999*time.Second {
		t.Errorf("described as %+v", d)
	}
}

type repeat struct {
	b   []byte
	n   int
	buf []byte
}

func (r *repeat) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		if r.n == 0 {
			return 0, io.EOF
		}
		r.n--
		r.buf = r.b
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// fakeExporter answers within a synctest bubble, without a network.
type fakeExporter func(*http.Request) (status int, contentType, body string, delay time.Duration)

func (f fakeExporter) RoundTrip(r *http.Request) (*http.Response, error) {
	status, contentType, body, delay := f(r)
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func openFake(t *testing.T, raw string, env map[string]string, f fakeExporter) source.Source {
	t.Helper()
	src, err := OpenURL(raw, URLOptions{Exporters: exporters, Transport: f, Getenv: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// TestSchedule: pages are asked for at whole multiples of the period, counted at the
// time they were asked for, and a page that fails leaves a gap.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // start off the grid
		begin := time.Now()
		var asked []time.Duration
		src := openFake(t, "http://db1:2379/metrics", nil, func(*http.Request) (int, string, string, time.Duration) {
			asked = append(asked, time.Since(begin))
			switch n := len(asked); n {
			case 3:
				return 200, openMetricsType, "# TYPE etcd_a gauge\netcd_a 3\n# EOF\n", 1500 * time.Millisecond // a stall
			case 5, 6:
				return 0, "", "", 0
			default:
				return 200, textType, fmt.Sprintf("etcd_a %d\n", n), 20 * time.Millisecond
			}
		})
		m := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(t.Context(), m, source.Options{Period: time.Second, For: 9 * time.Second}); err != nil {
			t.Fatal(err)
		}
		ms := func(n ...int) (out []time.Duration) {
			for _, v := range n {
				out = append(out, time.Duration(v)*time.Millisecond)
			}
			return out
		}
		if want := ms(0, 700, 1700, 3700, 4700, 5700, 6700, 7700, 8700); !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}
		series, err := m.Samples(t.Context(), "etcd_a", begin, begin.Add(time.Minute))
		if err != nil || len(series) != 1 {
			t.Fatal(series, err)
		}
		got := ""
		for _, p := range series[0].Points {
			got += fmt.Sprintf(" %d:%v", p.T-begin.UnixMilli(), p.F)
		}
		if want := " 0:1 700:2 1700:3 3700:4 6700:7 7700:8 8700:9"; got != want {
			t.Errorf("samples%s, want%s", got, want)
		}
		notes := m.Notes()
		if len(notes) != 1 || notes[0].Kind != recording.NoteGap || notes[0].From.Sub(begin) != 3700*time.Millisecond || notes[0].To.Sub(begin) != 6700*time.Millisecond {
			t.Errorf("notes %+v, want a gap from 3.7 to 6.7 s", notes)
		}
		if d := src.Describe(); d.Engine != "etcd" || d.Period != time.Second || d.Samples != 7 || !src.Live() {
			t.Errorf("described as %+v", d)
		}
	})
}

// TestEndOfContext: whoever stops watching has what came until then, and no error.
func TestEndOfContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		src := openFake(t, "http://db1/metrics", nil, func(*http.Request) (int, string, string, time.Duration) {
			return 200, textType, "pg_up 1\n", 0
		})
		m := recording.NewMemory(recording.MemoryOptions{})
		if err := src.Read(ctx, m, source.Options{}); err != nil {
			t.Fatal(err)
		}
		if d := src.Describe(); d.Samples != 4 {
			t.Errorf("%d samples, want 4", d.Samples)
		}
	})
}

// TestSecrets: credentials reach the server, and nothing else.
func TestSecrets(t *testing.T) {
	for name, tt := range map[string]struct {
		url  string
		env  map[string]string
		want string
	}{
		"URL":         {"http://annika:s3cret@db1/metrics", map[string]string{EnvToken: "t0ken"}, "Basic YW5uaWthOnMzY3JldA=="},
		"environment": {"http://db1/metrics", map[string]string{EnvUser: "annika", EnvPassword: "s3cret"}, "Basic YW5uaWthOnMzY3JldA=="},
		"token":       {"http://db1/metrics?token=s3cret", map[string]string{EnvToken: "t0ken"}, "Bearer t0ken"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			status := 200
			src := openFake(t, tt.url, tt.env, func(r *http.Request) (int, string, string, time.Duration) {
				got = r.Header.Get("Authorization")
				return status, textType, "up 1\n", 0
			})
			m := recording.NewMemory(recording.MemoryOptions{})
			if err := src.Read(t.Context(), m, source.Options{For: time.Nanosecond}); err != nil {
				t.Fatal(err)
			}
			texts := fmt.Sprint(src.Describe(), m.Sources(), m.Notes())
			for _, status = range []int{0, 401, 404, 500} {
				texts += fmt.Sprint(src.Read(t.Context(), m, source.Options{}))
			}
			if got != tt.want {
				t.Errorf("sent %q, want %q", got, tt.want)
			}
			for _, secret := range []string{"s3cret", "t0ken", "YW5u", "annika"} {
				if strings.Contains(texts, secret) {
					t.Errorf("%q appears in %s", secret, texts)
				}
			}
		})
	}
	if _, err := OpenURL("http://annika:s3cret@db1:port/metrics", URLOptions{}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error of a malformed URL: %v", err)
	}
}

func TestURLErrors(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		case "/empty":
		case "/prose":
			io.WriteString(w, "hello there world\n")
		case "/huge":
			block := bytes.Repeat([]byte("# zeros\n"), 1<<16)
			for range PageBytesMax/len(block) + 2 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		case "/auth":
			w.WriteHeader(401)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/torn":
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "up 1\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "up 1\n") }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for url, want := range map[string]string{
		plain.URL + "/html":    "a web page",
		plain.URL + "/empty":   "returns no metrics",
		plain.URL + "/prose":   "not with metrics",
		plain.URL + "/huge":    "more than 64 MiB",
		plain.URL + "/auth":    EnvToken,
		plain.URL + "/loop":    "too many redirects",
		plain.URL + "/torn":    "unexpected EOF",
		plain.URL + "/nowhere": "check the path",
		secure.URL:             "not trusted",
		gone.URL:               "check the host and port",
		"https" + strings.TrimPrefix(plain.URL, "http"):   "try http://",
		"http://no.such.host.invalid/metrics":             "check the host name",
		"http" + strings.TrimPrefix(secure.URL, "https"):  "400",
		"http://127.0.0.1:1/metrics?access_token=s3cret&": "check the host and port",
	} {
		src, err := OpenURL(url, URLOptions{Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		m := recording.NewMemory(recording.MemoryOptions{})
		err = src.Read(t.Context(), m, source.Options{Period: 2 * time.Minute}) // whose answers may take as long, on whatever machine
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: error %v, want one with %q", url, err, want)
		}
	}
	src, err := OpenURL(secure.URL, URLOptions{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Read(t.Context(), recording.NewMemory(recording.MemoryOptions{}), source.Options{For: 1}); err != nil {
		t.Errorf("with Insecure: %v", err)
	}
	for _, raw := range []string{"ftp://host/metrics", "http://", "host:9100"} {
		if _, err := OpenURL(raw, URLOptions{}); err == nil {
			t.Errorf("OpenURL(%q) took it", raw)
		}
	}
}

// FuzzFile reads anything: no panic, no endless loop, values only that were there.
func FuzzFile(f *testing.F) {
	f.Add(page1(7) + page1(8))
	f.Add("# scraped 1795226405\n" + page1(7) + "# EOF\n# scraped 1795226406\n" + page1(8) + "# EOF\n")
	f.Add("a 1 1795226405000\na 2 1795226406000\nb{x=\"y\"} NaN\n")
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} 1 # {id=\"x\"} 0.5\na_count 1\n# EOF\n")
	f.Add("a{b=\"\\")
	f.Add("Sat Nov 21 02:00:05 UTC 2026\n\xff\xfe\n{\"a b\",c=\"d\"} 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, d, err := readText(t, text, source.Options{})
		if err != nil {
			return
		}
		if _, err := m.Metrics(context.Background()); err != nil {
			t.Fatal(err)
		}
		if d.Samples < 0 || d.To.Before(d.From) {
			t.Fatalf("described as %+v", d)
		}
	})
}

func BenchmarkFile(b *testing.B) {
	one := []byte(page1(7))
	const pages = 2000
	src, err := New("big.txt", FileOptions{Open: func() (io.ReadCloser, error) { return io.NopCloser(&repeat{b: one, n: pages}), nil }, Modified: modified})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(one)) * pages)
	for b.Loop() {
		if err := src.Read(context.Background(), recording.NewMemory(recording.MemoryOptions{}), source.Options{Location: time.UTC}); err != nil {
			b.Fatal(err)
		}
	}
}
