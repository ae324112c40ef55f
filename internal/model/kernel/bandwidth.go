package kernel

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A bandwidth is the kernel's estimate of how fast a device accepts writeback
// (wb_update_write_bandwidth in mm/page-writeback.c): a smoothed mean over about four seconds.
type bandwidth struct {
	begun   bool
	at      vtime.Instant // of the last reading
	written units.Size    // until then
	rate    units.Size    // per second, over the window
	smooth  units.Size    // per second, the reported estimate
}

const (
	bandwidthFirst = 100 * units.MiB // INIT_BW: the first estimate for any device
	// bandwidthOver is the mean's window: three seconds, as a power of two of milliseconds.
	bandwidthOver = 4096 * time.Millisecond
	// bandwidthIdle is the idle time after which a reading does not count.
	bandwidthIdle = time.Second
	// bandwidthEach is the minimum time between two readings (BANDWIDTH_INTERVAL).
	bandwidthEach = 200 * time.Millisecond
	// bandwidthStep divides the difference by which the reported estimate follows the rate.
	bandwidthStep = 8
)

// read updates the estimate with the bytes written since the last reading, and returns it in bytes per
// second.
func (b *bandwidth) read(now vtime.Instant, d *Device) units.Size {
	under := d.underWriteback(now)
	written := d.buffered - under

	elapsed := now.Sub(b.at)
	switch {
	case !b.begun:
		b.begun, b.rate, b.smooth = true, bandwidthFirst, bandwidthFirst
	case elapsed < bandwidthEach:
		return b.smooth
	case elapsed > bandwidthIdle && under == 0:
		// The device was idle, which says nothing about its speed.
	default:
		b.add(written-b.written, elapsed)
	}

	b.at, b.written = now, written
	return b.smooth
}

// add updates the mean with n bytes written in the elapsed time.
func (b *bandwidth) add(n units.Size, elapsed time.Duration) {
	if elapsed >= bandwidthOver {
		b.rate = n * units.Size(time.Second/time.Millisecond) / units.Size(elapsed/time.Millisecond)
		b.smooth = b.rate
		return
	}

	old := b.rate
	left := units.Size((bandwidthOver - elapsed) / time.Millisecond)
	b.rate = (n*1000 + old*left) / units.Size(bandwidthOver/time.Millisecond)

	// The reported estimate moves only if the rate moves in the same direction.
	switch {
	case b.smooth > old && old >= b.rate:
		b.smooth -= (b.smooth - old) / bandwidthStep
	case b.smooth < old && old <= b.rate:
		b.smooth += (old - b.smooth) / bandwidthStep
	}
}
