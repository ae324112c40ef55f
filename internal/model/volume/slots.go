package volume

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// slots are the block layer's: for each one in use the instant at which its request is done, in a
// heap with four children per node. A slot whose request is done by now is as free as an unused one, so it is
// removed: usually few requests are in flight, so the heap stays small.
type slots struct {
	done  []vtime.Instant
	most  int   // 0: unbounded
	freed int64 // returned, or promised to a later request
}

func newSlots(n int) slots { return slots{most: n} }

// free returns the instant from which the next slot is free: now or earlier, unless all are in use. It
// removes requests that are done by now.
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

// take assigns the slot that free reported to a request that is done at the given instant.
func (s *slots) take(done vtime.Instant) {
	// The caller waited for the earliest slot, which is the root of the heap, so its entry is
	// replaced.
	if len(s.done) == s.most {
		s.freed++
		s.sink(done)
		return
	}

	i := len(s.done)
	s.done = append(s.done, done)

	// Move the new entry up past parents that finish later.
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

// A SlotState is the state of the block layer's slots at an instant, for callers that wait for a slot
// before they submit.
type SlotState struct {
	Free  int           // unused slots
	Next  vtime.Instant // when the first of the others is returned, [vtime.Never] if there is none
	Freed int64         // returned so far
}

// SlotsAt returns the state of the slots at now, which is no earlier than the last submission.
// Without slots, none is free.
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

// SlotWaited counts a wait for a slot that ended before the request was submitted.
func (q *Queue) SlotWaited(d units.Duration) {
	q.state.HeldBy[Slots] = saturated(q.state.HeldBy[Slots], max(d, 0))
}

// sink puts an instant at the root and moves it down to its place.
func (s *slots) sink(done vtime.Instant) {
	h := s.done
	i, n := 0, len(h)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}

		least, at := first, h[first]
		if first+4 <= n { // nearly always, in a large heap: without a bounds check for each
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
