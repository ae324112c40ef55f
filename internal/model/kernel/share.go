package kernel

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

const (
	// sharePeriod is the time after which writes count half for a device's share of the limits
	// (VM_COMPLETIONS_PERIOD_LEN in mm/page-writeback.c).
	sharePeriod = vtime.Instant(3 * time.Second)
	// shareLeast is the part of what is left to the background limit that a device has at least,
	// however little it wrote (__wb_calc_thresh, 6.14 and later).
	shareLeast = 8
)

// A share is what the page cache wrote to a device lately, against which its part of the limits is
// computed (lib/flex_proportions.c).
type share struct {
	weight  float64
	counted units.Size // up to here
}

// shareOf returns a device's part of all that the page cache wrote lately.
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

// overBackground reports whether the flusher has to write to a device: because too much is dirty on
// the host, or on the device for its share of the limit (wb_over_bg_thresh). So data beside a
// journal on another volume are written soon after their own writeback ended, though the host is far
// below its limit: the journal has by then done most of what was written.
func (h *Host) overBackground(d *Device) bool {
	if h.dirty > h.background {
		return true
	}
	if d.dirty <= (h.background-h.dirty)/shareLeast {
		return false
	}
	return float64(d.dirty) > float64(float64(h.background)*h.shareOf(d))
}
