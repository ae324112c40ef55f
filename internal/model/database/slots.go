package database

import (
	"iter"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/workload"
)

// A Slot holds an operation until it is acknowledged.
type Slot struct {
	Op    workload.Op
	Waits Waits
	Mark  vtime.Instant // up to when its waits are accounted for
	next  uint32        // in the list of free slots (its number plus one; 0 is none), or in a queue
}

// Spend attributes the time since the mark to a wait.
func (s *Slot) Spend(now vtime.Instant, w Wait) {
	s.Waits[w] += int64(now - s.Mark)
	s.Mark = now
}

// Slots holds the operations in progress, by numbers that are reused: as many as clients have sent
// without an answer yet. The zero Slots is empty.
type Slots struct {
	all  []Slot
	free uint32 // its number plus one; 0 is none
}

// At returns the slot with a number. The pointer is valid until the next Take.
func (s *Slots) At(i uint32) *Slot { return &s.all[i] }

// Take assigns a slot to an operation that arrives now.
func (s *Slots) Take(op workload.Op, now vtime.Instant) uint32 {
	// A new slot goes onto the free list first, so that both cases take it from there.
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

// Give frees a slot.
func (s *Slots) Give(i uint32) { s.all[i].next, s.free = s.free, i+1 }

// A Queue is a first-in, first-out list of slots, linked through them: a slot is in one queue at a
// time. The zero Queue is empty.
type Queue struct {
	first, last uint32
	n           int
}

// Len returns the number of slots.
func (q *Queue) Len() int { return q.n }

// Push appends a slot.
func (q *Queue) Push(s *Slots, i uint32) {
	if q.n == 0 {
		q.first = i
	} else {
		s.At(q.last).next = i
	}
	q.last = i
	q.n++
}

// Pop removes and returns the first slot. The queue must not be empty.
func (q *Queue) Pop(s *Slots) uint32 {
	i := q.first
	q.first = s.At(i).next
	q.n--
	return i
}

// All returns the numbers of the queued slots, in order.
func (q *Queue) All(s *Slots) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		// The last slot's link is stale, so the count ends the list.
		for i, left := q.first, q.n; left > 0 && yield(i); left-- {
			i = s.At(i).next
		}
	}
}

// Kept holds things that each wait for an event, by a number that is the event's argument. Numbers
// are reused. The zero Kept is empty.
type Kept[T any] struct {
	all  []T
	free []uint64
}

// Keep stores a value and returns its number.
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

// At returns the thing with a number. The pointer is valid until the next Keep.
func (k *Kept[T]) At(i uint64) *T { return &k.all[i] }

// Take returns the value and frees its number.
func (k *Kept[T]) Take(i uint64) T {
	k.free = append(k.free, i)
	return k.all[i]
}
