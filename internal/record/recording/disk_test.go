package recording

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
)

// listing returns the names and sizes in a folder.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		info, err := e.Info()
		if err != nil {
			return err
		}

		rel, _ := filepath.Rel(dir, path)
		size := info.Size()
		if e.IsDir() {
			size = 0
		}

		fmt.Fprintf(&b, "%s %d %s\n", rel, size, info.ModTime())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return b.String()
}

// A closed folder consists of blocks that Prometheus can read, and recording.json.
func TestClosedIsPrometheusBlocks(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	feed(t, d)
	mustClose(t, d)
	mustClose(t, d) // a second call is not an error

	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}

	if len(entries) != 3 { // with an empty wal
		t.Errorf("the folder holds:\n%s", listing(t, dir))
	}

	db, err := tsdb.OpenDBReadOnly(dir, t.TempDir(), silent)
	if err != nil {
		t.Fatal(err)
	}

	defer mustClose(t, db)
	q, err := db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}

	defer mustClose(t, q)
	set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, "c_total"))

	series, samples := 0, 0
	for set.Next() {
		series++
		for it := set.At().Iterator(nil); it.Next() != 0; samples++ {
			if ms, v := it.At(); v != float64(10*series)*float64(ms-t0.UnixMilli())/1000 {
				t.Fatalf("%s: %g at %d ms", set.At().Labels(), v, ms)
			}
		}
	}

	if set.Err() != nil || series != 2 || samples != 2*540 {
		t.Errorf("%d series, %d samples, error %v; want 2, 1080", series, samples, set.Err())
	}
}

func TestContinue(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		d := mustCreate(t, dir, DiskOptions{})
		d.Source(Source{Kind: "host", Name: "h", Samples: int64(i)})
		d.Note(Note{Kind: NoteLimit, Text: strconv.Itoa(i)})

		// Each time, the old samples are repeated with other values, followed by ten new ones.
		b := Batch{Columns: []Column{{Labels: named("x")}, {named("y", "session", strconv.Itoa(i)), []float64{1}}}}
		for k := range 10 * (i + 1) {
			b.TimesMs = append(b.TimesMs, second(float64(k)).UnixMilli())
			b.Columns[0].Values = append(b.Columns[0].Values, float64(100*i+k))
		}

		if err := d.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}

		mustClose(t, d)
	}

	r := mustOpen(t, dir)
	defer mustClose(t, r)
	out, err := r.Samples(t.Context(), MetricSelector("x"), t0, second(100))
	if err != nil {
		t.Fatal(err)
	}

	points := one(t, out)
	if len(points) != 30 {
		t.Fatalf("%d samples, want 30", len(points))
	}

	for k, p := range points {
		if want := float64(100*(k/10) + k); p.F != want {
			t.Errorf("sample %d: %g, want %g", k, p.F, want)
		}
	}

	if out = ask(t, r, "y", 5, 5, 0, time.Second); len(out) != 3 {
		t.Errorf("%d series of y, want 3", len(out))
	}

	if s := r.Sources(); len(s) != 1 || s[0].Samples != 2 {
		t.Errorf("sources %+v", s)
	}

	var limits, dropped int
	for _, n := range r.Notes() {
		switch n.Kind {
		case NoteLimit:
			limits++
		case NoteDropped:
			dropped++
		}
	}

	if limits != 3 || dropped != 2 {
		t.Errorf("notes %+v", r.Notes())
	}
}

func TestFolderRefused(t *testing.T) {
	write := func(name, text string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return dir
	}

	for _, c := range []struct{ dir, want string }{
		{write("mongod.conf", ""), "is not a recording: it has no recording.json"},
		{write(ManifestName, `{"format": "plimsoll recording", "version": 2}`), "version 2 is newer than the supported version 1"},
		{write(ManifestName, `{"format": "plimsoll recording"}`), "version 0 is older than the supported version 1"},
		{write(ManifestName, `{"format": "grafana", "version": 1}`), `format "grafana"`},
		{write(ManifestName, `{"format": "plimsoll`), "in the middle"},
		{write(ManifestName, `{"format": "plimsoll recording", "version": 1, "sources": 7}`), "sources"},
	} {
		for name, do := range map[string]func() error{
			"create": func() error { _, err := Create(c.dir, DiskOptions{}); return err },
			"open":   func() error { _, err := Open(c.dir); return err },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.dir) {
				t.Errorf("%s: error %v, want one with %q and the folder", name, err, c.want)
			}
		}
		if entries, _ := os.ReadDir(c.dir); len(entries) != 1 {
			t.Errorf("a refused folder was changed:\n%s", listing(t, c.dir))
		}
	}

	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("open of a missing folder: %v", err)
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	if _, err := Create(dir, DiskOptions{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second recorder: error %v", err)
	}
	mustClose(t, d)
	mustClose(t, mustCreate(t, dir, DiskOptions{}))
}

// While blocks are written and the log is truncated behind them, a reader that opens the folder sees
// every sample that was appended before.
func TestOpenWhileRecording(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{BlockSamples: 2000})
	defer mustClose(t, d)
	var appended atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	defer func() { close(stop); <-stopped }()
	go func() {
		defer close(stopped)
		for k := 0; ; k += 100 {
			select {
			case <-stop:
				return
			default:
			}

			b := Batch{Columns: []Column{{Labels: named("k")}}}
			for i := range 100 {
				b.TimesMs = append(b.TimesMs, second(float64(k+i)).UnixMilli())
				b.Columns[0].Values = append(b.Columns[0].Values, float64(k+i))
			}

			if err := d.Append(context.Background(), &b); err != nil {
				t.Error(err)
				return
			}

			appended.Store(int64(k + 100))
		}
	}()

	for appended.Load() < 1 {
		time.Sleep(time.Millisecond)
	}

	for range 30 {
		before := appended.Load()
		r, err := Open(dir)
		if err != nil {
			if strings.Contains(err.Error(), "changed during each of") {
				continue // more blocks per second than a recorder writes in a day
			}
			t.Fatal(err)
		}

		out, err := r.Samples(t.Context(), MetricSelector("k"), t0, t0.AddDate(10, 0, 0))
		if err != nil {
			t.Fatal(err)
		}

		points := one(t, out)
		if int64(len(points)) < before {
			t.Fatalf("%d samples, %d were appended before", len(points), before)
		}

		for i, p := range points {
			if p.F != float64(i) {
				t.Fatalf("sample %d is %g", i, p.F)
			}
		}

		for _, n := range r.Notes() {
			t.Errorf("note %+v", n)
		}

		mustClose(t, r)
	}
}

// A folder on read-only storage is read like any other.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	feed(t, d)
	mustClose(t, d)
	chmod := func(folder, file fs.FileMode) {
		var folders []string
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if e.IsDir() {
				folders = append(folders, path)
				return nil
			}
			return os.Chmod(path, file)
		})
		if err != nil {
			t.Fatal(err)
		}

		for _, f := range folders {
			if err := os.Chmod(f, folder); err != nil {
				t.Fatal(err)
			}
		}
	}

	chmod(0o555, 0o444)
	defer chmod(0o755, 0o644)
	before := listing(t, dir)
	r := mustOpen(t, dir)
	conformGap(t, r)
	conformMetrics(t, r)
	mustClose(t, r)

	// Root can write anyway; the test checks that nothing was written.
	if after := listing(t, dir); before != after {
		t.Errorf("reading changed the folder:\n%s\nto:\n%s", before, after)
	}
}

// A crash between a block's appearance and the removal of its log leaves the samples twice.
func TestBlockAndLogOverlap(t *testing.T) {
	dir, saved := t.TempDir(), t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	feed(t, d)

	if err := os.CopyFS(filepath.Join(saved, walDirName), os.DirFS(filepath.Join(dir, walDirName))); err != nil {
		t.Fatal(err)
	}

	mustClose(t, d)
	if err := os.CopyFS(filepath.Join(dir, walDirName), os.DirFS(filepath.Join(saved, walDirName))); err != nil {
		t.Fatal(err)
	}

	r := mustOpen(t, dir)
	conform(t, r)
	mustClose(t, r)
	mustClose(t, mustCreate(t, dir, DiskOptions{}))

	if blocks, err := blockDirs(dir); err != nil || len(blocks) != 1 {
		t.Errorf("%d blocks, error %v: the same samples were written again", len(blocks), err)
	}
}
