package model

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A throttle is a volume behind the kernel's block throttle, as in the runs that the model is compared
// with. It limits reads and writes separately. In each slice of 100 ms it passes the slice's share
// immediately, then nothing until the next slice (block/blk-throttle.c). With slots, it is the lower of
// two loop devices: the upper one has that many requests in flight.
type throttle struct {
	iops, bytes int64
	latency     units.Duration
	slots       int

	passed [2]budget // by direction
	done   []vtime.Instant
	next   int
	last   vtime.Instant // requests complete in order
	state  volume.State
}

const slice = 100 * time.Millisecond

type budget struct {
	slice            vtime.Instant // its number
	operations, left int64         // operations and bytes left in it
}

// pass returns when a request of n bytes that arrives at the given time passes.
func (b *budget) pass(d *throttle, at vtime.Instant, n int64) vtime.Instant {
	perSlice := [2]int64{d.iops / 10, d.bytes / 10}
	if k := at / vtime.Instant(slice); k > b.slice || b.operations == 0 && b.left == 0 {
		b.slice, b.operations, b.left = k, perSlice[0], perSlice[1]
	}
	for b.operations < 1 || b.left < n && b.left < perSlice[1] {
		b.slice++
		b.operations, b.left = perSlice[0], min(b.left, 0)+perSlice[1]
	}
	b.operations--
	b.left -= n
	return max(at, b.slice*vtime.Instant(slice))
}

func (d *throttle) Submit(now vtime.Instant, r volume.Request) volume.Completion {
	c := volume.Completion{Admitted: now, Issued: now}
	d.state.Submitted[r.Op]++
	if r.Op == volume.Flush {
		c.Done = max(d.last, now).Add(d.latency.Std())
		return c
	}

	if d.slots > 0 {
		if d.done == nil {
			d.done = make([]vtime.Instant, d.slots)
		}
		c.Admitted = max(now, d.done[d.next])
	}

	c.Issued = d.passed[r.Op].pass(d, c.Admitted, int64(r.Length))
	c.Operations = 1
	if c.Issued > now {
		c.Held = volume.VolumeIOPS
	}

	c.Done = c.Issued.Add(d.latency.Std())
	d.last = max(d.last, c.Done)
	if d.slots > 0 {
		d.done[d.next] = d.last
		d.next = (d.next + 1) % d.slots
	}

	return c
}

func (d *throttle) State(vtime.Instant) volume.State { return d.state }
