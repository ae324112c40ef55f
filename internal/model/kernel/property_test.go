package kernel

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A witness is a volume that records which pages should be dirty, and checks each write against that.
type witness struct {
	volume.Volume
	t      *rapid.T
	from   units.Size // where the file starts
	most   units.Size // maximum for a request
	dirty  map[int64]bool
	writes map[int64][]writing // of each page, in the order of submission
}

func (w *witness) Submit(now vtime.Instant, r volume.Request) volume.Completion {
	c := w.Volume.Submit(now, r)
	if r.Op != volume.Write || r.Offset < w.from {
		return c
	}

	if r.Length > w.most || r.Length%PageSize != 0 || r.Offset%PageSize != 0 {
		w.t.Fatalf("a request of %d bytes at %d", r.Length, r.Offset)
	}

	first := int64((r.Offset - w.from) / PageSize)
	for p := first; p < first+int64(r.Length/PageSize); p++ {
		if !w.dirty[p] {
			w.t.Fatalf("page %d is written and is clean", p)
		}
		delete(w.dirty, p)
		w.writes[p] = append(w.writes[p], writing{now, c.Done})
	}

	return c
}

type writing struct{ submitted, done vtime.Instant }

// durable reports whether a page has been written, with its content since it was dirtied.
func (w *witness) durable(page int64, dirtied, now vtime.Instant) bool {
	for _, x := range w.writes[page] {
		if x.submitted >= dirtied && x.done <= now {
			return true
		}
	}
	return false
}

// A promise is a sync in progress: the pages that were dirtied before it, and when they were last
// dirtied.
type promise struct {
	pages map[int64]vtime.Instant
	kept  bool
}

// No matter when and by which thread pages are written: each dirty page is written once, no clean page
// is written, and a sync ends when every page dirtied before it is done.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.FileSystem = rapid.SampledFrom([]FileSystem{XFS, Ext4}).Draw(t, "filesystem")
		cfg.MaxRequest = rapid.SampledFrom([]units.Size{4, 64, 256}).Draw(t, "request") * units.KiB
		cfg.DirtyExpire = units.Duration(rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second}).Draw(t, "expire"))
		cfg.DirtyBackground = rapid.SampledFrom([]units.Size{0, 256 * units.KiB, 8 * units.MB}).Draw(t, "background")
		h := NewHost(cfg, &clock, 1)
		w := &witness{
			Volume: slow(&testing.T{}, rapid.SampledFrom([]int{0, 1, 8, 128}).Draw(t, "slots")),
			t:      t, from: journalSize, most: cfg.MaxRequest, dirty: map[int64]bool{}, writes: map[int64][]writing{},
		}

		f := h.Create("f", h.Attach("data", w), 256*units.MiB)
		var promises []*promise
		touched := map[int64]vtime.Instant{}
		touch := func(off, n units.Size) {
			for p := off / PageSize; p <= (off+n-1)/PageSize; p++ {
				// It is set before the write, because the flusher may be faster than this test.
				w.dirty[int64(p)], touched[int64(p)] = true, clock.Now()
			}
		}

		sync := func() {
			p := &promise{pages: maps.Clone(touched)}
			promises = append(promises, p)
			f.Sync(vtime.HandlerFunc(func(now vtime.Instant, _ uint64) {
				p.kept = true
				for page, dirtied := range p.pages {
					if !w.durable(page, dirtied, now) {
						t.Fatalf("synced at %d: page %d, dirtied at %d, is not: %v", now, page, dirtied, w.writes[page])
					}
				}
			}), 0)
		}

		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			off := units.Size(rapid.IntRange(0, 100<<20).Draw(t, "off"))
			n := units.Size(rapid.IntRange(1, 2<<20).Draw(t, "n"))
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1:
				touch(off, n)
				f.Write(off, n)
			case 2:
				touch(f.size, n)
				f.Append(n)
			case 3:
				f.WriteRange(off, 8*n)
			case 4:
				sync()
			case 5:
				clock.Run(clock.Now().Add(time.Duration(rapid.IntRange(0, 9e9).Draw(t, "pause"))))
			}

			if dirty := units.Size(len(w.dirty)) * PageSize; f.Dirty() != dirty || h.DirtyBytes() != dirty {
				t.Fatalf("dirty %d, and of the host %d, want %d", f.Dirty(), h.DirtyBytes(), dirty)
			}
		}

		sync()
		clock.Run(clock.Now().Add(time.Hour))

		for i, p := range promises {
			if !p.kept {
				t.Fatalf("sync %d never ended", i)
			}
		}

		if len(w.dirty) != 0 || h.DirtyBytes() != 0 {
			t.Fatalf("%d pages are still dirty", len(w.dirty))
		}
	})
}

// Adjacent pages are written together: a sync makes as few requests as the runs and the largest request
// allow.
func TestPagesAreJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clock vtime.Clock
		cfg := Defaults()
		h := NewHost(cfg, &clock, 1)
		d := h.Attach("data", slow(&testing.T{}, 0))
		f := h.Create("f", d, units.GiB)
		f.SetPrewritten(true)

		dirty := map[int64]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "writes") {
			// Around the border between two chunks of the bitmap.
			first, n := rapid.Int64Range(chunkPages-900, chunkPages+900).Draw(t, "page"), rapid.Int64Range(1, 300).Draw(t, "n")
			f.Write(units.Size(first)*PageSize, units.Size(n)*PageSize)
			for p := first; p < first+n; p++ {
				dirty[p] = true
			}
		}

		want, run := 0, int64(0)
		for p := int64(0); p < chunkPages+1300; p++ {
			if !dirty[p] {
				run = 0
				continue
			}
			if run%h.requestPages == 0 {
				want++
			}
			run++
		}

		f.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) {
			if got := f.LastSync().IOs; got != want {
				t.Fatalf("%d requests, want %d", got, want)
			}
		}), 0)

		clock.Run(vtime.At(time.Hour))
		if f.LastSync().IOs != want {
			t.Fatal("the sync never ended")
		}
	})
}

// If a writer waits as requested, its pages in the page cache, dirty or under writeback, exceed the
// limit by at most one write.
func TestWritersAreHeld(t *testing.T) {
	for _, slots := range []int{0, 128} {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.DirtyBackground, cfg.Dirty = 16*units.MB, 64*units.MB
		h := NewHost(cfg, &clock, 1)
		d := h.Attach("data", slow(t, slots))
		f := h.Create("f", d, units.GiB)
		const n = 1 * units.MiB
		var most units.Size
		held, at := 0, units.Size(0)
		var write vtime.HandlerFunc
		write = func(now vtime.Instant, _ uint64) {
			resume := f.Write(at, n)
			at = (at + n) % units.GiB
			most = max(most, h.DirtyBytes()+d.underWriteback(now))
			if resume > now {
				held++
			}
			clock.At(resume.Add(time.Millisecond), write, 0)
		}

		write(0, 0)
		clock.Run(vtime.At(20 * time.Second))
		if most > cfg.Dirty+n || held == 0 {
			t.Errorf("%d slots: %s in the page cache, limit %s; held %d times", slots, most, cfg.Dirty, held)
		}

		// Meanwhile the volume is kept busy: 20 s at 48 MB/s.
		if got := d.Stats().WrittenBytes; got < 900*units.MB {
			t.Errorf("%d slots: %s written in 20 s of 48 MB/s", slots, got)
		}

		values := make([]float64, len(h.Metrics()))
		h.Sample(values)

		for i, m := range h.Metrics() {
			if m.Name == "node_pressure_io_waiting_seconds_total" && (values[i] < 15 || values[i] > 20) {
				t.Errorf("%d slots: waited %v s of 20", slots, values[i])
			}
		}
	}
}

// Of several free cores, the one that was used last is chosen, and of several such cores the first. If
// none is free, the one that will be free first is chosen.
func TestCoreTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.Cores = rapid.IntRange(1, 6).Draw(t, "cores")
		h := NewHost(cfg, &clock, 1)
		free := make([]vtime.Instant, cfg.Cores)

		now := vtime.Instant(0)
		for range 50 {
			now += vtime.Instant(rapid.IntRange(0, 12).Draw(t, "later"))
			takes := time.Duration(rapid.IntRange(1, 30).Draw(t, "takes"))

			want := 0
			for i, f := range free {
				switch best := free[want]; {
				case best > now && f < best, best <= now && f <= now && f > best:
					want = i
				}
			}

			start := max(now, free[want])
			free[want] = start.Add(takes)
			if s, d := h.CPU(now, takes); s != start || d != free[want] || !slices.Equal(h.cores, free) {
				t.Fatalf("at %d for %d: %d to %d, %v; want %d to %d, %v", now, takes, s, d, h.cores, start, free[want], free)
			}
		}
	})
}
