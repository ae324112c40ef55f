package recording

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// feedRing appends one sample of a counter per second, like a live source.
func feedRing(t testing.TB, d *Disk, from, seconds int) {
	t.Helper()
	for k := from; k < from+seconds; k++ {
		b := Batch{TimesMs: []int64{second(float64(k)).UnixMilli()}, Columns: []Column{{named("k"), []float64{float64(k)}}}}
		if err := d.Append(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
	}
}

// counted returns the samples of a reader, which must have no gap.
func counted(t testing.TB, r Reader) (first, last int) {
	t.Helper()
	out, err := r.Samples(context.Background(), MetricSelector("k"), t0, t0.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	points := one(t, out)
	for i := 1; i < len(points); i++ {
		if points[i].F != points[i-1].F+1 {
			t.Fatalf("%g is followed by %g", points[i-1].F, points[i].F)
		}
	}
	return int(points[0].F), int(points[len(points)-1].F)
}

// settled waits until no block is being written.
func settled(d *Disk) {
	unwritten := <-d.writer
	d.writer <- unwritten
}

// A ring keeps the configured time, and not much more, even after a restart.
func TestRingKeepsTime(t *testing.T) {
	dir := t.TempDir()
	opt := DiskOptions{Keep: 100 * time.Second, BlockSamples: 20}
	for run := range 3 {
		d := mustCreate(t, dir, opt)
		d.Source(Source{Kind: "host", Name: "h", From: second(float64(1000 * run)), Period: time.Second})

		for k := range 15 {
			feedRing(t, d, 1000*run+20*k, 20)
			settled(d)
		}

		mustClose(t, d)
		r := mustOpen(t, dir)
		first, last := counted(t, r)
		if want := 1000*run + 299; last != want || last-first < 100 || last-first > 100+2*20 {
			t.Errorf("run %d: holds %d to %d; want 100 to 140 samples up to %d", run, first, last, want)
		}

		if s := r.Sources(); len(s) != 1 || s[0].From.Before(second(float64(last-160))) {
			t.Errorf("run %d: sources %+v include a time that was removed", run, s)
		}

		mustClose(t, r)
	}
}

// The folder never exceeds its limit, including the log and blocks being written. Here samples arrive
// thousands of times faster than from any source, so while a slow machine writes a block, the log may
// exceed the limit by a sixteenth.
func TestRingKeepsBytes(t *testing.T) {
	const beyond = RingBytesMin / 16
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{KeepBytes: RingBytesMin})
	rng := rand.New(rand.NewPCG(1, 2))

	var most, given int64
	for at := 0; at < 18_000; at += 300 {
		b := Batch{}
		for i := range 300 {
			b.TimesMs = append(b.TimesMs, second(float64(at+i)).UnixMilli())
		}

		for _, name := range strings.Split("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "") {
			c := Column{Labels: named("x", "n", name)}
			for range b.TimesMs {
				c.Values = append(c.Values, rng.Float64())
			}
			given += int64(8 * len(c.Values))
			for range 4 { // further series with the same values
				c.Labels = named("x"+name, "n", c.Labels.String())
				b.Columns = append(b.Columns, c)
			}
		}

		if err := d.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}

		bytes, err := d.Bytes()
		if err != nil {
			t.Fatal(err)
		}

		most = max(most, bytes)
	}

	mustClose(t, d)
	if 4*given < 2*RingBytesMin || most > RingBytesMin+beyond || most < RingBytesMin/4 {
		t.Errorf("of %d bytes of values the folder had %d at most; it may have %d", 4*given, most, RingBytesMin)
	}
}

// An open reader can still read removed blocks; a new one finds only the remaining ones.
func TestRingForgetsUnderReader(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{Keep: 50 * time.Second, BlockSamples: 20})
	defer mustClose(t, d)
	feedRing(t, d, 0, 100)
	settled(d)
	r := mustOpen(t, dir)
	defer mustClose(t, r)
	first, last := counted(t, r)

	for k := range 30 {
		feedRing(t, d, 100+20*k, 20)
		settled(d)
		again := mustOpen(t, dir)
		if _, newest := counted(t, again); newest != 100+20*k+19 {
			t.Errorf("after reopening it ends at %d", newest)
		}
		mustClose(t, again)
	}

	if f, l := counted(t, r); f != first || l != last {
		t.Errorf("the reader saw %d to %d, then %d to %d", first, last, f, l)
	}
}

// Old series and notes take no memory, because a ring may run for years.
func TestRingForgetsSeries(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{Keep: 100 * time.Second, BlockSamples: 40, MaxSeries: 50})
	defer mustClose(t, d)

	for k := range 800 {
		// A label that changes every second, such as a session number.
		b := Batch{TimesMs: []int64{second(float64(k)).UnixMilli()},
			Columns: []Column{{named("k"), []float64{float64(k)}}, {named("s", "n", second(float64(k/10)).String()), []float64{1}}}}
		if err := d.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		d.Note(Note{Kind: NoteGap, Source: "h", From: second(float64(k)), To: second(float64(k + 1))})
		if k%20 == 19 {
			settled(d)
		}
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	if _, notes, _ := d.live.all(); len(notes) > 200 {
		t.Errorf("%d notes are left, the last one %+v", len(notes), notes[len(notes)-1])
	}

	if d.live.series > 40 || d.live.over.samples > 0 {
		t.Errorf("%d series are left, %d samples were dropped for too many of them", d.live.series, d.live.over.samples)
	}
}

// Between two recorders there is a gap, with a note about it.
func TestRingNotesItsPause(t *testing.T) {
	for name, opt := range map[string]DiskOptions{"ring": {Keep: time.Hour}, "recording": {}} {
		dir := t.TempDir()
		for _, from := range []int{0, 114} {
			d := mustCreate(t, dir, opt)
			d.Source(Source{Kind: "host", Name: "h", From: second(float64(from)), Period: time.Second, Samples: 100})
			feedRing(t, d, from, 100)
			mustClose(t, d)
		}

		r := mustOpen(t, dir)
		notes := r.Notes()
		if len(notes) != 1 || notes[0].Kind != NoteGap || !notes[0].From.Equal(second(99)) || !notes[0].To.Equal(second(114)) {
			t.Errorf("%s: notes %+v, want one gap from 99 s to 114 s", name, notes)
		}

		if s := r.Sources(); len(s) != 1 || !s[0].From.Equal(t0) || s[0].Samples != 200 {
			t.Errorf("%s: sources %+v, want one from the first recorder's first sample on", name, s)
		}

		mustClose(t, r)
	}
}

// TestFolderRemovedWhileRecording: a recorder reports that its folder was removed or replaced, and
// continues once it is back.
func TestFolderRemovedWhileRecording(t *testing.T) {
	for _, opt := range []DiskOptions{{}, {Keep: time.Hour}} {
		parent := t.TempDir()
		dir, away := filepath.Join(parent, "rec"), filepath.Join(parent, "away")
		d := mustCreate(t, dir, opt)
		feedRing(t, d, 0, 10)
		add := func(k int) error {
			d.place.check() // as happens every second
			return d.Append(t.Context(), &Batch{TimesMs: []int64{second(float64(k)).UnixMilli()}, Columns: []Column{{named("k"), []float64{float64(k)}}}})
		}

		if err := os.Rename(dir, away); err != nil {
			t.Fatal(err)
		}

		if err := add(10); !errors.Is(err, errGone) || !strings.Contains(err.Error(), dir) {
			t.Errorf("moved away: %v, want %v", err, errGone)
		}

		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}

		if err := add(10); !errors.Is(err, errGone) {
			t.Errorf("another folder in its place: %v, want %v", err, errGone)
		}

		if err := errors.Join(os.Remove(dir), os.Rename(away, dir)); err != nil {
			t.Fatal(err)
		}

		if err := add(10); err != nil {
			t.Errorf("back in its place: %v", err)
		}

		mustClose(t, d)
		r := mustOpen(t, dir)
		if first, last := counted(t, r); first != 0 || last != 10 {
			t.Errorf("holds %d to %d, want 0 to 10", first, last)
		}

		mustClose(t, r)
	}
}

// A ring whose block cannot be written does not grow in memory in the meantime.
func TestRingStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(t0)) // a bubble starts in the year 2000
		dir := t.TempDir()
		d := mustCreate(t, dir, DiskOptions{Keep: time.Hour, BlockSamples: 10})

		// Blocks go to a folder that does not exist.
		whole := d.dir
		moved := func(to string) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.manifestMu.Lock() // the writer of the manifest also reads it
			defer d.manifestMu.Unlock()
			d.dir = to
		}

		moved(filepath.Join(dir, "gone", "gone\x00"))
		feedRing(t, d, 0, 10)
		settled(d)

		refused := 0
		for k := 10; k < 100; k++ {
			time.Sleep(time.Second)
			settled(d)
			if k == 60 {
				moved(whole)
			}
			b := Batch{TimesMs: []int64{second(float64(k)).UnixMilli()}, Columns: []Column{{named("k"), []float64{float64(k)}}}}
			if err := d.Append(t.Context(), &b); err != nil {
				refused++
			}
		}

		mustClose(t, d)

		// Refused from 10 s on, retried every 30 s, accepted after the attempt at 60 s.
		if refused != 60 {
			t.Errorf("%d batches were refused", refused)
		}

		r := mustOpen(t, dir)
		defer mustClose(t, r)
		out, err := r.Samples(t.Context(), MetricSelector("k"), t0, second(math.MaxInt16))
		if err != nil {
			t.Fatal(err)
		}

		if p := one(t, out); len(p) != 100-refused || p[9].F != 9 {
			t.Errorf("%d samples are kept", len(p))
		}
	})
}

func TestRingTooSmall(t *testing.T) {
	_, err := Create(t.TempDir(), DiskOptions{KeepBytes: RingBytesMin - 1})
	if err == nil || !strings.Contains(err.Error(), "too small") {
		t.Errorf("error %v", err)
	}
}

// The next recorder finishes a removal that a killed one started.
func TestRingRemovalCutOff(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{Keep: time.Hour})
	feedRing(t, d, 0, 10)
	mustClose(t, d)

	if err := os.MkdirAll(filepath.Join(dir, "01KA8Q2W9Z0000000000000000"+deletedSuffix, "chunks"), 0o777); err != nil {
		t.Fatal(err)
	}

	mustClose(t, mustCreate(t, dir, DiskOptions{Keep: time.Hour}))
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, deletedSuffix) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A sliding window in memory contains the latest samples, in constant memory.
func TestMemoryForgets(t *testing.T) {
	m := NewMemory(MemoryOptions{})
	var bytes []int64
	for k := range 20_000 {
		at := second(float64(k))
		b := Batch{TimesMs: []int64{at.UnixMilli()}, Columns: []Column{{named("k"), []float64{float64(k)}}, {named("s", "n", second(float64(k/100)).String()), []float64{1}}}}
		if err := m.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if k%100 == 99 {
			m.Forget(at.Add(-900 * time.Second))
			bytes = append(bytes, m.Bytes())
		}
	}

	first, last := counted(t, m)
	if last != 19_999 || last-first < 900 || last-first > 900+segmentMax {
		t.Errorf("holds %d to %d", first, last)
	}

	early, late := bytes[15], bytes[len(bytes)-1]
	if late > 2*early {
		t.Errorf("%d bytes after 1,600 s and %d after 20,000 s", early, late)
	}

	metrics, err := m.Metrics(t.Context())
	if err != nil || len(metrics) != 2 || metrics[1].Series > 16 {
		t.Errorf("metrics %+v, %v", metrics, err)
	}
}
