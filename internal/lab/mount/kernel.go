//go:build linux

package mount

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab/disk"
	"plimsoll/internal/model/volume"
)

// The emulator knows how late it answers. It cannot know what a request loses before it has reached
// the emulator and on its way back. The kernel counts both (blockdev.Seen). So each volume's mean
// in the kernel is compared with the mean that was asked for, in spans of ten seconds, like the
// emulator's own lateness.

// The bounds of the path, beside what is taken off for it: what is over both in the mean of ten
// seconds makes a volume slow. Measured on two cores, 0.7 to 58 ms asked: 0 to 0.1 ms over in
// streams of fio, also beside two busy loops; 0.1 to 0.5 of 2.3 to 4.5 ms beside a busy database.
const (
	slowBeyond  = units.Duration(100 * time.Microsecond)
	slowShare   = 5 // a fifth of what was asked, beside it
	slowSeconds = 10
	slowLeast   = 100 // requests in the span, fewer say nothing
)

// A sight is counters at an instant, or what came in between two.
type sight struct {
	requests    int64 // reads and writes, as the kernel counts them
	took, asked units.Duration
}

func (s sight) since(before sight) sight {
	return sight{s.requests - before.requests, s.took - before.took, s.asked - before.asked}
}

// added is by how much a request took longer than asked, in the mean, and whether that is over the
// bounds. Where the kernel splits a request on its way, the parts' times are in what was asked, and
// less is seen than there was.
func (s sight) added() (units.Duration, bool) {
	if s.requests < slowLeast {
		return 0, false
	}
	n := units.Duration(s.requests)
	added := max((s.took-s.asked)/n, 0)
	return added, added > slowBeyond+s.asked/n/slowShare
}

// A comparison is a volume's since counting began.
type comparison struct {
	from    sight
	span    sight // when the running ten seconds began
	seconds int   // of them
	worst   units.Duration
	slow    bool
}

// second takes the counters of the next second.
func (c *comparison) second(now sight) {
	if c.seconds++; c.seconds < slowSeconds {
		return
	}
	added, slow := now.since(c.span).added()
	c.worst, c.slow = max(c.worst, added), c.slow || slow
	c.span, c.seconds = now, 0
}

// sight is the state of a volume's counters.
func (v *served) sight(s *disk.Stats) (sight, error) {
	seen, err := v.device.Seen()
	return sight{seen.Requests, seen.Time, s.Asked[volume.Read] + s.Asked[volume.Write]}, err
}

// begin starts comparing again.
func (v *served) begin() error {
	s := v.disk.Stats()
	now, err := v.sight(&s)
	v.kernel = comparison{from: now, span: now}
	return err
}

// watch compares each second until the function it gives is called.
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
		if now, err := v.sight(&s); err == nil { // else it is being taken away
			v.kernel.second(now)
		}
	}
}
