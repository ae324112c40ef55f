package kernel

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// If another device does most of the host's writing, a file is written out long before it expires,
// because its device's share of the background limit is small. A file that the flusher had begun gets
// one more chunk at the next wakeup, and its half minute starts again.
func TestDeviceShare(t *testing.T) {
	const dirty = 300 * units.MiB
	written := func(apart bool) func(second int) units.Size {
		clock := new(vtime.Clock)
		h := NewHost(Defaults(), clock, 1)
		d := h.Attach("data", slow(t, 32))
		journal := d

		if apart {
			journal = h.Attach("journal", slow(t, 32))
		}

		data, log := h.Create("data", d, units.GiB), h.Create("log", journal, units.GiB)
		data.Write(0, dirty)

		for second := range 60 {
			clock.At(vtime.At(time.Duration(second)*time.Second), vtime.HandlerFunc(func(vtime.Instant, uint64) {
				log.Write(units.Size(second)*units.MiB, units.MiB)
				log.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) {}), 0)
			}), 0)
		}

		return func(second int) units.Size {
			clock.Run(vtime.At(time.Duration(second) * time.Second))
			return dirty - data.Dirty()
		}
	}

	if n := written(false)(29); n != 0 {
		t.Errorf("on one device, %s are written before they are 30 s old", n)
	}

	data := written(true)
	early, first, second, last, all := data(4), data(9), data(20), data(34), data(59)
	if early != 0 || first == 0 || second <= first || last != second || last == dirty || all != dirty {
		t.Errorf("written after 4, 9, 20, 34 and 59 s: %s, %s, %s, %s, %s of %s", early, first, second, last, all, dirty)
	}
}

// sync(2) removes a file that a database has synced before from the flusher's list, so pages dirtied
// after it have half a minute.
func TestSyncTakesCleanFilesOffTheList(t *testing.T) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	f := h.Create("f", h.Attach("data", slow(t, 32)), units.GiB)
	f.Write(0, PageSize)
	f.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) {}), 0)
	clock.Run(vtime.At(10 * time.Second))
	h.Sync()
	f.Write(0, PageSize)
	if clock.Run(vtime.At(39 * time.Second)); f.Dirty() == 0 {
		t.Error("written before it is 30 s old")
	}
	if clock.Run(vtime.At(46 * time.Second)); f.Dirty() != 0 {
		t.Error("not written after 30 s")
	}
}

// A host is busy while none of its cores is free.
func TestBusy(t *testing.T) {
	var clock vtime.Clock
	cfg := Defaults()
	cfg.Cores = 2
	h := NewHost(cfg, &clock, 1)
	for i, want := range []bool{false, false, true} {
		if h.Busy() != want {
			t.Errorf("busy with work on %d of 2 cores: %v", i, !want)
		}
		h.CPU(clock.Now(), time.Millisecond)
	}
	if clock.Run(vtime.At(2 * time.Millisecond)); h.Busy() {
		t.Error("still busy when the work is done")
	}
}
