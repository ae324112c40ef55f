package model

import (
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/workload"
)

// A pending operation: when the engine got it, and when what it did so far is done.
type pending struct {
	op    workload.Op
	since vtime.Instant
	ready vtime.Instant
	waits engine.Waits
}

// An entry is a page of a tree.
type entry struct{ tree, page int32 }

// A queue is first in, first out, in a ring. A page is in it once at most, so it is no longer than
// there are pages.
type queue struct {
	ring  []entry // a power of two
	first int
	n     int
}

func (q *queue) push(x entry) {
	if q.n == len(q.ring) {
		ring := make([]entry, max(2*q.n, 1024))
		for i := range q.n {
			ring[i] = q.ring[(q.first+i)&(len(q.ring)-1)]
		}
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = x
	q.n++
}

func (q *queue) pop() (x entry, ok bool) {
	if q.n == 0 {
		return x, false
	}
	x = q.ring[q.first]
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	return x, true
}
