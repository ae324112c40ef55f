//go:build linux

package mount

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

// The emulator measures how late it answers. It cannot measure how long a request takes to reach it, or how
// long the answer takes to get back. The kernel's counters include both (blockdev.Seen). Each volume's mean
// latency in the kernel is therefore compared with the planned mean, in spans of ten seconds, like the
// emulator's own lateness.

// Bounds on the path time in excess of what is subtracted for it: a volume is slow if its mean over
// ten seconds exceeds both. Measured on two cores, with planned latencies of 0.7 to 58 ms: an
// excess of 0 to 0.1 ms under fio, also with two busy loops in parallel; 0.1 to 0.5 ms on top of
// 2.3 to 4.5 ms next to a busy database.
const (
	slowBeyond  = units.Duration(100 * time.Microsecond)
	slowShare   = 5 // in addition, a fifth of the planned latency
	slowSeconds = 10
	slowLeast   = 100 // minimum requests in the span; fewer prove nothing
)

// A sight is a snapshot of the counters, or the difference of two.
type sight struct {
	requests    int64 // reads and writes, as the kernel counts them
	took, asked units.Duration
}

func (s sight) since(before sight) sight {
	return sight{s.requests - before.requests, s.took - before.took, s.asked - before.asked}
}

// added returns by how much requests took longer than planned, on average, and whether that exceeds
// the bounds. If the kernel splits requests, the plan includes the latency of each part, and the
// excess is underestimated.
func (s sight) added() (units.Duration, bool) {
	if s.requests < slowLeast {
		return 0, false
	}
	n := units.Duration(s.requests)
	added := max((s.took-s.asked)/n, 0)
	return added, added > slowBeyond+s.asked/n/slowShare
}

// A comparison compares one volume's latencies since its counters were reset.
type comparison struct {
	from    sight
	span    sight // at the start of the current ten seconds
	seconds int   // elapsed in the current span
	worst   units.Duration
	slow    bool
}

// second processes the counters of the next second.
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
	// Without pacing there is no plan to compare with.
	if !d.paced {
		return
	}
	for _, v := range d.volumes {
		s := v.disk.Stats()
		if now, err := v.sight(&s); err == nil { // fails while the device is being removed
			v.kernel.second(now)
		}
	}
}
