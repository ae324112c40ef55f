package kernel

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

const (
	// sharePeriod is the time after which writes count half in a device's share of the limits
	// (VM_COMPLETIONS_PERIOD_LEN in mm/page-writeback.c).
	sharePeriod = vtime.Instant(3 * time.Second)
	// shareLeast divides the rest of the background limit: a device gets at least this part, even if it
	// wrote little (__wb_calc_thresh, 6.14 and later).
	shareLeast = 8
)

// A share is what the page cache recently wrote to a device; it determines the device's part of the
// limits (lib/flex_proportions.c).
type share struct {
	weight  float64
	counted units.Size // up to here
}

// shareOf returns a device's part of everything the page cache wrote recently.
func (h *Host) shareOf(d *Device) float64 {
	if len(h.devices) == 1 {
		return 1
	}
	now := h.clock.Now()
	aged := math.Ldexp(1, int(h.sharesAt-now/sharePeriod))
	h.sharesAt = now / sharePeriod
	sum := 0.0
	for _, x := range h.devices {
		written := x.buffered - x.underWriteback(now)
		x.share.weight = float64(x.share.weight*aged) + float64(written-x.share.counted)
		x.share.counted = written
		sum += x.share.weight
	}
	return d.share.weight / max(sum, 1)
}

// overBackground reports whether the flusher has to write to a device because too much is dirty,
// either on the host or on the device relative to its share of the limit (wb_over_bg_thresh). If the
// journal is on a separate volume, data files are therefore written again soon after their last
// writeback, although the host is far below its limit: by then most recent writes were the
// journal's, and the data volume's share is small.
func (h *Host) overBackground(d *Device) bool {
	if h.dirty > h.background {
		return true
	}
	if d.dirty <= (h.background-h.dirty)/shareLeast {
		return false
	}
	return float64(d.dirty) > float64(float64(h.background)*h.shareOf(d))
}
