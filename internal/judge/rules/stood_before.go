package rules

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// A stall in which the volume writes what stood in the page cache already is the cache's: bounded, it
// would have been written by then. A stall in which it writes what was handed over meanwhile (a
// checkpoint's own pages) stays, because a database hands pages over faster than a volume takes them.
// In simulations that were run again with vm.dirty_background_bytes at 1 MB, nothing stalled any more
// where mostlyStood of the bytes had stood there before, and as much stalled as before where less had.
const (
	mostlyStood       = 0.6
	mostlyStoodCoarse = 0.4
	// stoodSince is how long before a stall the page cache is looked at: the stall's first seconds may
	// be credited late.
	stoodSince = 3 * time.Second
	// The same bytes can be written earlier only where there is room: stalls take less than spreadable
	// of the time under load, and the volume makes less than spreadableOps of its highest rate of
	// requests on average. (Written early, they are more and smaller requests.)
	spreadable       = 0.35
	spreadableCoarse = 0.7
	spreadableOps    = 0.7
)

// roomToSpread reports whether a stall's bytes could be written earlier.
func (c *Case) roomToSpread() bool {
	most := spreadable
	if c.Grid.StepSeconds() > 2 {
		most = spreadableCoarse // a stall of a second takes an interval
	}

	if Share(c.Stall.Cells, c.Stall.Active) > most {
		return false
	}

	written, used := -1.0, 0.0
	for _, t := range c.Signal(DiskWritten) {
		if s := timeline.Sum(timeline.At(t.Values, c.Stall.Cells)); s > written {
			dev := t.Labels.Get("device")
			written, used = s, max(usedOf(c.For(DiskOps, "device", dev)), usedOf(c.For(DiskMoved, "device", dev)))
		}
	}

	return !(used > spreadableOps)
}

// Pages that are written early are written more than once: measured, earlyFactor times the bytes.
const earlyFactor = 1.4

// stillStalled is the share of the stalled time that stays, from which to write early is no remedy.
const stillStalled = 0.5

// leftOver is for how many seconds the volume would still write in a stall, at most, if the kernel wrote
// each page as soon as it is dirty, and the share of the stalled time in which that is too long: what is
// written now, and what the page cache gains, put into a queue that the volume empties at the rate at
// which it flushes.
func (c *Case) leftOver(flush timeline.Mask) (seconds, tooLong float64) {
	dirty, writeback, written := c.One(MemoryDirty), c.One(MemoryWriteback), c.MostWritten(c.Stall.Cells)
	rate := timeline.Quantile(timeline.At(written, flush), 0.9)
	if dirty == nil || !(rate > minFlushRate) {
		return 0, 0
	}

	step := c.Grid.StepSeconds()
	var queued, most float64 // bytes

	long := make(timeline.Mask, c.Grid.N)
	for k := 1; k < len(written); k++ {
		came := written[k] * step
		for _, held := range [][]float64{dirty, writeback} {
			if held != nil {
				came += held[k] - held[k-1]
			}
		}

		if came != came { // something was not measured here
			came = 0
		}

		queued = max(0, queued+earlyFactor*came-rate*step)
		if long[k] = queued > tolerableStallS*rate; c.Stall.Cells[k] {
			most = max(most, queued)
		}
	}

	return most / rate, Share(long, c.Stall.Cells)
}

// usedOf is a rate's mean as a share of its highest.
func usedOf(rate []float64) float64 {
	if used := timeline.Mean(rate) / timeline.Quantile(rate, 0.99); used > 0 {
		return used
	}
	return 0
}

// leftToFsync reports whether a flush is a cycle's whose writes stay in the page cache until its own
// fsync, while the kernel throttles what it writes back by itself. Bounded, these bytes are written
// in the background, behind which nobody's sync waits; an fsync's are not throttled.
func (c *Case) leftToFsync(flush timeline.Mask) bool {
	return c.mayBeThrottled() && slices.ContainsFunc(c.Cycles(), func(k Cycle) bool {
		return k.Left && Share(k.Cells.Widen(1, 1), flush) >= byCheckpoint
	})
}

// mayBeThrottled reports whether the kernel throttles writeback, which it does unless somebody turned
// it off, on each device that is measured.
func (c *Case) mayBeThrottled() bool {
	for _, t := range c.Signal(DiskBusy) {
		if c.Facts["wbt_lat_usec."+t.Labels.Get("device")] == "0" {
			return false
		}
	}
	return true
}

// StoodBefore is the share of the bytes that the device that writes most wrote in the stalls that had
// stood dirty in the page cache before they began; false if that was not measured.
func (c *Case) StoodBefore() (share float64, measured bool) {
	dirty, written := c.One(MemoryDirty), c.MostWritten(c.Stall.Cells)
	if dirty == nil || written == nil {
		return 0, false
	}

	// Counters credit what is done, so a short stall's bytes may be in the cells beside it. A cell of
	// many seconds has room for both.
	beside := 0
	if c.Grid.StepSeconds() <= 2 {
		beside = 1
	}

	var stood, wrote float64
	for _, e := range c.Stall.Cells.Episodes() {
		before := timeline.Max(dirty[max(0, e.First-c.Cells(stoodSince)):e.First])
		out := timeline.Sum(written[max(0, e.First-beside):min(len(written),
			e.Last+1+beside)]) * c.Grid.StepSeconds()
		if math.IsNaN(before) {
			continue
		}
		stood, wrote = stood+min(before, out), wrote+out
	}

	if wrote <= 0 {
		return 0, false
	}

	return stood / wrote, true
}

// PageCacheStood reports whether most of what was written in the stalls had stood in the page cache
// before.
func (c *Case) PageCacheStood() bool {
	share, measured := c.StoodBefore()
	return measured && share >= c.mostlyStood()
}

// mostlyStood is the share from which it is the page cache's. In an interval of many seconds, what was
// written at its quiet end is in the bytes, and the cache grows after it was looked at.
func (c *Case) mostlyStood() float64 {
	if c.Grid.StepSeconds() > 2 {
		return mostlyStoodCoarse
	}
	return mostlyStood
}
