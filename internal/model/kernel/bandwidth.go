package kernel

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A bandwidth is the kernel's estimate of how fast a device takes what the page cache writes (wb_update_write_bandwidth in
// mm/page-writeback.c): a mean over some four seconds, smoothed.
type bandwidth struct {
	begun   bool
	at      vtime.Instant // of the last reading
	written units.Size    // until then
	rate    units.Size    // a second, over the window
	smooth  units.Size    // a second, what is told
}

const (
	bandwidthFirst = 100 * units.MiB // INIT_BW: what a device is taken for
	// bandwidthOver is the mean's window: three seconds, as a power of two of milliseconds.
	bandwidthOver = 4096 * time.Millisecond
	// bandwidthIdle is the silence that is not counted.
	bandwidthIdle = time.Second
	// bandwidthEach is the least time between two readings (BANDWIDTH_INTERVAL).
	bandwidthEach = 200 * time.Millisecond
	// bandwidthStep is the share of a difference by which what is told follows.
	bandwidthStep = 8
)

// read takes in what was written since the last reading, and gives the bytes a second.
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
	default:
		b.add(written-b.written, elapsed)
	}
	b.at, b.written = now, written
	return b.smooth
}

// add takes in so many bytes in so much time.
func (b *bandwidth) add(n units.Size, elapsed time.Duration) {
	if elapsed >= bandwidthOver {
		b.rate = n * units.Size(time.Second/time.Millisecond) / units.Size(elapsed/time.Millisecond)
		b.smooth = b.rate
		return
	}
	old := b.rate
	left := units.Size((bandwidthOver - elapsed) / time.Millisecond)
	b.rate = (n*1000 + old*left) / units.Size(bandwidthOver/time.Millisecond)
	// What is told moves only towards where the rate is going as well.
	switch {
	case b.smooth > old && old >= b.rate:
		b.smooth -= (b.smooth - old) / bandwidthStep
	case b.smooth < old && old <= b.rate:
		b.smooth += (old - b.smooth) / bandwidthStep
	}
}
