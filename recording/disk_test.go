package recording

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
)

// envChild makes the test binary a recorder that is killed, see TestKilled.
const envChild = "RECORDING_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envChild); dir != "" {
		childRecorder(dir)
		return
	}
	os.Exit(m.Run())
}

// childRecorder appends two samples every 10 ms and prints the number of each batch
// once Append has returned, until it is killed.
func childRecorder(dir string) {
	d, err := Create(dir, DiskOptions{BlockSamples: 300})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for k := 0; ; k++ {
		b := Batch{TimesMs: []int64{second(float64(k)).UnixMilli()},
			Columns: []Column{{named("k"), []float64{float64(k)}}, {named("constant"), []float64{42}}}}
		if err := d.Append(context.Background(), &b); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(k)
		time.Sleep(10 * time.Millisecond)
	}
}

// A recorder that is killed has lost no batch it had appended, wherever it was: before and after a
// block was written. What it left can be read, and recorded to again.
func TestKilled(t *testing.T) {
	for _, batches := range []int{1, 40, 170, 400} {
		t.Run(strconv.Itoa(batches), func(t *testing.T) {
			dir := t.TempDir()
			last := runChild(t, dir, batches)
			before := listing(t, dir)
			checkKilled(t, dir, last)
			if after := listing(t, dir); before != after {
				t.Errorf("reading changed the folder:\n%s\nto:\n%s", before, after)
			}
			d := mustCreate(t, dir, DiskOptions{})
			b := Batch{TimesMs: []int64{second(1e6).UnixMilli()}, Columns: []Column{{named("k"), []float64{-1}}}}
			if err := d.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			mustClose(t, d)
			if got := listing(t, dir); strings.Contains(got, walDirName+"/") || strings.Contains(got, temporarySuffix) {
				t.Errorf("left over:\n%s", got)
			}
			checkKilled(t, dir, last)
		})
	}
}

// runChild runs the recorder until it has told of so many batches, kills it, and returns the
// number of the last one it told of.
func runChild(t *testing.T, dir string, batches int) (last int) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range batches {
		if !lines.Scan() {
			t.Fatalf("the recorder ended: %v", lines.Err())
		}
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(lines.Text())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // told before the kill came
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(lines.Text())
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the recorder was not killed")
	}
	return last
}

func checkKilled(t *testing.T, dir string, last int) {
	t.Helper()
	r := mustOpen(t, dir)
	defer mustClose(t, r)
	out, err := r.Samples(t.Context(), "k", t0, second(1e5))
	if err != nil {
		t.Fatal(err)
	}
	points := one(t, out)
	if len(points) < last+1 || len(points) > last+2 { // one may be written but not told of
		t.Fatalf("%d samples, %d were told of", len(points), last+1)
	}
	for k, p := range points {
		if p.F != float64(k) || p.T != second(float64(k)).UnixMilli() {
			t.Fatalf("sample %d: %g at %d ms", k, p.F, p.T)
		}
	}
	for range 3 { // more than one query
		if n := len(one(t, ask(t, r, "constant", 0, float64(last), time.Second, time.Second))); n != last+1 {
			t.Errorf("constant: %d points, want %d", n, last+1)
		}
	}
}

// listing is the names and sizes in a folder.
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

// A closed folder is blocks that Prometheus reads too, and recording.json.
func TestClosedIsPrometheusBlocks(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	feed(t, d)
	mustClose(t, d)
	mustClose(t, d) // again is no error
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 { // with an empty wal
		t.Errorf("the folder holds:\n%s", listing(t, dir))
	}
	db, err := tsdb.OpenDBReadOnly(dir, t.TempDir(), nopLogger)
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
		// Each time the old samples come again, with other values, and ten new ones.
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
	out, err := r.Samples(t.Context(), "x", t0, second(100))
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
		{write(ManifestName, `{"format": "plimsoll recording", "version": 2}`), "version 2 is newer than 1"},
		{write(ManifestName, `{"format": "plimsoll recording"}`), "version 0 is older than 1"},
		{write(ManifestName, `{"format": "grafana", "version": 1}`), `format is "grafana"`},
		{write(ManifestName, `{"format": "plimsoll`), "byte"},
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

// While blocks are written and the log is cut behind them, a reader that opens the folder sees every
// sample that was appended before.
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
			if strings.Contains(err.Error(), "changed each of") {
				continue // more blocks a second than a recorder writes a day
			}
			t.Fatal(err)
		}
		out, err := r.Samples(t.Context(), "k", t0, t0.AddDate(10, 0, 0))
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

// A folder on read-only storage is read as any other.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	feed(t, d)
	mustClose(t, d)
	chmod := func(folder, file fs.FileMode) {
		var folders []string
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if e.IsDir() {
				folders = append(folders, path)
				return nil
			}
			return os.Chmod(path, file)
		})
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
	// Root may write all the same; that nothing was is what counts.
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

// A log that is cut off or damaged anywhere is read up to there, and a note tells where.
func TestLogDamaged(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	defer mustClose(t, d)
	feed(t, d)
	whole, err := os.ReadFile(filepath.Join(dir, walDirName, "00000000"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 6, 7, 100, len(whole) / 3, len(whole) / 2, len(whole) - 1} {
		for _, flip := range []bool{false, true} {
			text := append([]byte(nil), whole[:size]...)
			if flip && size > 0 {
				text = append(text, whole[size:]...)
				text[size] ^= 0x55
			}
			left := t.TempDir()
			if err := os.Mkdir(filepath.Join(left, walDirName), 0o777); err != nil {
				t.Fatal(err)
			}
			os.WriteFile(filepath.Join(left, walDirName, "00000000"), text, 0o666)
			os.WriteFile(filepath.Join(left, ManifestName), manifest, 0o666)
			r, err := Open(left)
			if err != nil {
				t.Errorf("cut at %d: %v", size, err)
				continue
			}
			var damage *Note
			for _, n := range r.Notes() {
				if n.Kind == NoteDamage {
					damage = &n
				}
			}
			if flip && size > 0 && (damage == nil || damage.File != filepath.Join(walDirName, "00000000")) {
				t.Errorf("damage at %d: note %+v", size, damage)
			}
			for _, s := range ask(t, r, `c_total{device="a"}`, 0, 599, time.Second, 900*time.Millisecond) {
				for _, p := range s.Points {
					if p.F != 10*at(p) {
						t.Errorf("cut at %d: %g at %g s", size, p.F, at(p))
					}
				}
			}
			mustClose(t, r)
		}
	}
}

// FuzzLog reads any bytes as a log.
func FuzzLog(f *testing.F) {
	dir := f.TempDir()
	d := mustCreate(f, dir, DiskOptions{})
	feed(f, d)
	whole, err := os.ReadFile(filepath.Join(dir, walDirName, "00000000"))
	if err != nil {
		f.Fatal(err)
	}
	mustClose(f, d)
	f.Add(whole[:min(len(whole), 4096)])
	f.Add(whole[:100])
	f.Add([]byte{1, 0, 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		left := t.TempDir()
		os.Mkdir(filepath.Join(left, walDirName), 0o777)
		os.WriteFile(filepath.Join(left, walDirName, "00000000"), text, 0o666)
		m := NewMemory(MemoryOptions{MaxBytes: 1 << 20})
		if _, err := readWAL(t.Context(), left, m); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Samples(t.Context(), `{__name__=~".+"}`, time.UnixMilli(math.MinInt64/2), time.UnixMilli(math.MaxInt64/2)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Metrics(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzManifest reads any bytes as recording.json.
func FuzzManifest(f *testing.F) {
	text, err := json.Marshal(manifest{Format: formatName, Version: FormatVersion, Sources: []Source{{Name: "a"}}, Notes: []Note{{}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"plimsoll recording","version":1,"sources":[{"period_ns":1e99}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, ManifestName), text, 0o666)
		m, err := readManifest(dir)
		if (m == nil) == (err == nil) {
			t.Fatalf("manifest %v, error %v", m, err)
		}
		if err != nil && !strings.Contains(err.Error(), ManifestName) {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}
