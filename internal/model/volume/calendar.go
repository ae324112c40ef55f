package volume

import (
	"math"

	"plimsoll/internal/base/vtime"
)

// slicesMax bounds how far ahead the calendar goes: 17 minutes, 24 MiB. Requests that a volume's backlog puts
// even later are served one after another, at the baseline.
const (
	slicesMin = 1 << 10
	slicesMax = 1 << 20
)

// A slice is a millisecond of a limit that volumes share.
type slice struct {
	used [kinds]int64
	skip uint32 // full: the number of slices after which there may be room
	kind uint8  // the kind of limit that is full
}

// A calendar is the slices from now on, as a ring.
type calendar struct {
	limits [kinds]allowance
	ring   []slice
	// seconds holds the amount used in each second that the ring may reach into, for the credits.
	seconds [2 * slicesMax / secondSlices][kinds]int64
	first   int64 // the slice of now
	end     int64 // after the last one ever used
	// Requests that were too late for the ring fill [lateFrom, lateTo), in slices.
	lateFrom, lateTo int64
	lateAt           vtime.Instant
}

func (c *calendar) init() {
	c.ring = make([]slice, slicesMin)
	c.lateFrom, c.lateTo = math.MaxInt64, math.MaxInt64
}

func (c *calendar) slot(s int64) *slice { return &c.ring[s&int64(len(c.ring)-1)] }

// advance forgets the slices before now.
func (c *calendar) advance(now vtime.Instant) {
	to := int64(now / sliceNs)
	if to == c.first {
		return
	}

	c.settle(c.first/secondSlices, to/secondSlices)

	// Slices after end were never used and are already clear, so a long idle time costs nothing.
	for ; c.first < to && c.first < c.end; c.first++ {
		*c.slot(c.first) = slice{}
	}

	if c.first < to {
		c.first, c.end = to, to
	}

	if c.first >= c.lateTo {
		c.lateFrom, c.lateTo = math.MaxInt64, math.MaxInt64
	}
}

// settle refills the credits for seconds that are over.
func (c *calendar) settle(second, to int64) {
	for ; second < to && second*secondSlices < c.end; second++ {
		used := c.second(second * secondSlices)
		for k := range c.limits {
			c.limits[k].rest(used[k], 1)
		}
		// The ring of seconds is reused, so a second is cleared once it is settled.
		*used = [kinds]int64{}
	}
	if second < to {
		for k := range c.limits {
			c.limits[k].rest(0, to-second)
		}
	}
}

// second returns the use of the second that contains a slice.
func (c *calendar) second(s int64) *[kinds]int64 {
	return &c.seconds[s/secondSlices&int64(len(c.seconds)-1)]
}

// reserve takes room for a charge from an instant on, and returns the instant at which its last part passes
// and what held it back.
func (c *calendar) reserve(from vtime.Instant, cost *charge) (vtime.Instant, Limit) {
	need := [kinds]int64{cost.operations * thousand, cost.bytes * thousand}
	at := max(int64(from/sliceNs), c.first)

	bound, waited := 0, false
	for {
		at, bound, waited = c.find(at, bound, waited)
		if at-c.first >= slicesMax {
			return c.late(from, at, need)
		}

		if at-c.first >= int64(len(c.ring)) {
			c.grow(at)
		}

		s := c.slot(at)
		c.end = max(c.end, at+1)
		second := c.second(at)

		room := [kinds]int64{
			c.limits[operations].room(s.used[operations], second[operations]),
			c.limits[bytes].room(s.used[bytes], second[bytes]),
		}

		// The charge ends in this slice. Both kinds must fit, since one request uses both.
		if need[operations] <= room[operations] && need[bytes] <= room[bytes] {
			c.limits[operations].take(&s.used[operations], &second[operations], need[operations])
			c.limits[bytes].take(&s.used[bytes], &second[bytes], need[bytes])
			return c.passes(from, at, s, cost, bound, waited)
		}

		// Take what fits here and carry the rest over to the next slice.
		bound, waited = c.fill(s, second, room, &need), true
		at++
	}
}

// find returns the first slice from at on that is not known to be full, and which limit filled the
// slice before it, if any.
func (c *calendar) find(at int64, bound int, waited bool) (int64, int, bool) {
	for {
		// The late queue owns these slices entirely.
		if at >= c.lateFrom && at < c.lateTo {
			at = c.lateTo
		}

		if at >= c.end {
			return at, bound, waited
		}

		s := c.slot(at)
		if s.skip == 0 {
			return at, bound, waited
		}

		to := at + int64(s.skip)
		bound, waited = int(c.slot(to-1).kind), true
		if to < c.end {
			// Path compression as in union-find: the next search skips both runs of full slices in
			// one step.
			if more := c.slot(to).skip; more > 0 {
				s.skip += more
			}
		}

		at = to
	}
}

// fill uses up the room in a slice, in the charge's proportion of operations to bytes. It marks the
// slice as full of the returned kind.
func (c *calendar) fill(s *slice, second *[kinds]int64, room [kinds]int64, need *[kinds]int64) int {
	kind := operations

	// Which of the two would last longer? The shares are compared as fractions.
	if float64(room[bytes])*float64(need[operations]) < float64(room[operations])*float64(need[bytes]) {
		kind = bytes
	}

	if room[kind] > 0 {
		share := float64(room[kind]) / float64(need[kind])
		for k := range need {
			take := room[k]
			if k != kind {
				take = min(take, int64(float64(need[k])*share))
			}
			if take > 0 {
				c.limits[k].take(&s.used[k], &second[k], take)
				need[k] -= take
			}
		}
	}

	s.skip, s.kind = 1, uint8(kind)
	return kind
}

// passes returns the instant at which the last part of a charge passes, if a slice took the charge's end.
// Room is used from the start of a slice, and a request passes at the start of its share.
func (c *calendar) passes(from vtime.Instant, at int64, s *slice, cost *charge, bound int,
	waited bool) (vtime.Instant, Limit) {
	o, b := &c.limits[operations], &c.limits[bytes]
	ends := max(o.ns(s.used[operations]), b.ns(s.used[bytes]))
	takes := max(o.ns(cost.lastOperations()*thousand), b.ns(cost.lastBytes()*thousand))
	begun := vtime.Instant(at*sliceNs + ends - takes)
	// The room is before the request's own start, so the instance did not delay it.
	if begun <= from {
		return from, Unlimited
	}
	// Nothing was full before this slice, so whichever kind is used further in it decided.
	if !waited && b.ns(s.used[bytes]) > o.ns(s.used[operations]) {
		bound = bytes
	}
	return begun, c.limit(bound)
}

// limit returns the limit that a slice full of a kind has reached.
func (c *calendar) limit(kind int) Limit {
	switch {
	case c.limits[kind].spent():
		return InstanceCredits
	case kind == bytes:
		return InstanceThroughput
	}
	return InstanceIOPS
}

// grow enlarges the ring until it includes the slice.
func (c *calendar) grow(at int64) {
	n := int64(len(c.ring))
	for at-c.first >= n {
		n *= 2
	}
	ring := make([]slice, n)
	// A slice's place depends on the ring's length, so every slice moves.
	for s := c.first; s < c.end; s++ {
		ring[s&(n-1)] = *c.slot(s)
	}
	c.ring = ring
}

// late queues a charge behind the end of the ring.
func (c *calendar) late(from vtime.Instant, at int64, need [kinds]int64) (vtime.Instant, Limit) {
	// The bound on at keeps the product within an int64.
	passes := max(from, vtime.Instant(min(at, math.MaxInt64/sliceNs)*sliceNs))
	if c.lateTo != math.MaxInt64 {
		passes = max(passes, c.lateAt)
	} else {
		c.lateFrom = int64(passes / sliceNs)
	}

	// The late queue runs at the baseline: credits that far ahead are not known.
	var ns float64
	kind := operations
	for k := range need {
		if l := &c.limits[k]; l.limited && float64(need[k])*l.baseNs > ns {
			ns, kind = float64(need[k])*l.baseNs, k
		}
	}

	c.lateAt = vtime.Never

	// A sum past the end of virtual time saturates.
	if ns < float64(vtime.Never-passes) {
		c.lateAt = passes + vtime.Instant(ns)
	}

	c.lateTo = int64(c.lateAt/sliceNs) + 1
	if passes == from {
		return from, Unlimited
	}

	return passes, c.limit(kind)
}
