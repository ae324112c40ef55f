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
type places struct{ all, free []*pending }

// take returns a free place. Except for its number, its content is undefined.
func (s *places) take() *pending {
	if n := len(s.free); n > 0 {
		p := s.free[n-1]
		s.free = s.free[:n-1]
		return p
	}
	p := &pending{number: uint32(len(s.all))}
	s.all = append(s.all, p)
	return p
}

// at returns the place with the given number.
func (s *places) at(i uint64) *pending { return s.all[i] }

// give frees a place.
func (s *places) give(p *pending) { s.free = append(s.free, p) }

// An entry identifies a page of a tree.
type entry struct{ tree, page int32 }
