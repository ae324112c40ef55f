package plan

import (
	"context"
	"sync"
)

// slots are those of concurrent simulations.
type slots struct {
	mu      sync.Mutex
	changed *sync.Cond
	free    int
	waiting int // for one, not counting those that wait until it is idle
}

func newSlots(n int) *slots {
	s := &slots{free: n}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// take waits for a slot.
func (s *slots) take(ctx context.Context) error {
	return s.wait(ctx, 1, func() bool { return s.free > 0 })
}

// takeIdle waits for a slot that nobody else waits for.
func (s *slots) takeIdle(ctx context.Context) error {
	return s.wait(ctx, 0, func() bool { return s.free > 0 && s.waiting == 0 })
}

// tryIdle takes a slot if one is free and nobody waits for it.
func (s *slots) tryIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 || s.waiting > 0 {
		return false
	}
	s.free--
	return true
}

func (s *slots) wait(ctx context.Context, counts int, ready func() bool) error {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting += counts
	for !ready() && ctx.Err() == nil {
		s.changed.Wait()
	}
	s.waiting -= counts
	if err := ctx.Err(); err != nil {
		s.changed.Broadcast()
		return err
	}
	s.free--
	return nil
}

// give gives a slot back.
func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.changed.Broadcast()
}
