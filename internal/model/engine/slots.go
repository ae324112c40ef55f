package engine

import (
	"iter"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/workload"
)

// A Slot holds an operation until it is acknowledged.
type Slot struct {
	Op    workload.Op
	Waits Waits
	Mark  vtime.Instant // up to when its waits are told
	next  uint32        // in the list of free ones (its number and one; 0 is none), or in a queue
}

// Spend accounts the time since the mark to a wait.
func (s *Slot) Spend(now vtime.Instant, w Wait) {
	s.Waits[w] += int64(now - s.Mark)
	s.Mark = now
}

// Slots are the operations under way, by numbers that are used again: as many as clients have asked for and have no answer to. The zero
// Slots have none.
type Slots struct {
	all  []Slot
	free uint32 // the number of one, and one; 0 is none
}

// At is the slot of a number. It stays where it is until the next Take.
func (s *Slots) At(i uint32) *Slot { return &s.all[i] }

// Take gives an operation that came now a slot.
func (s *Slots) Take(op workload.Op, now vtime.Instant) uint32 {
	if s.free == 0 {
		s.all = append(s.all, Slot{})
		s.free = uint32(len(s.all))
	}
	i := s.free - 1
	x := &s.all[i]
	s.free = x.next
	*x = Slot{Op: op, Mark: now}
	return i
}

// Give lets go of a slot.
func (s *Slots) Give(i uint32) { s.all[i].next, s.free = s.free, i+1 }

// A Queue is a list of slots, first in first out, linked through them: a slot is in one at a time. The zero Queue is empty.
type Queue struct {
	first, last uint32
	n           int
}

// Len is how many there are.
func (q *Queue) Len() int { return q.n }

// Push puts a slot at the end.
func (q *Queue) Push(s *Slots, i uint32) {
	if q.n == 0 {
		q.first = i
	} else {
		s.At(q.last).next = i
	}
	q.last = i
	q.n++
}

// Pop takes the first, of which there must be one.
func (q *Queue) Pop(s *Slots) uint32 {
	i := q.first
	q.first = s.At(i).next
	q.n--
	return i
}

// All are the numbers of those in the queue, in order.
func (q *Queue) All(s *Slots) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i, left := q.first, q.n; left > 0 && yield(i); left-- {
			i = s.At(i).next
		}
	}
}

// Kept are things that wait for an event each, by a number to be its argument. Numbers are used again. The zero Kept are none.
type Kept[T any] struct {
	all  []T
	free []uint64
}

// Keep gives a thing a number.
func (k *Kept[T]) Keep(x T) uint64 {
	if n := len(k.free); n > 0 {
		i := k.free[n-1]
		k.free = k.free[:n-1]
		k.all[i] = x
		return i
	}
	k.all = append(k.all, x)
	return uint64(len(k.all) - 1)
}

// At is the thing of a number. It stays where it is until the next Keep.
func (k *Kept[T]) At(i uint64) *T { return &k.all[i] }

// Take gives the thing and lets go of its number.
func (k *Kept[T]) Take(i uint64) T {
	k.free = append(k.free, i)
	return k.all[i]
}
