package model

import (
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

// A pending is an operation in the engine.
type pending struct {
	op     workload.Op
	since  vtime.Instant // when the engine received it
	ready  vtime.Instant // when the work so far is done
	waits  database.Waits
	number uint32 // of its place
}

// places hold the operations in the engine. A place never moves, so an operation is written once
// and not copied between queues. Its number is the argument of its events.
type places struct {
	chunks [][]pending
	free   []uint32
}

const placesChunk = 256

// take returns a free place. Except for its number, its content is undefined.
func (s *places) take() *pending {
	if len(s.free) == 0 {
		first := uint32(len(s.chunks) * placesChunk)
		chunk := make([]pending, placesChunk)
		for i := range chunk {
			chunk[i].number = first + uint32(i)
			s.free = append(s.free, first+placesChunk-1-uint32(i)) // the first is taken first
		}
		s.chunks = append(s.chunks, chunk)
	}
	last := len(s.free) - 1
	i := s.free[last]
	s.free = s.free[:last]
	return s.at(uint64(i))
}

// at returns the place with the given number.
func (s *places) at(i uint64) *pending { return &s.chunks[i/placesChunk][i%placesChunk] }

// give frees a place.
func (s *places) give(p *pending) { s.free = append(s.free, p.number) }

// An entry identifies a page of a tree.
type entry struct{ tree, page int32 }

// A queue is a FIFO in a ring. A page is in it at most once, so it is never longer than the number
// of pages.
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
