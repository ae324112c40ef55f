package kernel

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// appends makes n appends, each with a sync, on a device with or without a volatile cache.
func appends(t *testing.T, fs FileSystem, n uint64, cache, prewritten bool) *Device {
	t.Helper()
	var clock vtime.Clock
	cfg := Defaults()
	cfg.FileSystem = fs
	h := NewHost(cfg, &clock, 1)
	d := h.Attach("wal", slow(t, 0))
	d.SetVolatileCache(cache)
	f := h.Create("wal", d, 22*units.MiB)
	f.SetPrewritten(prewritten)
	var next vtime.HandlerFunc
	next = func(_ vtime.Instant, done uint64) {
		if done < n {
			f.Append(2300)
			f.Sync(next, done+1)
		}
	}

	next(0, 0)
	clock.Run(vtime.At(time.Hour))
	return d
}

// The measured counts: 5,014 appends of 2,300 B touch 2,816 blocks. Each block costs two writes and a
// flush, in addition to the one write and one flush of every append. ext4 writes its journal twice. XFS
// writes its log once, and writes the new block separately from the one in which the append began; five
// of these appends begin in no block.
func TestFlushesOfAppends(t *testing.T) {
	for _, c := range []struct {
		name            string
		fs              FileSystem
		cache, written  bool
		writes, flushes int64
	}{
		{"xfs", XFS, true, false, 10_646 - 5, 7_830},
		{"ext4", Ext4, true, false, 10_646, 7_830},
		{"written before", XFS, true, true, 5_014, 5_014},
		{"no volatile cache", Ext4, false, false, 10_646, 0},
	} {
		s := appends(t, c.fs, 5014, c.cache, c.written).Stats()
		if s.Writes != c.writes || s.Flushes != c.flushes {
			t.Errorf("%s: %d writes and %d flushes, want %d and %d", c.name, s.Writes, s.Flushes, c.writes, c.flushes)
		}
	}
}

// The journal is a ring at the start of the device: none of its blocks is written twice before it wraps
// around, and none belongs to a file.
func TestJournalIsARing(t *testing.T) {
	for fs, want := range map[FileSystem]int{XFS: 100, Ext4: 200} {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.FileSystem = fs
		h := NewHost(cfg, &clock, 1)
		seen := &offsets{Volume: slow(t, 0), at: map[units.Size]int{}}
		f := h.Create("wal", h.Attach("wal", seen), units.MiB)
		var next vtime.HandlerFunc
		next = func(_ vtime.Instant, n uint64) {
			if n < 100 {
				f.Append(PageSize)
				f.Sync(next, n+1)
			}
		}

		next(0, 0)
		clock.Run(vtime.At(time.Minute))
		if len(seen.at) != want {
			t.Errorf("%s: 100 commits are in %d blocks, want %d", fs, len(seen.at), want)
		}
	}
}

type offsets struct {
	volume.Volume
	at map[units.Size]int
}

func (o *offsets) Submit(now vtime.Instant, r volume.Request) volume.Completion {
	if r.Offset < journalSize {
		o.at[r.Offset]++
	}
	return o.Volume.Submit(now, r)
}

// A sync never completes within its own call, even if there is nothing to wait for. Otherwise a handler
// that syncs again would recurse ever deeper.
func TestSyncReturnsFirst(t *testing.T) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	f := h.Create("f", h.Attach("data", slow(t, 0)), units.MiB)
	inside, ended := false, 0
	var next vtime.HandlerFunc
	next = func(now vtime.Instant, n uint64) {
		if inside {
			t.Fatal("fired within Sync")
		}

		if now != 0 {
			t.Fatalf("nothing to write took until %d", now)
		}

		ended++
		if n < 1000 {
			inside = true
			f.Sync(next, n+1)
			inside = false
		}
	}

	next(0, 0)
	clock.Run(vtime.At(time.Second))
	if ended != 1001 {
		t.Errorf("%d ended", ended)
	}
}
