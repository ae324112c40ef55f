package kernel

import "plimsoll/internal/base/vtime"

// A pressure measures how long at least one task waited for I/O: for a sync, because too many pages
// were dirty, or for its own request. This is "some" of the kernel's PSI; "full", when no task could
// run, is not modelled. Waits that end with an event are counted; for the others the end is known
// when they begin.
type pressure struct {
	n     int           // waits in progress that end with an event
	until vtime.Instant // the others are over by then
	mark  vtime.Instant // sum is as of this instant
	sum   vtime.Instant
}

func (p *pressure) advance(now vtime.Instant) {
	switch {
	case p.n > 0:
		p.sum += now - p.mark
	case p.until > p.mark:
		p.sum += min(now, p.until) - p.mark
	}
	p.mark = now
}

func (p *pressure) begin(now vtime.Instant) {
	p.advance(now)
	p.n++
}

func (p *pressure) end(now vtime.Instant) {
	p.advance(now)
	p.n--
}

// hold records a wait that starts now and has a known end.
func (p *pressure) hold(now, until vtime.Instant) {
	p.advance(now)
	p.until = max(p.until, until)
}

func (p *pressure) total(now vtime.Instant) vtime.Instant {
	p.advance(now)
	return p.sum
}
