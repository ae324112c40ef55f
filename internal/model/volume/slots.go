package volume

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// slots are the block layer's: of each that was taken the instant at which its request is done, in a heap of four children a node. One
// that is done by now is free like one that nobody took, so those leave: mostly few are in flight, and the heap is as small.
type slots struct {
	done  []vtime.Instant
	most  int   // 0: as many as come
	freed int64 // that were given back, or promised to somebody who comes after
}

func newSlots(n int) slots { return slots{most: n} }

// free is when the next slot is: now or earlier, unless all are taken. It forgets what is done by now.
func (s *slots) free(now vtime.Instant) vtime.Instant {
	for len(s.done) > 0 && s.done[0] <= now {
		s.freed++
		n := len(s.done) - 1
		last := s.done[n]
		if s.done = s.done[:n]; n > 0 {
			s.sink(last)
		}
	}
	if len(s.done) < s.most {
		return now
	}
	return s.done[0]
}

// take gives the slot that free told of to a request that is done at the instant given.
func (s *slots) take(done vtime.Instant) {
	if len(s.done) == s.most {
		s.freed++
		s.sink(done)
		return
	}
	i := len(s.done)
	s.done = append(s.done, done)
	for i > 0 {
		parent := (i - 1) / 4
		if s.done[parent] <= done {
			break
		}
		s.done[i] = s.done[parent]
		i = parent
	}
	s.done[i] = done
}

// A SlotState is how the block layer's slots stand at an instant, for those who wait for one before they submit.
type SlotState struct {
	Free  int           // that nobody has
	Next  vtime.Instant // when the first of the others is given back, [vtime.Never] if there is none
	Freed int64         // that were given back so far
}

// SlotsAt tells how the slots stand at now, which is no earlier than the last submission. Without slots none is free.
func (q *Queue) SlotsAt(now vtime.Instant) SlotState {
	s := SlotState{Next: vtime.Never}
	if q.slots.most > 0 {
		q.slots.free(now)
		s.Free, s.Freed = q.slots.most-len(q.slots.done), q.slots.freed
	}
	if len(q.slots.done) > 0 {
		s.Next = q.slots.done[0]
	}
	return s
}

// SlotWaited counts a wait for a slot that was over before the request was submitted.
func (q *Queue) SlotWaited(d units.Duration) {
	q.state.HeldBy[Slots] = saturated(q.state.HeldBy[Slots], max(d, 0))
}

// sink puts an instant at the root's place and lets it down to its own.
func (s *slots) sink(done vtime.Instant) {
	h := s.done
	i, n := 0, len(h)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least, at := first, h[first]
		if first+4 <= n { // as almost always in a large one: without a check of bounds for each
			c := h[first : first+4 : first+4]
			if c[1] < at {
				least, at = first+1, c[1]
			}
			if c[2] < at {
				least, at = first+2, c[2]
			}
			if c[3] < at {
				least, at = first+3, c[3]
			}
		} else {
			for j := first + 1; j < n; j++ {
				if h[j] < at {
					least, at = j, h[j]
				}
			}
		}
		if at >= done {
			break
		}
		h[i] = at
		i = least
	}
	h[i] = done
}
