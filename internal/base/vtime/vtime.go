// Package vtime is virtual time: a clock that jumps from event to event.
//
// A model never sleeps and never reads the real time: it is given the time. What must happen later
// is an event in one heap, ordered by its instant in whole nanoseconds and, at the same instant, by
// the order of scheduling. So a run is one sequence, the same on every machine, and ten minutes of
// it take as long as its events take to compute.
//
// Events cannot be cancelled. A handler that no longer wants one recognises it by its argument (a
// generation number) and does nothing.
package vtime

import "time"

// An Instant is a point in virtual time: nanoseconds since the run began.
type Instant int64

// Never is later than any event.
const Never Instant = 1<<63 - 1

// Add returns the instant d later; Never stays Never.
func (t Instant) Add(d time.Duration) Instant {
	if s := t + Instant(d); d <= 0 || s > t {
		return s
	}
	return Never
}

// Sub returns the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Seconds returns the instant in seconds, for printing and for series.
func (t Instant) Seconds() float64 { return float64(t) / 1e9 }

// At returns the instant d after the run began.
func At(d time.Duration) Instant { return Instant(d) }

// A Handler is called when its event is due. arg is the value it passed when it scheduled the
// event: it says which of the handler's things this is about. (An interface and a number, instead
// of a closure, so that an event allocates nothing.)
type Handler interface {
	Fire(now Instant, arg uint64)
}

// HandlerFunc adapts a function to a Handler.
type HandlerFunc func(now Instant, arg uint64)

// Fire calls f.
func (f HandlerFunc) Fire(now Instant, arg uint64) { f(now, arg) }

type event struct {
	at      Instant
	seq     uint64
	handler Handler
	arg     uint64
}

func (e *event) before(o *event) bool { return e.at < o.at || (e.at == o.at && e.seq < o.seq) }

// A Clock holds the pending events. The zero Clock is at instant 0 with no events.
type Clock struct {
	now  Instant
	seq  uint64
	heap []event // a heap with four children per node: shallower, and in fewer cache lines
	// hole means that the event at the heap's root is being handled. The first event that it
	// schedules takes its place, which saves the heap one of two passes from top to bottom: most
	// events schedule one.
	hole bool
}

// Now returns the instant of the event being handled.
func (c *Clock) Now() Instant { return c.now }

// Pending returns the number of pending events.
func (c *Clock) Pending() int {
	c.fill()
	return len(c.heap)
}

// At schedules h.Fire(at, arg). An instant in the past means now: after everything already
// scheduled for now.
func (c *Clock) At(at Instant, h Handler, arg uint64) {
	c.seq++
	at = max(at, c.now)
	if c.hole {
		c.hole = false
		c.sink(at, c.seq, h, arg)
		return
	}
	i := len(c.heap)
	if i < cap(c.heap) {
		c.heap = c.heap[:i+1]
	} else {
		c.heap = append(c.heap, event{})
	}
	for i > 0 {
		parent := (i - 1) / 4
		if at >= c.heap[parent].at { // at the same instant, it is the later one
			break
		}
		c.heap[i] = c.heap[parent]
		i = parent
	}
	e := &c.heap[i]
	e.at, e.seq, e.handler, e.arg = at, c.seq, h, arg
}

// After schedules h.Fire(now+d, arg).
func (c *Clock) After(d time.Duration, h Handler, arg uint64) { c.At(c.now.Add(d), h, arg) }

// Next returns the instant of the earliest event, Never if there is none.
func (c *Clock) Next() Instant {
	c.fill()
	if len(c.heap) == 0 {
		return Never
	}
	return c.heap[0].at
}

// Run handles all events up to and including until; then the clock is at until.
func (c *Clock) Run(until Instant) {
	c.fill()
	for len(c.heap) > 0 && c.heap[0].at <= until {
		e := &c.heap[0]
		at, handler, arg := e.at, e.handler, e.arg
		c.now, c.hole = at, true
		handler.Fire(at, arg)
		c.fill()
	}
	c.now = max(c.now, until)
}

// fill ends the handling of an event that left the root vacant: the last event of the heap takes
// its place.
func (c *Clock) fill() {
	if !c.hole {
		return
	}
	c.hole = false
	n := len(c.heap) - 1
	last := &c.heap[n]
	at, seq, handler, arg := last.at, last.seq, last.handler, last.arg
	last.handler = nil // let the garbage collector have it
	if c.heap = c.heap[:n]; n > 0 {
		c.sink(at, seq, handler, arg)
	}
}

// sink puts an event at the root and moves it down to its place. (It takes the event's parts, in
// registers. As a struct, it would be assembled in memory and read back in larger pieces
// immediately, and the processor would wait for that.)
func (c *Clock) sink(at Instant, seq uint64, h Handler, arg uint64) {
	i, n := 0, len(c.heap)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for j := first + 1; j < min(first+4, n); j++ {
			if c.heap[j].before(&c.heap[least]) {
				least = j
			}
		}
		if l := &c.heap[least]; l.at > at || l.at == at && l.seq > seq {
			break
		}
		c.heap[i] = c.heap[least]
		i = least
	}
	e := &c.heap[i]
	e.at, e.seq, e.handler, e.arg = at, seq, h, arg
}
