package plan

import (
	"context"
	"sync"
)

// A crew shares the workers between runs that the search waits for, which are urgent, and those that are not: they
// go on while a worker has nothing urgent to do. A search is a chain of runs of which each waits for one before, so some worker is
// often free. Which run goes on when changes nothing of what it comes to.
type crew struct {
	workers int

	mu           sync.Mutex
	free         sync.Cond // told when a run ends or pauses
	urgent, idle int       // runs at work
	waiting      [ranks]int
}

// A rank says which of the runs that are not urgent goes first.
type rank int

const (
	urgent rank = iota
	ahead       // what will probably be waited for next
	told        // what is told in the end
	argued      // what a statement rests on: the shortest, which fill what the others leave
	ranks  = 4
)

func newCrew(workers int) *crew {
	c := &crew{workers: max(workers, 1)}
	c.free.L = &c.mu
	return c
}

// hurry begins an urgent run. Nobody limits those here: who starts them does. The function it gives ends it.
func (c *crew) hurry() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.urgent++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.urgent--
		c.free.Broadcast()
	}
}

// wait begins a run that is not urgent, when a worker is free and nobody of a rank before its own wants it.
func (c *crew) wait(ctx context.Context, r rank) {
	defer context.AfterFunc(ctx, c.free.Broadcast)()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[r]++
	for (c.urgent+c.idle >= c.workers || c.before(r)) && ctx.Err() == nil {
		c.free.Wait()
	}
	c.waiting[r]--
	c.idle++
	c.free.Broadcast() // whom this one kept from it
}

// before tells whether a run of an earlier rank waits.
func (c *crew) before(r rank) bool {
	for _, n := range c.waiting[:r] {
		if n > 0 {
			return true
		}
	}
	return false
}

// leave ends such a run.
func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle--
	c.free.Broadcast()
}

// pause lets a run that is not urgent stand still while its worker is wanted.
func (c *crew) pause(ctx context.Context, r rank) {
	c.mu.Lock()
	wanted := c.urgent+c.idle > c.workers || c.urgent+c.idle == c.workers && c.before(r)
	c.mu.Unlock()
	if wanted {
		c.leave()
		c.wait(ctx, r)
	}
}
