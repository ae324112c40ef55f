package iris

import (
	"plimsoll/engine"
	"plimsoll/vtime"
	"plimsoll/workload"
)

// A slot holds an operation until it is acknowledged.
type slot struct {
	op    workload.Op
	waits engine.Waits
	mark  vtime.Instant // up to when its waits are told
	next  uint32        // in the list of free ones, or in a queue
}

// spend accounts the time since the mark to a wait.
func (s *slot) spend(now vtime.Instant, w engine.Wait) {
	s.waits[w] += int64(now - s.mark)
	s.mark = now
}

// slots are the operations under way: as many as clients have asked for and have no answer to.
type slots struct {
	all  []slot
	free uint32
}

const noSlot = 1<<32 - 1

func (s *slots) init() { s.free = noSlot }

func (s *slots) at(i uint32) *slot { return &s.all[i] }

func (s *slots) take(op workload.Op, now vtime.Instant) uint32 {
	if s.free == noSlot {
		s.all = append(s.all, slot{next: noSlot})
		s.free = uint32(len(s.all) - 1)
	}
	i := s.free
	x := &s.all[i]
	s.free = x.next
	*x = slot{op: op, mark: now}
	return i
}

func (s *slots) give(i uint32) { s.all[i].next, s.free = s.free, i }

// A queue is a list of slots, first in first out.
type queue struct {
	first, last uint32
	length      int
	serving     bool // its head is being tried again
}

func (q *queue) init() { q.first, q.last = noSlot, noSlot }

func (q *queue) push(s *slots, i uint32) {
	s.at(i).next = noSlot
	if q.length == 0 {
		q.first = i
	} else {
		s.at(q.last).next = i
	}
	q.last = i
	q.length++
}

func (q *queue) pop(s *slots) uint32 {
	i := q.first
	q.first = s.at(i).next
	q.length--
	return i
}
