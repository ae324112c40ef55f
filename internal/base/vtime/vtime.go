// Package vtime provides virtual time: a clock that jumps from event to event.
//
// A model never sleeps and never reads the real time; the clock passes it the time. Everything that
// happens later is an event. Events are ordered by their instants in whole nanoseconds and, at the
// same instant, by the order of scheduling. So a run is one sequence, the same on every machine,
// and ten minutes of it take as long as its events take to compute.
//
// Events cannot be cancelled. A handler recognises an obsolete event by its argument (a generation
// number) and ignores it.
package vtime

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"
)

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

// A Handler is called when its event is due. arg is the value that was passed when the event was
// scheduled; it identifies what the event is about. (An interface and a number, not a closure, so
// that scheduling an event allocates nothing.)
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

// The near future is divided into spans of a power of two nanoseconds, each with a list of its
// events. An event costs the same however many are pending: scheduling appends it to a list, and a
// list is sorted only when its span opens. A heap holds events beyond the last span, and those
// whose span is crowded.
const (
	spanBits = 15 // 33 us
	spans    = 1 << 12
	// sortedMost is the length of the open span's list up to which new events are inserted into it.
	// Beyond that, they go to the heap.
	sortedMost = 64
)

// A Clock holds the pending events. The zero Clock is at instant 0 with no events.
type Clock struct {
	now Instant
	seq uint64

	open   int64   // number of the span whose events are sorted
	sorted []event // events of the open span; those from next on are pending
	next   int

	// The spans after the open one, as a ring: for each, the number in nodes of the event scheduled
	// last, plus one, and a bit that says whether it has any events.
	lists [spans]uint32
	some  [spans / 64]uint64
	any   uint64 // a bit for each nonzero word of some
	nodes []node
	free  uint32 // a vacant node, plus one
	near  int    // events in the lists

	heap []event // with four children per node: shallower, and touching fewer cache lines

	lines []*Line
	line  *Line // the one with the earliest event, nil if no line has any
}

// A node is an event in the list of its span.
type node struct {
	event
	next uint32 // the event scheduled before this one for the same span, plus one; or the next vacant node
}

// Now returns the instant of the event being handled.
func (c *Clock) Now() Instant { return c.now }

// Pending returns the number of pending events.
func (c *Clock) Pending() int {
	n := len(c.sorted) - c.next + c.near + len(c.heap)
	for _, l := range c.lines {
		n += l.n
	}
	return n
}

// At schedules h.Fire(at, arg). An instant in the past means now, after everything already
// scheduled for now.
func (c *Clock) At(at Instant, h Handler, arg uint64) {
	c.seq++
	at = max(at, c.now)
	// An event in a later span is appended to that span's list; one in the open span is inserted in order,
	// unless the span is crowded.
	switch ahead := int64(at>>spanBits) - c.open; {
	case ahead > 0 && ahead < spans:
		c.list(at, h, arg)
	case ahead <= 0 && len(c.sorted)-c.next < sortedMost:
		c.insert(at, h, arg)
	default:
		c.push(at, h, arg)
	}
}

// After schedules h.Fire(now+d, arg).
func (c *Clock) After(d time.Duration, h Handler, arg uint64) { c.At(c.now.Add(d), h, arg) }

// list adds a new event to the list of its span.
func (c *Clock) list(at Instant, h Handler, arg uint64) {
	i := c.free
	if i == 0 {
		c.nodes = append(c.nodes, node{})
		i = uint32(len(c.nodes))
	}

	n := &c.nodes[i-1]
	if c.free != 0 {
		c.free = n.next
	}

	slot := uint64(at>>spanBits) % spans
	n.at, n.seq, n.handler, n.arg, n.next = at, c.seq, h, arg, c.lists[slot]
	c.lists[slot] = i
	c.some[slot/64] |= 1 << (slot % 64)
	c.any |= 1 << (slot / 64)
	c.near++
}

// insert adds a new event to the open span: after all events that are not later.
func (c *Clock) insert(at Instant, h Handler, arg uint64) {
	switch {
	case c.next == len(c.sorted):
		c.sorted, c.next = c.sorted[:0], 0
	case len(c.sorted) == cap(c.sorted) && c.next >= max(len(c.sorted)/2, 2*sortedMost):
		// While the open span is far ahead, the list is never empty here, so the space of events that have
		// fired is reclaimed.
		n := copy(c.sorted, c.sorted[c.next:])
		c.sorted, c.next = c.sorted[:n], 0
	}

	c.sorted = append(c.sorted, event{})
	i := len(c.sorted) - 1
	for i > c.next && c.sorted[i-1].at > at {
		c.sorted[i] = c.sorted[i-1]
		i--
	}

	e := &c.sorted[i]
	e.at, e.seq, e.handler, e.arg = at, c.seq, h, arg
}

// ready opens the next span that has events, if the open one has none left. It reports whether an
// event is pending outside the heap.
func (c *Clock) ready() bool {
	if c.next < len(c.sorted) {
		return true
	}

	span := int64(math.MaxInt64)
	if c.near > 0 {
		span = c.following()
	}

	c.sorted, c.next = c.sorted[:0], 0

	// The heap may hold an event of a span before the first listed one. The open span then moves to
	// it, so that new events near it are inserted and not listed.
	if len(c.heap) > 0 {
		if first := int64(c.heap[0].at >> spanBits); first < span {
			c.open = max(c.open, first)
			return false
		}
	}

	if c.near == 0 {
		return false
	}

	c.open = span
	c.fill()
	return true
}

// fill moves the events of the open span from its list to sorted.
func (c *Clock) fill() {
	slot := uint64(c.open) % spans
	i := c.lists[slot]
	c.lists[slot] = 0

	// The bits let following skip empty spans 64 at a time.
	if c.some[slot/64] &^= 1 << (slot % 64); c.some[slot/64] == 0 {
		c.any &^= 1 << (slot / 64)
	}

	for i != 0 {
		n := &c.nodes[i-1]
		c.sorted = append(c.sorted, n.event)
		n.handler = nil // lets the garbage collector free it
		n.next, c.free, i = c.free, i, n.next
	}

	c.near -= len(c.sorted)

	// The event scheduled last is at the front of the list.
	slices.Reverse(c.sorted)
	if len(c.sorted) > 1 {
		c.sort()
	}
}

// sort sorts the open span's events, which come in the order of scheduling.
func (c *Clock) sort() {
	s := c.sorted
	if len(s) > sortedMost {
		slices.SortFunc(s, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
		})
		return
	}

	// Insertion sort is stable, so events at the same instant keep the order of scheduling.
	for i := 1; i < len(s); i++ {
		if s[i-1].at <= s[i].at {
			continue
		}
		e, k := s[i], i
		for ; k > 0 && s[k-1].at > e.at; k-- {
			s[k] = s[k-1]
		}
		s[k] = e
	}
}

// following returns the number of the first span with events after the open one, which must exist.
func (c *Clock) following() int64 {
	from := uint64(c.open+1) % spans
	word := from / 64
	if left := c.some[word] >> (from % 64); left != 0 {
		return c.open + 1 + int64(bits.TrailingZeros64(left))
	}
	// The search continues with the words after this one and wraps around to its own beginning.
	after := bits.RotateLeft64(c.any, -int(word+1))
	word = (word + 1 + uint64(bits.TrailingZeros64(after))) % 64
	slot := word*64 + uint64(bits.TrailingZeros64(c.some[word]))
	return c.open + 1 + int64((slot-from)%spans)
}

// first returns the earliest event outside the lines, and whether it is in the heap; nil if there
// is none.
func (c *Clock) first() (e *event, heap bool) {
	if c.next < len(c.sorted) && len(c.heap) == 0 { // the usual case
		return &c.sorted[c.next], false
	}
	near := c.ready()
	switch {
	case near && (len(c.heap) == 0 || c.sorted[c.next].before(&c.heap[0])):
		return &c.sorted[c.next], false
	case len(c.heap) > 0:
		return &c.heap[0], true
	}
	return nil, false
}

// Next returns the instant of the earliest event, or Never.
func (c *Clock) Next() Instant {
	next := Never
	if e, _ := c.first(); e != nil {
		next = e.at
	}
	if c.line != nil {
		next = min(next, c.line.at)
	}
	return next
}

// Run handles all events up to and including until, and leaves the clock at until.
func (c *Clock) Run(until Instant) {
	for {
		e, heap := c.first()
		if l := c.line; l != nil && (e == nil || l.before(e.at, e.seq)) {
			if l.at > until {
				break
			}
			c.now = l.at
			l.handler.Fire(c.now, l.pop())
			continue
		}

		if e == nil || e.at > until {
			break
		}

		// The event is removed before its handler runs, because the handler may schedule others.
		at, handler, arg := e.at, e.handler, e.arg
		c.now = at
		if heap {
			c.pop()
		} else {
			c.next++
		}

		handler.Fire(at, arg)
	}
	c.now = max(c.now, until)
}

// push puts a new event in the heap.
func (c *Clock) push(at Instant, h Handler, arg uint64) {
	i := len(c.heap)
	c.heap = append(c.heap, event{})
	for i > 0 {
		parent := (i - 1) / 4
		if at >= c.heap[parent].at { // at the same instant, the new event is the later one
			break
		}
		c.heap[i] = c.heap[parent]
		i = parent
	}
	e := &c.heap[i]
	e.at, e.seq, e.handler, e.arg = at, c.seq, h, arg
}

// pop removes the first event of the heap. The last event takes its place and sifts down.
func (c *Clock) pop() {
	n := len(c.heap) - 1
	last := c.heap[n]
	c.heap[n].handler = nil // lets the garbage collector free it

	if c.heap = c.heap[:n]; n == 0 {
		return
	}

	i := 0
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

		if last.before(&c.heap[least]) {
			break
		}

		c.heap[i] = c.heap[least]
		i = least
	}

	c.heap[i] = last
}
