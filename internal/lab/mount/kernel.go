//go:build linux

package mount

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

// The emulator knows how late it answers. It cannot know how long a request takes to reach it, or
// the answer to get back. The kernel counts both (blockdev.Seen). So each volume's mean in the
// kernel is compared with the planned mean, in spans of ten seconds, as for the emulator's own
// lateness.

// The bounds of the path, beyond the time that is subtracted for it: a volume whose mean over ten
// seconds exceeds both is slow. Measured on two cores, with planned latencies of 0.7 to 58 ms: an
// excess of 0 to 0.1 ms in streams of fio, also with two busy loops in parallel; 0.1 to 0.5 ms of
// 2.3 to 4.5 ms next to a busy database.
const (
	slowBeyond  = units.Duration(100 * time.Microsecond)
	slowShare   = 5 // in addition, a fifth of the planned latency
	slowSeconds = 10
	slowLeast   = 100 // requests in the span; fewer prove nothing
)

// A sight is the counters at an instant, or their difference between two.
type sight struct {
	requests    int64 // reads and writes, as the kernel counts them
	took, asked units.Duration
}

func (s sight) since(before sight) sight {
	return sight{s.requests - before.requests, s.took - before.took, s.asked - before.asked}
}

// added is by how much a request took longer than planned, on average, and whether that exceeds the
// bounds. If the kernel splits a request, the plan includes the times of its parts, and the excess
// comes out too small.
func (s sight) added() (units.Duration, bool) {
	if s.requests < slowLeast {
		return 0, false
	}
	n := units.Duration(s.requests)
	added := max((s.took-s.asked)/n, 0)
	return added, added > slowBeyond+s.asked/n/slowShare
}

// A comparison covers one volume since counting began.
type comparison struct {
	from    sight
	span    sight // when the current ten seconds began
	seconds int   // of them
	worst   units.Duration
	slow    bool
}

// second adds the counters of the next second.
func (c *comparison) second(now sight) {
	if c.seconds++; c.seconds < slowSeconds {
		return
	}
	added, slow := now.since(c.span).added()
	c.worst, c.slow = max(c.worst, added), c.slow || slow
	c.span, c.seconds = now, 0
}

// sight returns the current counters of a volume.
func (v *served) sight(s *disk.Stats) (sight, error) {
	seen, err := v.device.Seen()
	return sight{seen.Requests, seen.Time, s.Asked[volume.Read] + s.Asked[volume.Write]}, err
}

// begin restarts the comparison.
func (v *served) begin() error {
	s := v.disk.Stats()
	now, err := v.sight(&s)
	v.kernel = comparison{from: now, span: now}
	return err
}

// watch compares each second until stop is called.
func (d *daemon) watch() (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				d.compare()
			}
		}
	}()

	return func() {
		close(done)
		<-gone
	}
}

func (d *daemon) compare() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.paced {
		return
	}
	for _, v := range d.volumes {
		s := v.disk.Stats()
		if now, err := v.sight(&s); err == nil { // it fails while the device is being removed
			v.kernel.second(now)
		}
	}
}
