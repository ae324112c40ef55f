package rules

import (
	"math"
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
	MostlyStoodCoarse = 0.4
	// stoodSince is how long before a stall the page cache is examined: the stall's first seconds
	// may be credited late.
	stoodSince = 3 * time.Second
)

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
	return measured && share >= c.MostlyStood()
}

// MostlyStood is the share above which the page cache is the cause. An interval of many seconds
// includes bytes written at its quiet end, and the cache keeps growing after it was sampled, so the
// share is lower.
func (c *Case) MostlyStood() float64 {
	if c.Grid.StepSeconds() > 2 {
		return MostlyStoodCoarse
	}
	return mostlyStood
}
