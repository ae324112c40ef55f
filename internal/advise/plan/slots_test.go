package plan

import (
	"context"
	"errors"
	"testing"
)

// An idle slot is one that nobody else waits for, and who gives up waiting takes none.
func TestIdleComesLast(t *testing.T) {
	s := newSlots(1)
	if err := s.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 2)
	ended, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- s.take(ended) }()
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled wait ends with %v", err)
	}
	wait := func(name string, take func(context.Context) error) {
		if take(t.Context()) == nil {
			got <- name
		}
	}
	go wait("idle", s.takeIdle)
	go wait("search", s.take)
	for waiting := 0; waiting == 0; {
		s.mu.Lock()
		waiting = s.waiting
		s.mu.Unlock()
	}
	s.give()
	if first := <-got; first != "search" {
		t.Errorf("%s takes the slot first", first)
	}
	s.give()
	if second := <-got; second != "idle" {
		t.Errorf("then %s", second)
	}
}
