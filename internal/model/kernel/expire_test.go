package kernel

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// A dirty file is written out half a minute after it became dirty, and every half minute after that.
// All of it is written, including young pages: a database's own syncs in between do not postpone it.
// (Real kernels were observed to do so.)
func TestSyncDoesNotPutExpiryOff(t *testing.T) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	d := h.Attach("data", slow(t, 32))
	f := h.Create("f", d, units.GiB)
	at := func(second int, and time.Duration) vtime.Instant {
		return vtime.At(time.Duration(second)*time.Second + and)
	}
	page := units.Size(0)
	written := map[int]units.Size{} // by the flusher, at whole seconds

	synced := units.Size(0)
	for second := range 80 {
		clock.At(at(second, 0), vtime.HandlerFunc(func(vtime.Instant, uint64) {
			f.Write(page*2*PageSize, PageSize)
			page++
		}), 0)
		if second == 20 || second == 50 {
			clock.At(at(second, time.Second/2), vtime.HandlerFunc(func(vtime.Instant, uint64) {
				f.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) { synced += f.LastSync().Bytes }), 0)
			}), 0)
		}
	}

	last := units.Size(0)
	for second := 1; second < 80; second++ {
		clock.Run(at(second, -time.Millisecond))
		if all := d.Stats().WrittenBytes - synced; all != last {
			written[second], last = all-last, all
		}
	}

	// The file is dirty from 0 s, and the flusher wakes every 5 s. At 30 s it writes what came after the
	// sync at 20 s. Now clean, the file returns to the list at 31 s and is written at 65 s, with what
	// came after the sync at 50 s.
	if len(written) != 2 || written[31] != 10*PageSize || written[66] != 15*PageSize {
		t.Errorf("flushed, bytes by second: %v", written)
	}
}
