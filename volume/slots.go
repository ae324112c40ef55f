package volume

import "plimsoll/vtime"

// slots are the block layer's: each holds the instant at which its request is done. It is a heap
// of four children a node, always full: a slot that nobody has used is free since the beginning.
type slots []vtime.Instant

func newSlots(n int) slots { return make(slots, n) }

// free is when the next slot is.
func (s slots) free() vtime.Instant { return s[0] }

// take gives that slot to a request that is done at the instant given.
func (s slots) take(done vtime.Instant) {
	i, n := 0, len(s)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least, at := first, s[first]
		if first+4 <= n { // as almost always: without a check of bounds for each
			c := s[first : first+4 : first+4]
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
				if s[j] < at {
					least, at = j, s[j]
				}
			}
		}
		if at >= done {
			break
		}
		s[i] = at
		i = least
	}
	s[i] = done
}
