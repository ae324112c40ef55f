package recording

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	year2100 = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	forever  = time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
)

// A ring whose block or log has a sample from the year 2100, from a wrong clock, recovers at a restart:
// nothing else is lost, and new samples of that series are accepted.
func TestPoisonedRingHeals(t *testing.T) {
	for _, closed := range []bool{true, false} {
		t.Run(fmt.Sprint("closed ", closed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(second(700)))
				dir := t.TempDir()
				d := mustCreate(t, dir, DiskOptions{}) // accepts what a ring would not
				feedRing(t, d, 0, 600)
				d.Source(Source{Kind: "host", Name: "host", From: t0, To: year2100, Samples: 601})
				mustAppend(t, d, year2100, "k", 7)
				mustAppend(t, d, year2100, "other", 7)

				if closed {
					mustClose(t, d)
				} else {
					killed(t, d)
				}

				markRing(t, dir)
				d = mustCreate(t, dir, DiskOptions{Keep: time.Hour})
				mustAppend(t, d, second(601), "k", 601)
				d.Source(Source{Kind: "host", Name: "host", From: second(601), To: second(601), Period: time.Second, Samples: 1})
				mustClose(t, d)

				// A second restart has nothing to repair.
				mustClose(t, mustCreate(t, dir, DiskOptions{Keep: time.Hour}))

				r := mustOpen(t, dir)
				defer mustClose(t, r)
				out, err := r.Samples(t.Context(), MetricSelector("k"), t0, forever)
				if err != nil {
					t.Fatal(err)
				}

				if p := one(t, out); len(p) != 601 || p[0].F != 0 || p[600].F != 601 {
					t.Errorf("%d samples, the last %v", len(p), p[len(p)-1])
				}

				metrics, err := r.Metrics(t.Context())
				if err != nil {
					t.Fatal(err)
				}

				for _, m := range metrics {
					if m.To.After(second(601)) {
						t.Errorf("%s reaches to %s", m.Name, m.To)
					}
				}

				if s := r.Sources(); len(s) != 1 || s[0].To.After(second(601)) {
					t.Errorf("sources %+v", s)
				}

				noted := false
				for _, n := range r.Notes() {
					noted = noted || n.Kind == NoteDropped && strings.Contains(n.Text, "ahead of this machine's clock")
				}

				if !noted {
					t.Errorf("notes %+v", r.Notes())
				}
			})
		})
	}
}

// markRing turns the folder of a recording into a ring.
func markRing(t *testing.T, dir string) {
	t.Helper()
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Ring = true
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
}

// A recording cannot be continued as a ring, which would remove its older samples. The folder stays
// unchanged. A ring that was recorded to in another way remains a ring.
func TestRecordingIsNoRing(t *testing.T) {
	dir := t.TempDir()
	d := mustCreate(t, dir, DiskOptions{})
	feedRing(t, d, 0, 600)
	mustClose(t, d)

	before, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		t.Fatal(err)
	}

	_, err = Create(dir, DiskOptions{Keep: time.Minute})
	if none := (*NoRingError)(nil); !errors.As(err, &none) || none.Hint() == "" {
		t.Fatal(err)
	}

	after, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil || string(after) != string(before) {
		t.Errorf("recording.json changed, %v", err)
	}

	r := mustOpen(t, dir)
	if first, last := counted(t, r); first != 0 || last != 599 {
		t.Errorf("samples %d to %d are left", first, last)
	}

	mustClose(t, r)

	ring := t.TempDir()
	for _, opt := range []DiskOptions{{Keep: time.Hour}, {}, {Keep: time.Hour}} {
		mustClose(t, mustCreate(t, ring, opt))
	}
}

// When the clock is set back by hours, samples keep being stamped ahead of it, and the ring accepts
// them; likewise when the clock is set forward and back again.
func TestClockSetBack(t *testing.T) {
	for _, steps := range [][]time.Duration{{-2 * time.Hour}, {-24 * time.Hour}, {5 * time.Hour, -5 * time.Hour}, {3 * time.Hour}} {
		dir := t.TempDir()
		d := mustCreate(t, dir, DiskOptions{Keep: 100 * time.Hour})
		elapsed, offset := time.Duration(0), time.Duration(0)
		d.ring.clock.read = func() (time.Time, time.Duration) { return t0.Add(elapsed + offset), elapsed }

		// Stamps as in source.Polled: the wall clock, but at least the elapsed time.
		var stamp time.Time
		want := 0
		sample := func() {
			wall := t0.Add(elapsed + offset)
			if stamp = stamp.Add(time.Second); wall.After(stamp) {
				stamp = wall
			}
			mustAppend(t, d, stamp, "k", float64(want))
			want++
			elapsed += time.Second
		}

		for range 60 {
			sample()
		}

		for _, step := range steps {
			offset += step
			for range 60 {
				sample()
			}
		}

		mustClose(t, d)

		r := mustOpen(t, dir)
		out, err := r.Samples(t.Context(), MetricSelector("k"), t0, forever)
		if err != nil {
			t.Fatal(err)
		}

		if p := one(t, out); len(p) != want {
			t.Errorf("after steps of %v the ring has %d of %d samples", steps, len(p), want)
		}

		mustClose(t, r)
	}
}

// A ring refuses a sample ahead of the clock; older ones remain.
func TestRingTakesNoFutureSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(second(700)))
		dir := t.TempDir()
		d := mustCreate(t, dir, DiskOptions{Keep: time.Hour, BlockSamples: 100})
		feedRing(t, d, 0, 600)
		mustAppend(t, d, year2100, "k", 7)
		mustAppend(t, d, second(600), "k", 600)
		mustClose(t, d)
		r := mustOpen(t, dir)
		defer mustClose(t, r)

		out, err := r.Samples(t.Context(), MetricSelector("k"), t0, forever)
		if err != nil {
			t.Fatal(err)
		}

		if p := one(t, out); len(p) != 601 || p[600].F != 600 {
			t.Errorf("%d samples", len(p))
		}
	})
}

// Samples before 1970 and after 2199, including the year 9999 and the end of int64, are dropped and
// counted, and the recording remains readable.
func TestImpossibleTimes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	d := mustCreate(t, dir, DiskOptions{})
	m := NewMemory(MemoryOptions{})

	far := time.UnixMilli(math.MaxInt64 / 2)
	for _, w := range []interface {
		Writer
		Close() error
	}{d, m} {
		b := &Batch{
			TimesMs: []int64{math.MinInt64, -1, t0.UnixMilli(), 253_402_300_800_000, math.MaxInt64},
			Columns: []Column{{named("a"), []float64{1, 2, 3, 4, 5}}, {named("b"), []float64{6}}},
		}
		if err := w.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, w, second(1), "a", 8)
		w.Source(Source{Kind: "host", Name: "host", From: time.UnixMilli(math.MinInt64 / 2), To: far})
		w.Note(Note{Kind: NoteClock, Source: "host", From: far, To: far, Text: "x"})
		mustClose(t, w)
	}

	for _, r := range []Reader{mustOpen(t, dir), m} {
		out, err := r.Samples(t.Context(), MetricSelector("a"), time.UnixMilli(math.MinInt64/2), far)
		if err != nil {
			t.Fatal(err)
		}

		if p := one(t, out); len(p) != 2 || p[0].F != 3 || p[1].F != 8 {
			t.Errorf("samples %v", p)
		}

		noted := false
		for _, n := range r.Notes() {
			noted = noted || n.Kind == NoteDropped && strings.HasPrefix(n.Text, "dropped 8 samples because of their time")
		}

		if !noted {
			t.Errorf("notes %+v", r.Notes())
		}
	}
}

// The limit on series counts the live ones: an exporter whose labels change all the time can be
// recorded indefinitely, in constant memory.
func TestSeriesChurn(t *testing.T) {
	const most, fresh, scrapes = 2000, 100, 400
	at := func(i int) time.Time { return t0.Add(time.Duration(i) * 5 * time.Second) }
	batch := func(i int) *Batch {
		b := &Batch{TimesMs: []int64{at(i).UnixMilli()}, Columns: []Column{{named("steady"), []float64{float64(i)}}}}
		for k := range fresh {
			b.Columns = append(b.Columns, Column{named("churn", "id", fmt.Sprint(i, "/", k)), []float64{1}})
		}
		return b
	}

	dir := filepath.Join(t.TempDir(), "rec")
	d := mustCreate(t, dir, DiskOptions{MaxSeries: most})
	ring := filepath.Join(t.TempDir(), "ring")
	k := mustCreate(t, ring, DiskOptions{MaxSeries: most, Keep: 240 * time.Hour})

	m := NewMemory(MemoryOptions{MaxSeries: most, Rolling: true})
	for i := range scrapes {
		for _, w := range []Writer{d, k, m} {
			if err := w.Append(t.Context(), batch(i)); err != nil {
				t.Fatal(err)
			}
		}
		if m.series > most || d.live.series > most {
			t.Fatalf("%d and %d series", m.series, d.live.series)
		}
	}

	mustClose(t, d)
	mustClose(t, k)

	for name, r := range map[string]Reader{"recording": mustOpen(t, dir), "ring": mustOpen(t, ring), "window": m} {
		out, err := r.Samples(t.Context(), MetricSelector("steady"), t0, at(scrapes))
		if err != nil {
			t.Fatal(err)
		}

		if p := one(t, out); len(p) != scrapes {
			t.Errorf("%s: %d samples of the series that lives", name, len(p))
		}

		if out, err = r.Samples(t.Context(), MetricSelector("churn"), at(scrapes-1), at(scrapes)); err != nil || len(out) != fresh {
			t.Errorf("%s: %d of the newest series (%v)", name, len(out), err)
		}

		if name != "window" {
			if out, err = r.Samples(t.Context(), MetricSelector("churn"), t0, at(scrapes)); err != nil || len(out) != fresh*scrapes {
				t.Errorf("%s: %d of all series (%v)", name, len(out), err)
			}
		}

		for _, n := range r.Notes() {
			t.Errorf("%s: note %+v", name, n)
		}
	}
}

func mustAppend(t *testing.T, w Writer, at time.Time, name string, v float64) {
	t.Helper()
	b := Batch{TimesMs: []int64{at.UnixMilli()}, Columns: []Column{{named(name), []float64{v}}}}
	if err := w.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// killed stops a recorder as a signal would.
func killed(t *testing.T, d *Disk) {
	t.Helper()
	close(d.stop)
	d.stopped.Wait()
	if err := d.saveManifest(stateRecording); err != nil {
		t.Fatal(err)
	}
	if err := d.wal.log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.lock.Close(); err != nil {
		t.Fatal(err)
	}
}
