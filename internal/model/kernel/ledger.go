package kernel

import (
	"math/bits"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// The completion of a request is known as soon as it is submitted. So the values that counters will
// show later are entered in advance, into slots of time, and read when that time has come.
const (
	slotLength = vtime.Instant(100e6)
	// slotsMax bounds how far ahead entries are made, to a little under two hours; anything done
	// later counts as done then.
	slotsMax = 1 << 16
)

// A slot is what happens on a device in one slot of time.
type slot struct {
	done, bytes, took [2]int64 // completed reads and writes, their bytes, the sum of their times (ns)
	flushes           int64
	flushTook         int64
	busy              int64                // ns with anything in flight
	held              [volume.Limits]int64 // ns in which a request was held by the limit
	queued            int64                // ns of requests in flight, summed, for those that begin or end here
	slope             int64                // change in the number of requests in flight from the next slot on
	draining          int64                // bytes of buffered writes completed
}

// A ledger is a device's counters over time.
type ledger struct {
	ahead    []slot        // a ring
	head     int           // where base is in it
	base     int64         // number of the first slot that is not closed
	busyTo   vtime.Instant // something is in flight until then
	heldTo   [volume.Limits]vtime.Instant
	total    slot // of all closed slots; slope is the number in flight now
	inflight int64
}

// number returns the number of an instant's slot, within bounds.
func (l *ledger) number(t vtime.Instant) int64 {
	return min(max(int64(t/slotLength), l.base), l.base+slotsMax-1)
}

// at returns the slot of an instant that is not before base.
func (l *ledger) at(t vtime.Instant) *slot { return l.slot(l.number(t)) }

// slot returns a slot by its number, which counts from the start of the run.
func (l *ledger) slot(number int64) *slot {
	i := number - l.base
	if i >= int64(len(l.ahead)) {
		l.grow(i + 1)
	}
	return &l.ahead[(l.head+int(i))&(len(l.ahead)-1)]
}

func (l *ledger) grow(n int64) {
	size := 1 << bits.Len64(uint64(max(n, 64)-1))
	ring := make([]slot, size)
	for i := range l.ahead {
		ring[i] = l.ahead[(l.head+i)&(len(l.ahead)-1)]
	}
	l.ahead, l.head = ring, 0
}

// book enters a request that counts as in flight from the instant from.
func (l *ledger) book(from vtime.Instant, op volume.Op, length units.Size, completion *volume.Completion,
	buffered bool) {
	first, last := l.number(from), l.number(completion.Done)
	end := l.slot(last)
	took := int64(completion.Done - from)

	if op == volume.Flush {
		end.flushes++
		end.flushTook += took
	} else {
		end.done[op]++
		end.bytes[op] += int64(length)
		end.took[op] += took
		if buffered {
			end.draining += int64(length)
		}
	}

	start := l.slot(first)
	over := vtime.Instant(first+1) * slotLength
	start.queued += int64(over - from)
	start.slope++
	end.queued -= int64(vtime.Instant(last+1)*slotLength - completion.Done)
	end.slope--

	// The common case: the whole request falls into one slot.
	if completion.Done <= over {
		if l.busyTo < completion.Done {
			start.busy += int64(completion.Done - max(from, l.busyTo))
			l.busyTo = completion.Done
		}
		if h := completion.Held; h != volume.Unlimited && completion.Issued > from &&
			l.heldTo[h] < completion.Issued {
			start.held[h] += int64(completion.Issued - max(from, l.heldTo[h]))
			l.heldTo[h] = completion.Issued
		}
		return
	}

	l.busyTo = l.union(from, completion.Done, l.busyTo, func(s *slot, ns int64) { s.busy += ns })
	if h := completion.Held; h != volume.Unlimited && completion.Issued > from {
		l.heldTo[h] = l.union(from, completion.Issued, l.heldTo[h], func(s *slot, ns int64) { s.held[h] += ns })
	}
}

// union adds the interval from from to to, if it is not covered yet, and returns the new end
// of what is covered. Submissions come in time order, so the union of their intervals grows only at
// its end.
func (l *ledger) union(from, to, covered vtime.Instant, add func(*slot, int64)) vtime.Instant {
	from = max(from, covered)
	limit := vtime.Instant(l.base+slotsMax) * slotLength
	for to = min(to, limit); from < to; {
		end := min(to, (from/slotLength+1)*slotLength)
		add(l.at(from), int64(end-from))
		from = end
	}
	return max(covered, to)
}

// close moves slots that are over at now into the totals.
func (l *ledger) close(now vtime.Instant) {
	for ; vtime.Instant(l.base+1)*slotLength <= now; l.base++ {
		if len(l.ahead) == 0 {
			continue
		}

		s := &l.ahead[l.head]
		t := &l.total
		for i := range s.done {
			t.done[i] += s.done[i]
			t.bytes[i] += s.bytes[i]
			t.took[i] += s.took[i]
		}

		t.flushes += s.flushes
		t.flushTook += s.flushTook
		t.busy += s.busy

		for i := range s.held {
			t.held[i] += s.held[i]
		}

		t.queued += s.queued + l.inflight*int64(slotLength)
		t.draining += s.draining
		l.inflight += s.slope
		*s = slot{}
		l.head = (l.head + 1) & (len(l.ahead) - 1)
	}
}

// drained returns the instant at which at least n more bytes of buffered writes will be completed, to the
// precision of a slot. If fewer bytes are in flight, it returns the instant at which all of them are
// completed.
func (l *ledger) drained(now vtime.Instant, n units.Size) vtime.Instant {
	for i := range l.ahead {
		n -= units.Size(l.ahead[(l.head+i)&(len(l.ahead)-1)].draining)
		if n <= 0 {
			return max(now, vtime.Instant(l.base+int64(i)+1)*slotLength)
		}
	}
	return max(now, min(l.busyTo, now+vtime.Instant(len(l.ahead))*slotLength))
}
