// Package vtime is virtual time: a clock that jumps from event to event.
//
// A model never sleeps and never asks what time it is outside: it is told. What must happen
// later is an event in one heap, ordered by its instant in whole nanoseconds and, at the same
// instant, by the order in which the events were scheduled. So a run is one sequence, the same
// on every machine, and ten minutes of it take as long as its events take to compute.
//
// There is no way to cancel an event. A handler that no longer wants one recognises it by its
// argument (a generation number) and does nothing.
package vtime

import "time"

// An Instant is a point of virtual time: nanoseconds since the run began.
type Instant int64

// Never is later than any event.
const Never Instant = 1<<63 - 1

// Add is the instant d later; Never stays Never.
func (t Instant) Add(d time.Duration) Instant {
	if s := t + Instant(d); d <= 0 || s > t {
		return s
	}
	return Never
}

// Sub is the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Seconds is the instant in seconds, for printing and for series.
func (t Instant) Seconds() float64 { return float64(t) / 1e9 }

// At is the instant d after the run began.
func At(d time.Duration) Instant { return Instant(d) }

// A Handler is told when its event is due. arg is what it gave when it scheduled it: which of
// its things this is about. (An interface and a number, rather than a closure: nothing is
// allocated for an event.)
type Handler interface {
	Fire(now Instant, arg uint64)
}

// HandlerFunc makes a function a Handler.
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

// A Clock holds the events to come. The zero Clock stands at instant 0 with none.
type Clock struct {
	now  Instant
	seq  uint64
	heap []event // a heap of four children a node: shallower, and in fewer cache lines
	// hole says that the event at the heap's root is being handled. The first that it schedules takes its place, which
	// saves the heap one of two ways from top to bottom: most events schedule one.
	hole bool
}

// Now is the instant of the event being handled.
func (c *Clock) Now() Instant { return c.now }

// Pending counts the events to come.
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
		if at >= c.heap[parent].at { // at the same instant it is the later one
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

// Next is the instant of the earliest event, Never if there is none.
func (c *Clock) Next() Instant {
	c.fill()
	if len(c.heap) == 0 {
		return Never
	}
	return c.heap[0].at
}

// Run handles events up to and including those at until, then stands at until.
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

// fill ends the handling of an event that left the root vacant: the last of the heap takes its place.
func (c *Clock) fill() {
	if !c.hole {
		return
	}
	c.hole = false
	n := len(c.heap) - 1
	last := &c.heap[n]
	at, seq, handler, arg := last.at, last.seq, last.handler, last.arg
	last.handler = nil // let go of it
	if c.heap = c.heap[:n]; n > 0 {
		c.sink(at, seq, handler, arg)
	}
}

// sink puts an event at the root's place and lets it down to its own. (It takes the event's parts, in registers: as a whole it would
// be put together in memory and read back in larger pieces at once, for which a processor waits.)
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
