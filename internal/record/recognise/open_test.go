package recognise_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plimsoll/internal/engine"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// opener supports all engines.
var opener = recognise.For(engine.All().Sources())

func noEnv(string) string { return "" }

func open(t *testing.T, arg string) (recognise.Input, error) {
	t.Helper()
	in, err := opener.Open(t.Context(), arg, recognise.OpenOptions{Getenv: noEnv})
	if in.Reader != nil {
		t.Cleanup(func() { in.Reader.Close() })
	}
	if (in.Source == nil) == (in.Reader == nil) != (err != nil) {
		t.Fatalf("%s: input %+v with error %v", arg, in, err)
	}
	return in, err
}

func write(t *testing.T, path string, text []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func file(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func gzipped(t *testing.T, text []byte, modified time.Time) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.ModTime = modified
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cut truncates a file, but keeps most of it.
func cut(b []byte) []byte { return b[:len(b)*9/10] }

func zstded(t *testing.T, text []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(text, nil)
}

const metrics = "# TYPE etcd_a gauge\netcd_a 1\n"

// TestRecognised: the content decides, not the name of the file.
func TestRecognised(t *testing.T) {
	dir := t.TempDir()
	iostat, js, fioJSON := file(t, "../iostat/testdata/xmt_c.log"), file(t, "../iostat/testdata/xt.json"), file(t, "../fio/testdata/serial.json")
	for name, tt := range map[string]struct {
		text []byte
		kind string
	}{
		"a.pdf":        {iostat, "iostat"},
		"b":            {js, "iostat"},
		"c.log":        {fioJSON, "fio"},
		"d.json":       {[]byte(metrics), "openmetrics"},
		"a.gz":         {gzipped(t, iostat, time.Time{}), "iostat"},
		"a.zst":        {zstded(t, iostat), "iostat"},
		"b.gz":         {gzipped(t, js, time.Time{}), "iostat"},
		"c.zst":        {zstded(t, fioJSON), "fio"},
		"d.gz.renamed": {gzipped(t, []byte(metrics), time.Time{}), "openmetrics"},
		"cut.gz":       {cut(gzipped(t, iostat, time.Time{})), "iostat"},
		"cut.json.gz":  {cut(gzipped(t, bytes.Repeat(fioJSON, 40), time.Time{})), "fio"},
		"cut.txt.gz":   {cut(gzipped(t, bytes.Repeat([]byte(metrics), 9000), time.Time{})), "openmetrics"},
		"warned.json":  {append([]byte("fio: warning {x}\n"), fioJSON...), "fio"},
	} {
		in, err := open(t, write(t, filepath.Join(dir, name), tt.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		if got := in.Describe().Kind; got != tt.kind {
			t.Errorf("%s recognised as %q, want %q", name, got, tt.kind)
		}

		m := recording.NewMemory(recording.MemoryOptions{})
		if err := in.Source.Read(t.Context(), m, source.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		if torn := hasDamage(m.Notes()); torn != strings.HasPrefix(name, "cut.") {
			t.Errorf("%s: notes %v", name, m.Notes())
		}

		if list, err := m.Metrics(t.Context()); err != nil || len(list) == 0 {
			t.Errorf("%s: metrics %v, error %v", name, list, err)
		}
	}
}

func hasDamage(notes []recording.Note) bool {
	return slices.ContainsFunc(notes, func(n recording.Note) bool { return n.Kind == recording.NoteDamage })
}

// TestGzipRemembers: the time in the header of a gzip file places a log without times.
func TestGzipRemembers(t *testing.T) {
	modified := time.Date(2026, 11, 21, 2, 43, 30, 0, time.UTC)
	in, err := open(t, write(t, filepath.Join(t.TempDir(), "x.gz"), gzipped(t, file(t, "../iostat/testdata/xy_no_times.log"), modified)))
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Source.Read(t.Context(), recording.NewMemory(recording.MemoryOptions{}), source.Options{Location: time.UTC}); err != nil {
		t.Fatal(err)
	}
	if d := in.Describe(); !d.To.Equal(modified) {
		t.Errorf("last report at %v, want %v", d.To, modified)
	}
}

// TestCapture uses a real capture, if there is one.
func TestCapture(t *testing.T) {
	capture := filepath.Join("..", "..", "..", "..", "shared", "data", "ftdc", "metrics.visualzhou-example")
	if _, err := os.Stat(capture); err != nil {
		t.Skip("no capture of a real server here:", err)
	}

	text := file(t, capture)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "diagnostic.data", "metrics.2024-01-01T00-00-00Z-00000"), text)
	write(t, filepath.Join(dir, "WiredTiger"), []byte("WiredTiger 11\n"))

	for _, arg := range []string{dir, filepath.Join(dir, "diagnostic.data"), filepath.Join(dir, "diagnostic.data", "metrics.2024-01-01T00-00-00Z-00000")} {
		in, err := open(t, arg)
		if err != nil || in.Describe().Kind != "ftdc" {
			t.Errorf("%s: %+v, error %v", arg, in, err)
		}
	}

	if _, err := open(t, write(t, filepath.Join(t.TempDir(), "m.gz"), gzipped(t, text, time.Time{}))); err == nil || !strings.Contains(err.Error(), "compressed with gzip") {
		t.Errorf("compressed capture: error %v", err)
	}
}

func TestRecordingFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "incident")
	w, err := recording.Create(dir, recording.DiskOptions{})
	if err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	for _, arg := range []string{dir, filepath.Join(dir, recording.ManifestName)} {
		if in, err := open(t, arg); err != nil || in.Reader == nil {
			t.Errorf("%s: %+v, error %v", arg, in, err)
		}
	}

	if _, err := open(t, filepath.Dir(dir)); err == nil || !strings.Contains(err.Error(), "did you mean "+dir) {
		t.Errorf("the folder above: error %v", err)
	}
}

// TestNotRecognised: every error is one line that names the argument and says what it is.
func TestNotRecognised(t *testing.T) {
	dir := t.TempDir()
	tar := make([]byte, 1024)
	copy(tar[257:], "ustar")

	logged := append(bytes.Clone(tar), file(t, "../iostat/testdata/xmt_c.log")...)
	for name, tt := range map[string]struct {
		text []byte
		want string
	}{
		"empty":         {nil, "empty file"},
		"empty.gz":      {gzipped(t, nil, time.Time{}), "empty file"},
		"a.tar":         {tar, "unpack it first"},
		"log.tar":       {logged, "unpack it first"},
		"log.tgz":       {gzipped(t, logged, time.Time{}), "looks like a tar archive"},
		"a.tgz":         {gzipped(t, tar, time.Time{}), "(compressed with gzip) looks like a tar archive"},
		"a.zip":         {[]byte("PK\x03\x04...."), "zip"},
		"a.xz":          {[]byte("\xfd7zXZ\x00\x00"), "xz -d"},
		"prog":          {[]byte("\x7fELF\x02\x01"), "ELF"},
		"zap.log":       {[]byte(`{"level":"info","ts":"2026-11-21T02:00:05.000Z","caller":"x"}` + "\n"), "is unknown JSON"},
		"fio.txt":       {[]byte("wal: (groupid=0): err= 0\n  write: IOPS=1129, BW=2536KiB/s\n"), "--output-format=json"},
		"a_lat.1.log":   {[]byte("0, 13827, 1, 2300, 0\n0, 5837, 1, 2300, 0\n"), "a fio log"},
		"sa21":          {[]byte("\x96\xd5\x75\x21\x0c\x05"), "sadf -j FILE"},
		"mpstat":        {[]byte("Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n02:00:01     CPU    %usr   %nice    %sys %iowait    %irq\n"), "mpstat"},
		"pidstat":       {[]byte("Linux 6.1.0 (db1) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n10:00:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"), "pidstat"},
		"pidstat.json":  {[]byte(`{"sysstat": {"hosts": [{"nodename": "db1", "statistics": [{"timestamp": "10:00:01", "task": []}]}]}}`), "mpstat or pidstat"},
		"pt.txt":        {[]byte("  #ts device    rd_s rd_avkb rd_mb_s\n  1.0 sda        0.0     0.0     0.0\n"), "pt-diskstats"},
		"table.csv":     {[]byte("\"Time\",\"await\"\n2026-11-21 10:00:00,5\n"), "query_range"},
		"page":          {[]byte("<!DOCTYPE html><html>"), "a web page"},
		"x.json":        {[]byte(`{"a": 1}`), "is unknown JSON"},
		"x.yaml":        {[]byte("apiVersion: v1\nkind: Pod\n"), "YAML"},
		"collection.wt": {[]byte("\x41\xd8\x01\x00\x01\x00\x00\x00"), "WiredTiger"},
		"pretty.log":    {[]byte("{\n  \"t\": {\n    \"$date\": \"2026-07-20T15:00:00.000+00:00\"\n  },\n  \"s\": \"I\"\n}\n"), "with jq -c . FILE"},
		"array.log":     {[]byte(`[{"t": {"$date": "2026-07-20T15:00:00.000+00:00"}, "s": "I"}]`), "with jq -c '.[]' FILE"},
		"noise":         {[]byte{0, 1, 2, 3, 0xff}, "00 01 02 03 ff"},
		"prose":         {[]byte("Dear colleagues,\nthe database is slow\n"), `"Dear colleagues,"`},
		"long":          {bytes.Repeat([]byte("é"), 5000), "unknown text"},
		"bad.gz":        {[]byte("\x1f\x8b\x08\x00broken"), "cannot decompress"},
		"bad.zst":       {[]byte("\x28\xb5\x2f\xfdbroken?"), "cannot decompress"},
	} {
		path := write(t, filepath.Join(dir, name), tt.text)
		_, err := open(t, path)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, tt.want)
		}
	}

	empty := filepath.Join(dir, "sub", "folder")
	if err := os.MkdirAll(empty, 0o755); err != nil {
		t.Fatal(err)
	}

	logs := write(t, filepath.Join(dir, "logs", "z.log"), file(t, "../iostat/testdata/xmt_c.log"))
	for arg, want := range map[string]string{
		"":                       "empty argument",
		"-":                      "standard input",
		empty:                    "it is empty",
		filepath.Dir(empty):      "give a diagnostic.data folder",
		filepath.Dir(logs):       "for example " + logs,
		dir + "/missing":         "check the path",
		"db1:9216":               "http://db1:9216",
		"localhost:9100/x":       "http://localhost:9100/x",
		"mongodb://u:s3cret%@h":  "percent-encoded",
		"mongodb://u:s3cret@":    "example: mongodb://",
		"postgres://u:s3cret%@h": "example: postgres://",
		"ftp://u:s3cret@h":       "unknown scheme",
		"http://u:s3cret%@h":     "is not valid",
		"http://":                "is not valid",
		"/dev/null":              "a device",
	} {
		_, err := open(t, arg)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %v, want one with %q", arg, err, want)
		}
	}
}

func TestHost(t *testing.T) {
	in, err := open(t, "host")
	if err != nil {
		t.Skip("no /proc here:", err)
	}
	if !in.Source.Live() || in.Describe().Kind != "host" {
		t.Errorf("described as %+v", in.Describe())
	}
}

// server responds like a Prometheus server, an exporter, or neither.
func server(t *testing.T, prometheus, pages bool, denied int) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case denied != 0:
			w.WriteHeader(denied)
		case prometheus && strings.HasPrefix(r.URL.Path, "/api/v1/query"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"scalar","result":[1795226400,"1"]}}`)
		case pages && r.URL.Path == "/metrics", pages && r.URL.Path == "/api/monitor/metrics":
			io.WriteString(w, metrics)
		default:
			http.NotFound(w, r)
		}
	}))

	t.Cleanup(s.Close)
	return s.URL
}

func TestURLs(t *testing.T) {
	both, exporter, neither := server(t, true, true, 0), server(t, false, true, 0), server(t, false, false, 0)
	for arg, want := range map[string]string{
		both:                               "prometheus",
		both + "/":                         "prometheus",
		both + "/metrics":                  "metrics-url",
		exporter:                           "metrics-url",
		exporter + "/":                     "metrics-url",
		exporter + "/metrics":              "metrics-url",
		exporter + "/api/monitor/metrics":  "metrics-url",
		exporter + "/api/monitor":          "metrics-url",
		neither:                            "error: has neither Prometheus's API",
		neither + "/metrics":               "error: check the path",
		server(t, false, false, 401):       "error: PLIMSOLL_TOKEN",
		server(t, false, false, 503):       "error: has neither Prometheus's API",
		"http://127.0.0.1:1":               "error: check the host and port",
		"http://127.0.0.1:1/metrics":       "error: check the host and port",
		"http://no.such.host.invalid:9090": "error: check the host name",
	} {
		in, err := open(t, arg)
		if text, isErr := strings.CutPrefix(want, "error: "); isErr {
			if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want one line with %q", arg, err, text)
			}
		} else if err != nil || in.Describe().Kind != want {
			t.Errorf("%s: %+v, error %v; want %s", arg, in.Describe(), err, want)
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := opener.Open(ctx, exporter+"/metrics", recognise.OpenOptions{Getenv: noEnv}); err == nil {
		t.Error("a cancelled Open found something")
	}
}
