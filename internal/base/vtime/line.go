package vtime

// A Line holds events for one handler that are nearly always scheduled in the order of their
// instants: the arrivals of a workload, the ends of equal pieces of work on one machine. They are
// cheaper than other events, because they wait in a queue instead of being sorted. They fire at the same
// instants and in the same order as events of [Clock.At]; an event that is out of order is passed on to
// Clock.At.
type Line struct {
	clock   *Clock
	handler Handler
	at      Instant // of its first event, Never if there is none
	seq     uint64
	last    Instant // of its last event
	ring    []turn  // its length is a power of two
	first   int
	n       int
}

type turn struct {
	at  Instant
	seq uint64
	arg uint64
}

// Line returns a new line of events for a handler. A clock should have only a few, because each pop
// compares them all.
func (c *Clock) Line(h Handler) *Line {
	l := &Line{clock: c, handler: h, at: Never, ring: make([]turn, 16)}
	c.lines = append(c.lines, l)
	return l
}

// At schedules the handler's Fire(at, arg), like [Clock.At].
func (l *Line) At(at Instant, arg uint64) {
	c := l.clock

	// Out of order for this line: the clock sorts it.
	if at = max(at, c.now); at == Never || l.n > 0 && at < l.last {
		c.At(at, l.handler, arg)
		return
	}

	c.seq++
	if l.n == len(l.ring) {
		ring := make([]turn, 2*l.n)
		for i := range l.n {
			ring[i] = l.ring[(l.first+i)&(l.n-1)]
		}
		l.ring, l.first = ring, 0
	}

	l.ring[(l.first+l.n)&(len(l.ring)-1)] = turn{at, c.seq, arg}
	l.last = at
	if l.n++; l.n == 1 {
		l.at, l.seq = at, c.seq
		if c.line == nil || l.before(c.line.at, c.line.seq) {
			c.line = l
		}
	}
}

// before reports whether the line's first event comes before another event.
func (l *Line) before(at Instant, seq uint64) bool { return l.at < at || l.at == at && l.seq < seq }

// pop removes the line's first event, which must be the first of all lines.
func (l *Line) pop() (arg uint64) {
	arg = l.ring[l.first].arg
	l.first = (l.first + 1) & (len(l.ring) - 1)
	l.at, l.seq = Never, 0

	if l.n--; l.n > 0 {
		l.at, l.seq = l.ring[l.first].at, l.ring[l.first].seq
	}

	c := l.clock
	c.line = nil

	// A clock has only a few lines, so a scan is cheaper than a heap of lines.
	for _, o := range c.lines {
		if o.n > 0 && (c.line == nil || o.before(c.line.at, c.line.seq)) {
			c.line = o
		}
	}

	return arg
}
