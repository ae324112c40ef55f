package corerules

import (
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The same bytes can be written earlier only if there is room: stalls take less than spreadable of the
// time under load, and the volume's mean request rate is below spreadableOps of its highest. (Written
// early, the requests are smaller and more numerous.)
const (
	spreadable       = 0.35
	spreadableCoarse = 0.7
	spreadableOps    = 0.7
)

// roomToSpread reports whether a stall's bytes could be written earlier.
func roomToSpread(c *rules.Case) bool {
	most := spreadable
	if c.Grid.StepSeconds() > 2 {
		most = spreadableCoarse // even a one-second stall occupies a whole interval
	}

	if rules.Share(c.Stall.Cells, c.Stall.Active) > most {
		return false
	}

	// The device that writes most in the stalls is the one that would have to write earlier.
	written, used := -1.0, 0.0
	for _, t := range c.Signal(rules.DiskWritten) {
		if s := timeline.Sum(timeline.At(t.Values, c.Stall.Cells)); s > written {
			dev := t.Labels.Get("device")
			written, used = s, max(
				usedOf(c.For(rules.DiskOps, "device", dev)),
				usedOf(c.For(rules.DiskMoved, "device", dev)),
			)
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
func leftOver(c *rules.Case, flush timeline.Mask) (seconds, tooLong float64) {
	dirty, writeback := c.One(rules.MemoryDirty), c.One(rules.MemoryWriteback)
	written := c.MostWritten(c.Stall.Cells)
	rate := timeline.Quantile(timeline.At(written, flush), 0.9)
	if dirty == nil || !(rate > rules.MinFlushRate) {
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
		if long[k] = queued > rules.TolerableStallS*rate; c.Stall.Cells[k] {
			most = max(most, queued)
		}
	}

	return most / rate, rules.Share(long, c.Stall.Cells)
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
func leftToFsync(c *rules.Case, flush timeline.Mask) bool {
	return mayBeThrottled(c) && slices.ContainsFunc(c.Cycles(), func(k rules.Cycle) bool {
		return k.Left && rules.Share(k.Cells.Widen(1, 1), flush) >= byCheckpoint
	})
}

// mayBeThrottled reports whether the kernel may throttle writeback on every measured device: it
// does unless the setting is off.
func mayBeThrottled(c *rules.Case) bool {
	for _, t := range c.Signal(rules.DiskBusy) {
		if c.Facts["wbt_lat_usec."+t.Labels.Get("device")] == "0" {
			return false
		}
	}
	return true
}
