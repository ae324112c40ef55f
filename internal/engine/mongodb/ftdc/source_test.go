package ftdc

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/engine/mongodb/ftdctest"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const t0 = 1_700_000_000_000 // ms

type doc = ftdctest.Doc

// file makes a file with one chunk for each list of samples.
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

// ticks makes samples at the given seconds after t0; "n" counts them.
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

// folder writes files, given by name, into a folder.
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

	// The parent folder of diagnostic.data is accepted.
	db := t.TempDir()
	if err := os.Rename(dir, filepath.Join(db, "diagnostic.data")); err != nil {
		t.Fatal(err)
	}

	if w := read(t, db, source.Options{}); w.source.Samples != 25 {
		t.Errorf("%d samples through the parent", w.source.Samples)
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
		{"a missed sample is no gap", [][]doc{ticks(0, append(span(0, 20), span(22, 45)...)...)}, nil, ""},
		{"between chunks", [][]doc{ticks(0, span(0, 20)...), ticks(0, span(100, 120)...)}, [][2]float64{{19, 100}}, "no samples for 1m21s"},
		{"restart", [][]doc{ticks(50000, span(0, 20)...), ticks(-99000, span(100, 120)...)}, [][2]float64{{19, 100}}, "restarted"},
		{"the period changes, in a chunk", [][]doc{ticks(0, append(span(0, 20), 30, 40, 50, 60, 70, 80, 90)...)}, nil, ""},
		{"the period changes, between chunks", [][]doc{ticks(0, span(0, 20)...), ticks(0, 29, 39, 49, 59, 69, 79, 89)}, nil, ""},
		{"the period was long", [][]doc{ticks(0, 0, 10, 20, 30, 40, 50, 51, 52, 53, 54, 55, 56, 57, 58)}, nil, ""},
		{"six samples late at 100 ms is no gap", [][]doc{ticks(0, 0, .1, .2, .3, .4, 1, 1.1, 1.2, 1.3, 1.4)}, nil, ""},
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

// After a crash, the interim file repeats samples that are in the archive.
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

	// "n" counts samples, so skipped samples are missing from it.
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

// TestDamage truncates and overwrites files; everything undamaged is read.
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
		{"wrong length", slices.Concat(one, flip(two, 2), three), lost, len(one), "torn"},
		{"negative length", slices.Concat(one, flip(two, 3)[:3], []byte{0xff}, two[4:], three), lost, len(one), "stated length"},
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
			if _, err := Open(path); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if Sniff(path, nil) {
				t.Error("recognized as FTDC")
			}
		})
	}
	// Recognized as FTDC, but without a sample.
	for name, b := range map[string][]byte{
		"only metadata":    doc{{Key: "_id", Value: ftdctest.Date(t0)}, {Key: "type", Value: int32(0)}, {Key: "doc", Value: doc{}}}.Marshal(),
		"torn immediately": ftdctest.RawChunk(t0, []byte("no document"))[:40],
		"only damage":      ftdctest.RawChunk(t0, []byte("no document")),
		"no sample times ": file(t, []doc{{{Key: "n", Value: int64(1)}}}),
	} {
		src, err := Open(folder(t, map[string][]byte{"metrics.1": b}))
		if err != nil {
			t.Fatal(name, err)
		}
		err = src.Read(context.Background(), newSink(t), source.Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if n := strings.Count(err.Error(), "byte "); n > 1 {
			t.Errorf("%s: the position is given %d times: %v", name, n, err)
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
