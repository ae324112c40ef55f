package kernel

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// An expired file is written from the flusher's position to the file's end. On ext4, dirty pages before
// that position are written in the same pass; on XFS they wait for another dirty_expire.
func TestFlusherGoesRound(t *testing.T) {
	for fs, want := range map[FileSystem]units.Size{XFS: 40 * units.MiB, Ext4: 0} {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.FileSystem = fs
		h := NewHost(cfg, &clock, 1)
		f := h.Create("f", h.Attach("data", slow(t, 0)), units.GiB)
		f.SetAllocated(units.GiB)
		f.Write(40*units.MiB, 40*units.MiB)
		f.cursor = int64(40 * units.MiB / PageSize)
		f.Write(0, 40*units.MiB)
		clock.Run(vtime.At(50 * time.Second))

		if got := f.Dirty(); got != want {
			t.Errorf("%s: %s are still dirty, want %s", fs, got, want)
		}
	}
}

// A sync writes what is dirty when it begins, and leaves pages dirtied meanwhile to the flusher.
func TestSyncLeavesWhatIsDirtiedMeanwhile(t *testing.T) {
	for _, fs := range []FileSystem{XFS, Ext4} {
		var clock vtime.Clock
		cfg := Defaults()
		cfg.FileSystem = fs
		h := NewHost(cfg, &clock, 1)
		f := h.Create("f", h.Attach("data", slow(t, 0)), units.GiB)
		f.SetAllocated(units.GiB)
		f.Write(0, 100*units.MiB)
		clock.At(vtime.At(time.Second), vtime.HandlerFunc(func(vtime.Instant, uint64) {
			f.Write(500*units.MiB, 100*units.MiB)
		}), 0)
		done := false
		f.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) { done = true }), 0)
		clock.Run(vtime.At(20 * time.Second))

		if got := f.Dirty(); !done || got != 100*units.MiB {
			t.Errorf("%s: done %t, %s are dirty, want 100 MiB", fs, done, got)
		}
	}
}

// A handle stays open until all but the last bio of an extent of new blocks are submitted, and a commit
// waits for it. A short extent, or one whose blocks exist, blocks nothing else.
func TestHandlesOfExtents(t *testing.T) {
	var clock vtime.Clock
	cfg := Defaults()
	cfg.FileSystem = Ext4
	h := NewHost(cfg, &clock, 1)
	d := h.Attach("data", slow(t, 0))
	f := h.Create("f", d, units.GiB)
	f.Write(0, 20*units.MiB)
	f.Write(30*units.MiB, 2*units.MiB)

	page := func(at units.Size) int64 { return int64(at / PageSize) }
	for _, c := range []struct {
		at, extent, left units.Size
	}{
		{0, 8 * units.MiB, 5 * units.MiB},
		{16 * units.MiB, 4 * units.MiB, units.MiB},
		{30 * units.MiB, 2 * units.MiB, 0},
	} {
		var own handle
		if !d.handles.begin(&own, f, page(c.at), extentPages, nil, 0) || own.extent != c.extent || own.left != c.left {
			t.Errorf("at %s: %s under %s, want %s under %s", c.at, own.extent, own.left, c.extent, c.left)
		}
		if open := d.handles.open == 1; open != (c.left > 0) {
			t.Errorf("at %s: a handle is open: %t", c.at, open)
		}
		d.handles.submitted(&own, c.left)
		if d.handles.open != 0 {
			t.Errorf("at %s: the handle is open for the last bio", c.at)
		}
	}

	f.SetAllocated(units.GiB)
	var own handle
	if d.handles.begin(&own, f, 0, extentPages, nil, 0); own.extent != 0 {
		t.Errorf("blocks that exist are mapped again: %s", own.extent)
	}
}
