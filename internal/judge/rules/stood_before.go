package rules

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/record/timeline"
)

// If the volume, during a stall, writes bytes that were already in the page cache, the cache is the
// cause: with a bound, they would have been written by then. If it writes bytes that arrived during
// the stall (a checkpoint's own pages), the stall remains, because a database hands pages over
// faster than a volume accepts them. We re-ran simulations with vm.dirty_background_bytes at 1 MB:
// nothing stalled any more if mostlyStood of the bytes had been in the cache before, and as much
// stalled as before if less had.
const (
	mostlyStood       = 0.6
	mostlyStoodCoarse = 0.4
	// stoodSince is how long before a stall the page cache is examined: the stall's first seconds
	// may be credited late.
	stoodSince = 3 * time.Second
	// The same bytes can be written earlier only if there is room: stalls take less than spreadable
	// of the time under load, and the volume's mean request rate is below spreadableOps of its
	// highest. (Written early, the requests are smaller and more numerous.)
	spreadable       = 0.35
	spreadableCoarse = 0.7
	spreadableOps    = 0.7
)

// roomToSpread reports whether a stall's bytes could be written earlier.
func (c *Case) roomToSpread() bool {
	most := spreadable
	if c.Grid.StepSeconds() > 2 {
		most = spreadableCoarse // even a one-second stall occupies a whole interval
	}

	if Share(c.Stall.Cells, c.Stall.Active) > most {
		return false
	}

	// The device that writes most in the stalls is the one that would have to write earlier.
	written, used := -1.0, 0.0
	for _, t := range c.Signal(DiskWritten) {
		if s := timeline.Sum(timeline.At(t.Values, c.Stall.Cells)); s > written {
			dev := t.Labels.Get("device")
			written, used = s, max(usedOf(c.For(DiskOps, "device", dev)), usedOf(c.For(DiskMoved, "device", dev)))
		}
	}

	return !(used > spreadableOps)
}

// Pages written early are written more than once: we measured earlyFactor times the bytes.
const earlyFactor = 1.4

// stillStalled is the share of the stalled time that would remain, above which writing early is not
// a remedy.
const stillStalled = 0.5

// leftOver estimates the backlog if the kernel wrote each page as soon as it is dirty: the highest
// in a stall, in seconds of writing, and the share of the stalled time in which it is too long. The
// model is a queue that receives what is written now plus the growth of the page cache, and that
// the volume empties at its flush rate.
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

		if came != came { // one of the series has no value here
			came = 0
		}

		queued = max(0, queued+earlyFactor*came-rate*step)
		if long[k] = queued > tolerableStallS*rate; c.Stall.Cells[k] {
			most = max(most, queued)
		}
	}

	return most / rate, Share(long, c.Stall.Cells)
}

// usedOf is a rate's mean as a share of its maximum.
func usedOf(rate []float64) float64 {
	if used := timeline.Mean(rate) / timeline.Quantile(rate, 0.99); used > 0 {
		return used
	}
	return 0
}

// leftToFsync reports whether a flush belongs to a cycle whose writes stay in the page cache until
// its own fsync, while the kernel throttles its own writeback. With a bound, these bytes are
// written in the background, and no sync waits behind them; an fsync's writes are not throttled.
func (c *Case) leftToFsync(flush timeline.Mask) bool {
	return c.mayBeThrottled() && slices.ContainsFunc(c.Cycles(), func(k Cycle) bool {
		return k.Left && Share(k.Cells.Widen(1, 1), flush) >= byCheckpoint
	})
}

// mayBeThrottled reports whether the kernel may throttle writeback on every measured device: it
// does unless the setting is off.
func (c *Case) mayBeThrottled() bool {
	for _, t := range c.Signal(DiskBusy) {
		if c.Facts["wbt_lat_usec."+t.Labels.Get("device")] == "0" {
			return false
		}
	}
	return true
}

// StoodBefore is the share of the bytes written in the stalls, by the device that writes most, that
// were dirty in the page cache before they began; false if not measured.
func (c *Case) StoodBefore() (share float64, measured bool) {
	dirty, written := c.One(MemoryDirty), c.MostWritten(c.Stall.Cells)
	if dirty == nil || written == nil {
		return 0, false
	}

	// Counters credit completed writes, so a short stall's bytes may be in the neighbouring cells. A cell
	// of many seconds has room for both.
	around := 0
	if c.Grid.StepSeconds() <= 2 {
		around = 1
	}

	var stood, wrote float64
	for _, e := range c.Stall.Cells.Episodes() {
		before := timeline.Max(dirty[max(0, e.First-c.Cells(stoodSince)):e.First])
		out := timeline.Sum(written[max(0, e.First-around):min(len(written),
			e.Last+1+around)]) * c.Grid.StepSeconds()
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

// PageCacheStood reports whether most of the bytes written in the stalls were in the page cache
// before.
func (c *Case) PageCacheStood() bool {
	share, measured := c.StoodBefore()
	return measured && share >= c.mostlyStood()
}

// mostlyStood is the share above which the page cache is the cause. An interval of many seconds
// includes bytes written at its quiet end, and the cache keeps growing after it was sampled, so the
// share is lower.
func (c *Case) mostlyStood() float64 {
	if c.Grid.StepSeconds() > 2 {
		return mostlyStoodCoarse
	}
	return mostlyStood
}
