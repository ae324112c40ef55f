package ftdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/engine/mongodb/names"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const t0 = 1_700_000_000_000 // ms

type doc = ftdctest.Doc

// file makes a file: one chunk for each list of samples.
func file(t testing.TB, chunks ...[]doc) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, samples := range chunks {
		enc := ftdctest.NewEncoder(&b, 1000)
		for _, s := range samples {
			if err := enc.Add(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// ticks are samples at the given seconds after t0; "n" counts them.
func ticks(uptimeMs int64, seconds ...float64) (samples []doc) {
	for i, s := range seconds {
		samples = append(samples, doc{
			{Key: "start", Value: ftdctest.Date(t0 + int64(s*1000))},
			{Key: "serverStatus", Value: doc{{Key: "uptimeMillis", Value: uptimeMs + int64(s*1000)}, {Key: "pid", Value: int64(7)}}},
			{Key: "n", Value: int64(i)},
		})
	}
	return samples
}

func span(from, to float64) (s []float64) {
	for x := from; x < to; x++ {
		s = append(s, x)
	}
	return s
}

// folder writes files into a folder, in pairs of name and content.
func folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func times(w *sink, name string) (seconds []float64) {
	for _, s := range w.series[`{__name__="`+name+`"}`] {
		seconds = append(seconds, float64(s.ms-t0)/1000)
	}
	return seconds
}

func TestFolderOrder(t *testing.T) {
	dir := folder(t, map[string][]byte{
		"metrics.2026-01-02T00-00-00Z-00000": file(t, ticks(0, span(10, 20)...)),
		"metrics.2026-01-01T00-00-00Z-00000": file(t, ticks(0, span(0, 10)...)),
		"metrics.interim":                    file(t, ticks(0, span(20, 25)...)),
		"mongod.log":                         []byte("not FTDC"),
		"metrics.empty":                      nil,
	})
	w := read(t, dir, source.Options{})
	if got := times(w, "mongodb_n"); !slices.Equal(got, span(0, 25)) {
		t.Errorf("times %v", got)
	}
	if w.source.Samples != 25 || w.source.Period != time.Second || !w.source.From.Equal(time.UnixMilli(t0)) || !w.source.To.Equal(time.UnixMilli(t0+24000)) {
		t.Errorf("source %+v", w.source)
	}
	if len(w.notes) > 0 {
		t.Errorf("notes %+v", w.notes)
	}
	// The folder diagnostic.data lies in will do.
	db := t.TempDir()
	if err := os.Rename(dir, filepath.Join(db, "diagnostic.data")); err != nil {
		t.Fatal(err)
	}
	if w := read(t, db, source.Options{}); w.source.Samples != 25 {
		t.Errorf("%d samples by way of the parent", w.source.Samples)
	}
}

func TestGaps(t *testing.T) {
	for _, tt := range []struct {
		name   string
		chunks [][]doc
		gaps   [][2]float64
		text   string
	}{
		{"none", [][]doc{ticks(0, span(0, 30)...), ticks(0, span(30, 60)...)}, nil, ""},
		{"within a chunk", [][]doc{ticks(0, append(span(0, 20), span(25, 45)...)...)}, [][2]float64{{19, 25}}, "no samples for 6s"},
		{"a missed beat is none", [][]doc{ticks(0, append(span(0, 20), span(22, 45)...)...)}, nil, ""},
		{"between chunks", [][]doc{ticks(0, span(0, 20)...), ticks(0, span(100, 120)...)}, [][2]float64{{19, 100}}, "no samples for 1m21s"},
		{"restart", [][]doc{ticks(50000, span(0, 20)...), ticks(-99000, span(100, 120)...)}, [][2]float64{{19, 100}}, "restarted"},
		{"the period changes, in a chunk", [][]doc{ticks(0, append(span(0, 20), 30, 40, 50, 60, 70, 80, 90)...)}, nil, ""},
		{"the period changes, between chunks", [][]doc{ticks(0, span(0, 20)...), ticks(0, 29, 39, 49, 59, 69, 79, 89)}, nil, ""},
		{"the period was long", [][]doc{ticks(0, 0, 10, 20, 30, 40, 50, 51, 52, 53, 54, 55, 56, 57, 58)}, nil, ""},
		{"six beats late at 100 ms is none", [][]doc{ticks(0, 0, .1, .2, .3, .4, 1, 1.1, 1.2, 1.3, 1.4)}, nil, ""},
		{"a second and more at 100 ms", [][]doc{ticks(0, 0, .1, .2, .3, .4, 1.6, 1.7, 1.8, 1.9, 2)}, [][2]float64{{.4, 1.6}}, "no samples for 1.2s"},
		{"a gap at a long period", [][]doc{ticks(0, 0, 10, 20, 30, 40, 90, 100, 110, 120)}, [][2]float64{{40, 90}}, "no samples for 50s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := read(t, folder(t, map[string][]byte{"metrics.1": file(t, tt.chunks...)}), source.Options{})
			var got [][2]float64
			for _, n := range w.notes {
				got = append(got, [2]float64{float64(n.From.UnixMilli()-t0) / 1000, float64(n.To.UnixMilli()-t0) / 1000})
				if n.Kind != recording.NoteGap || !strings.Contains(n.Text, tt.text) {
					t.Errorf("note %+v, want a gap with %q", n, tt.text)
				}
			}
			if !slices.Equal(got, tt.gaps) {
				t.Errorf("gaps %v, want %v", got, tt.gaps)
			}
		})
	}
}

// TestRepeatedChunk: after a crash the interim file repeats samples that are in the archive.
func TestRepeatedChunk(t *testing.T) {
	w := read(t, folder(t, map[string][]byte{
		"metrics.1":       file(t, ticks(0, span(0, 10)...), ticks(0, span(10, 20)...)),
		"metrics.interim": file(t, ticks(0, span(10, 25)...)),
	}), source.Options{})
	if got := times(w, "mongodb_n"); !slices.Equal(got, span(0, 25)) {
		t.Errorf("times %v", got)
	}
	if w.source.Samples != 25 || len(w.notes) != 0 {
		t.Errorf("%d samples, notes %+v", w.source.Samples, w.notes)
	}
}

func TestClockSetBack(t *testing.T) {
	w := read(t, folder(t, map[string][]byte{
		"metrics.1": file(t,
			ticks(0, append(append(span(0, 10), 6, 7, 8, 9), span(10, 15)...)...),
			ticks(0, span(12, 20)...)),
	}), source.Options{})
	if got := times(w, "mongodb_n"); !slices.Equal(got, span(0, 20)) {
		t.Errorf("times %v", got)
	}
	// "n" counts samples: those left out are missing in it.
	if got := w.last("mongodb_n"); got != 7 {
		t.Errorf("last value %v, want 7", got)
	}
	if k := w.kinds(); k[recording.NoteClock] != 2 || len(w.notes) != 2 {
		t.Errorf("notes %+v", w.notes)
	}
}

func TestBoundsAndOffset(t *testing.T) {
	dir := folder(t, map[string][]byte{"metrics.1": file(t, ticks(0, span(0, 10)...), ticks(0, span(10, 20)...), ticks(0, span(20, 30)...))})
	w := read(t, dir, source.Options{
		ClockOffset: time.Hour,
		From:        time.UnixMilli(t0 + 3605_000), To: time.UnixMilli(t0 + 3614_000),
	})
	if got := times(w, "mongodb_n"); !slices.Equal(got, span(3605, 3615)) {
		t.Errorf("times %v", got)
	}
	if w.source.Samples != 10 || !w.source.From.Equal(time.UnixMilli(t0+3605_000)) {
		t.Errorf("source %+v", w.source)
	}
}

// TestDamage tears and overwrites files; what can be read is read.
func TestDamage(t *testing.T) {
	one, two, three := file(t, ticks(0, span(0, 10)...)), file(t, ticks(0, span(10, 20)...)), file(t, ticks(0, span(20, 30)...))
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0x55
		return b
	}
	lost := append(span(0, 10), span(20, 30)...)
	for _, tt := range []struct {
		name   string
		file   []byte
		want   []float64
		offset int
		text   string
	}{
		{"torn at the end", slices.Concat(one, two, three[:len(three)/2]), span(0, 20), len(one) + len(two), "torn"},
		{"torn in the head", slices.Concat(one, two, three[:9]), span(0, 20), len(one) + len(two), "torn"},
		{"torn in the middle", slices.Concat(one, two[:len(two)-30], three), lost, len(one), "without a readable field"},
		{"checksum", slices.Concat(one, flip(two, len(two)-2), three), lost, len(one), "checksum"},
		{"length that lies", slices.Concat(one, flip(two, 2), three), lost, len(one), "torn"},
		{"length that is negative", slices.Concat(one, flip(two, 3)[:3], []byte{0xff}, two[4:], three), lost, len(one), "stated length"},
		{"noise between", slices.Concat(one, bytes.Repeat([]byte("_id\x00\x09_id\x00"), 500), three), lost, len(one), "not an FTDC document"},
		{"zeros at the end", slices.Concat(one, two, make([]byte, 4096)), span(0, 20), len(one) + len(two), "not an FTDC document"},
		{"unknown type", slices.Concat(one, doc{{Key: "_id", Value: ftdctest.Date(0)}, {Key: "type", Value: int32(9)}, {Key: "doc", Value: doc{}}}.Marshal(), three), lost, len(one), "unknown type 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := read(t, folder(t, map[string][]byte{"metrics.1": tt.file}), source.Options{Parallel: 2})
			if got := times(w, "mongodb_n"); !slices.Equal(got, tt.want) {
				t.Errorf("times %v, want %v", got, tt.want)
			}
			i := slices.IndexFunc(w.notes, func(n recording.Note) bool { return n.Kind == recording.NoteDamage })
			if i < 0 {
				t.Fatalf("no note of damage: %+v", w.notes)
			}
			if n := w.notes[i]; n.Offset != int64(tt.offset) || !strings.Contains(n.Text, tt.text) || n.File == "" {
				t.Errorf("note %+v, want offset %d and %q", n, tt.offset, tt.text)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string][]byte
		file  string // to open instead of the folder
		want  string
	}{
		{"no metrics files", map[string][]byte{"mongod.log": []byte("x")}, "", "no metrics.* files"},
		{"empty file", map[string][]byte{"metrics.1": nil}, "metrics.1", "empty file"},
		{"not FTDC", map[string][]byte{"metrics.1": bytes.Repeat([]byte("text "), 100)}, "", "not an FTDC document"},
		{"a file that is not FTDC", map[string][]byte{"iostat.log": bytes.Repeat([]byte("text "), 100)}, "iostat.log", "byte 0: not an FTDC document"},
		{"missing", nil, "nothing", "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(folder(t, tt.files), tt.file)
			if _, err := Open(path, names.Server); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if Sniff(path, nil) {
				t.Error("recognized as FTDC")
			}
		})
	}
	// Recognized, but without a sample.
	for name, b := range map[string][]byte{
		"only metadata":    doc{{Key: "_id", Value: ftdctest.Date(t0)}, {Key: "type", Value: int32(0)}, {Key: "doc", Value: doc{}}}.Marshal(),
		"torn at once":     ftdctest.RawChunk(t0, []byte("no document"))[:40],
		"only damage":      ftdctest.RawChunk(t0, []byte("no document")),
		"no sample times ": file(t, []doc{{{Key: "n", Value: int64(1)}}}),
	} {
		src, err := Open(folder(t, map[string][]byte{"metrics.1": b}), names.Server)
		if err != nil {
			t.Fatal(name, err)
		}
		err = src.Read(context.Background(), newSink(t), source.Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if n := strings.Count(err.Error(), "byte "); n > 1 {
			t.Errorf("%s: the place is named %d times: %v", name, n, err)
		}
	}
}

func TestSniff(t *testing.T) {
	b := file(t, ticks(0, 1))
	dir := folder(t, map[string][]byte{"metrics.1": b, "other": b})
	for path, want := range map[string]bool{dir: true, filepath.Join(dir, "other"): true, filepath.Join(dir, "none"): false} {
		if Sniff(path, nil) != want {
			t.Errorf("%s: want %v", path, want)
		}
	}
	for n := range 64 {
		if got := Sniff("", b[:n]); got != (n >= headLen) {
			t.Errorf("the first %d bytes: %v", n, got)
		}
	}
}

// TestSchemas: what changes between chunks, and what samples of different servers look like.
func TestSchemas(t *testing.T) {
	start := func(s int64) ftdctest.Field { return ftdctest.Field{Key: "start", Value: ftdctest.Date(t0 + s*1000)} }
	field := func(k string, v any) ftdctest.Field { return ftdctest.Field{Key: k, Value: v} }
	w := read(t, folder(t, map[string][]byte{"metrics.1": file(t, []doc{
		// An int32 in the reference document says nothing of the range.
		{start(0), field("number", int32(1)), field("same", int32(5))},
		{start(1), field("number", int64(1)<<40), field("same", 5.9)},
		{start(2), field("number", int64(math.MinInt64)), field("same", int64(5))},
		// A section comes, and goes again.
		{start(3), field("number", int64(3)), field("section", doc{field("x", int64(9))})},
		{start(4), field("number", int64(4))},
		// 8.x puts all into sections of the process.
		{start(5), field("shard", doc{field("number", int64(5)), field("serverStatus", doc{field("opLatencies", doc{field("writes", doc{field("ops", int64(50))})})})})},
		// Two mounts of one name: the first counts.
		{start(6), field("systemMetrics", doc{field("mounts", doc{
			field("/boot/efi", doc{field("free", int64(1))}), field("/boot/efi", doc{field("free", int64(2))}),
		})})},
		// Two names that become one.
		{start(7), field("a b", int64(1)), field("a-b", int64(2))},
		// Windows.
		{start(8), field("systemMetrics", doc{field("disks", doc{field("0 C:", doc{field(`\PhysicalDisk\Disk Write Bytes/sec`, int64(77))})})})},
		// No "start" at the top: a section's will do.
		{field("common", doc{start(9), field("number", int64(9))})},
	})}), source.Options{})
	want := map[string][]sample{
		`{__name__="mongodb_number"}`:                                                          {{0, 1}, {1, 1 << 40}, {2, math.MinInt64}, {3, 3}, {4, 4}, {5, 5}, {9, 9}},
		`{__name__="mongodb_same"}`:                                                            {{0, 5}, {1, 5}, {2, 5}},
		`{__name__="mongodb_section_x"}`:                                                       {{3, 9}},
		`{__name__="mongodb_ss_opLatencies_ops", op_type="writes"}`:                            {{5, 50}},
		`{__name__="mongodb_sys_mounts_free", mount_point="/boot/efi"}`:                        {{6, 1}},
		`{__name__="mongodb_a_b"}`:                                                             {{7, 1}},
		`{__name__="mongodb_sys_disks_PhysicalDisk_Disk_Write_Bytes_sec", device_name="0 C:"}`: {{8, 77}},
	}
	for key, col := range want {
		for i := range col {
			col[i].ms = t0 + col[i].ms*1000
		}
		if !slices.Equal(w.series[key], col) {
			t.Errorf("%s is %v, want %v", key, w.series[key], col)
		}
	}
	if k := w.kinds(); k[recording.NoteLimit] != 1 || len(w.notes) != 1 || !strings.Contains(w.notes[0].Text, "a-b") {
		t.Errorf("notes %+v, want one of the name that two metrics have", w.notes)
	}
}

// TestMetadata: documents of types 0 and 2 tell who the server is; a chunk stands in for them.
func TestMetadata(t *testing.T) {
	var b bytes.Buffer
	server := ftdctest.NewServer(1)
	if err := server.Metadata(&b); err != nil {
		t.Fatal(err)
	}
	enc := ftdctest.NewEncoder(&b, 10)
	parameter := func(count int, fields ...ftdctest.Field) {
		if err := enc.Settings(t0, count, doc{{Key: "start", Value: ftdctest.Date(t0)}, {Key: "getParameter", Value: doc(fields)}}); err != nil {
			t.Fatal(err)
		}
	}
	parameter(0, ftdctest.Field{Key: "syncdelay", Value: 60.0}, ftdctest.Field{Key: "journalCommitInterval", Value: int32(100)})
	parameter(1, ftdctest.Field{Key: "syncdelay", Value: 20.0})
	b.Write(file(t, []doc{{
		{Key: "start", Value: ftdctest.Date(t0)},
		{Key: "serverStatus", Value: doc{{Key: "host", Value: "another.example"}, {Key: "version", Value: "1.0"}, {Key: "process", Value: "mongod"}, {Key: "storageEngine", Value: doc{{Key: "name", Value: "wiredTiger"}}}}},
		{Key: "n", Value: int64(1)},
	}}))
	s := read(t, folder(t, map[string][]byte{"metrics.1": b.Bytes()}), source.Options{}).source
	if s.Version != "8.0.4" || s.Host != "db0.example" {
		t.Errorf("version %q, host %q", s.Version, s.Host)
	}
	for key, want := range map[string]string{
		"os": "Ubuntu", "os_type": "Linux", "kernel": "6.8.0", "cores": "8", "memory_bytes": "34359738368", "page_size_bytes": "4096",
		"cache_bytes": "8589934592", "dbpath": "/data/db", "replica_set": "rs0", "parameter.syncdelay": "20",
		"journal_commit_interval_ms": "100", "process": "mongod", "storage_engine": "wiredTiger",
	} {
		if s.Facts[key] != want {
			t.Errorf("fact %s is %q, want %q", key, s.Facts[key], want)
		}
	}
}

// TestOSRelease: servers up to 3.6 on Debian give a line of /etc/os-release for the name.
func TestOSRelease(t *testing.T) {
	var b bytes.Buffer
	if err := ftdctest.NewEncoder(&b, 10).Metadata(t0, doc{{Key: "hostInfo", Value: doc{{Key: "os", Value: doc{{Key: "name", Value: `PRETTY_NAME="Debian GNU/Linux 8 (jessie)"`}}}}}}); err != nil {
		t.Fatal(err)
	}
	b.Write(file(t, ticks(0, 0, 1, 2)))
	if got := read(t, folder(t, map[string][]byte{"metrics.1": b.Bytes()}), source.Options{}).source.Facts["os"]; got != "Debian GNU/Linux 8 (jessie)" {
		t.Errorf("the system is %q", got)
	}
}

func TestProgress(t *testing.T) {
	path := syntheticFolder(t, 200, 3, 3)
	_, size := survey(t, path)
	var last int64
	read(t, path, source.Options{Parallel: 2, Progress: func(done, total int64) {
		if done < last || total != size || done > total {
			t.Errorf("%d of %d bytes after %d; the files have %d", done, total, last, size)
		}
		last = done
	}})
	if last != size {
		t.Errorf("%d bytes at the end, want %d", last, size)
	}
}

// TestCancel: the end of the context ends the reading, whoever waits for whom.
func TestCancel(t *testing.T) {
	path := syntheticFolder(t, 200, 1, 4)
	for _, parallel := range []int{1, 4} {
		src, err := Open(path, names.Server)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		w := &stopper{cancel: cancel}
		if err := src.Read(ctx, w, source.Options{Parallel: parallel}); !errors.Is(err, context.Canceled) {
			t.Errorf("parallel %d: error %v", parallel, err)
		}
		// A writer's error ends it too, and is told.
		if err := src.Read(context.Background(), &stopper{err: io.ErrShortWrite}, source.Options{Parallel: parallel}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("parallel %d: error %v", parallel, err)
		}
	}
}

// TestMemory holds that memory does not grow with the capture: what a hundred files take is
// what two take.
func TestMemory(t *testing.T) {
	const growthMax = 32 << 20
	dir := syntheticFolder(t, 1500, 2, 2)
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := os.Symlink(files[i%2], fmt.Sprintf("%s/metrics.9%02d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	src, err := Open(dir, names.Server)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	w := &weigher{}
	// Each file's samples are the same, so that only the first are handed over; progress is told
	// of all.
	err = src.Read(context.Background(), w, source.Options{Parallel: 2, Progress: func(int64, int64) { w.weigh() }})
	if err != nil {
		t.Fatal(err)
	}
	if w.calls < 10 || w.peak > before+growthMax {
		t.Errorf("heap grew from %d to %d bytes in %d looks, at most %d more are allowed", before, w.peak, w.calls, growthMax)
	}
}

type weigher struct {
	drain
	peak  uint64
	calls int
}

func (w *weigher) weigh() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.peak = max(w.peak, m.HeapAlloc)
	w.calls++
}

type stopper struct {
	drain
	cancel func()
	err    error
}

func (s *stopper) Append(context.Context, *recording.Batch) error {
	if s.cancel != nil {
		s.cancel()
	}
	return s.err
}
