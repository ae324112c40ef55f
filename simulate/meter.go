package simulate

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plimsoll/engine"
	"plimsoll/vtime"
	"plimsoll/workload"
)

// A latency histogram counts in microseconds, to a day, with two significant digits.
const (
	hdrUnit   = 1000 // nanoseconds
	hdrMost   = 86_400_000_000
	hdrDigits = 2
)

// A distribution is a histogram with what it rounds away: sum and maximum.
type distribution struct {
	hdr  *hdrhistogram.Histogram
	n    int64
	sum  int64 // ns
	most int64 // ns
}

func (d *distribution) add(ns int64) {
	if d.hdr == nil {
		d.hdr = hdrhistogram.New(1, hdrMost, hdrDigits)
	}
	// In range by min: no error is possible.
	_ = d.hdr.RecordValue(min((ns+hdrUnit/2)/hdrUnit, hdrMost))
	d.n++
	d.sum += ns
	d.most = max(d.most, ns)
}

func (d *distribution) merge(o *distribution) {
	if o.n == 0 {
		return
	}
	if d.hdr == nil {
		d.hdr = hdrhistogram.New(1, hdrMost, hdrDigits)
	}
	d.hdr.Merge(o.hdr)
	d.n += o.n
	d.sum += o.sum
	d.most = max(d.most, o.most)
}

// Coarse classes of latency, 32 an octave: 3 % wide.
const (
	classUnit    = 10 // 2^10 ns
	classOctave  = 5  // 2^5 an octave
	classes      = 32 * 34
	phases       = 100 + 4*90 + 1 // the last is whatever is longer
	phaseEdgeNs  = 10_000_000     // of the finest
	phaseDecades = 5
)

// class is the class of a latency.
func class(ns int64) int {
	v := uint64(max(ns, 0)) >> classUnit
	if v < 1<<classOctave {
		return int(v)
	}
	shift := bits.Len64(v) - classOctave - 1
	return min((shift+1)<<classOctave+int(v>>shift)-1<<classOctave, classes-1)
}

// classTop is the longest latency of a class, in ns.
func classTop(c int) int64 {
	if c < 1<<classOctave {
		return int64(c+1)<<classUnit - 1
	}
	shift := c>>classOctave - 1
	return (int64(c&(1<<classOctave-1)+1<<classOctave)+1)<<(shift+classUnit) - 1
}

// phaseOf is the part of a cycle an instant so long after its start falls into: 10 ms wide in the first
// second, then 100 ms to ten, 1 s to a hundred, and so on. Tenths of the cycle are made of
// them at the end, when its length is known.
func phaseOf(ns int64) int {
	width, from, first := int64(phaseEdgeNs), int64(0), 0
	for range phaseDecades {
		if ns < 100*width {
			return first + int((ns-from)/width)
		}
		first += int((100*width - from) / width)
		from = 100 * width
		width *= 10
	}
	return phases - 1
}

// phaseMiddle is the middle of a part, in ns.
func phaseMiddle(p int) int64 {
	width, from, first := int64(phaseEdgeNs), int64(0), 0
	for {
		n := int((100*width - from) / width)
		if p < first+n {
			return from + int64(p-first)*width + width/2
		}
		first += n
		from = 100 * width
		width *= 10
	}
}

// kindOf operations, as results tell them apart.
const (
	reads  = 0
	writes = 1
)

// An acknowledged operation, until it is known which cycle it fell into.
type acknowledged struct {
	at      vtime.Instant
	latency int64
	write   bool
}

// A meter measures what clients feel. Only operations that begin at from or later count.
type meter struct {
	from    vtime.Instant
	end     vtime.Instant
	pending []acknowledged
	cycles  func() []engine.Cycle

	arrivals, unanswered, refused int64
	doneInside                    int64 // acknowledged in the measured time, whenever begun
	during, outside               [2]distribution
	phase                         [2][phases]distribution
	waits                         [classes]waitSum
	causes                        engine.Waits // of the operation acknowledged last
	sync, syncBefore              engine.Waits // what the syncs done last and before it waited for
	syncAt                        vtime.Instant
	seconds                       []cell
	step                          vtime.Instant
}

// waitSum is the waiting of the writes of one class of latency.
type waitSum struct {
	n       int64
	latency int64
	waits   engine.Waits
	causes  engine.Waits // the same, handed on
}

// A cell is a step of a series: writes that were to begin in it.
type cell struct {
	n       int64
	most    int64
	classes []uint32
}

func newMeter(from, end vtime.Instant) *meter {
	seconds := int64(end-from+vtime.Instant(1e9)-1) / 1e9
	step := max((seconds+cellsMax-1)/cellsMax, 1)
	return &meter{
		from: from, end: end, step: vtime.Instant(step * 1e9),
		pending: make([]acknowledged, 0, pendingMax),
		seconds: make([]cell, (seconds+step-1)/step),
	}
}

func (m *meter) arrived(op *workload.Op) {
	if op.At >= m.from {
		m.arrivals++
		m.unanswered++
	}
}

func (m *meter) refuse(op *workload.Op) {
	if op.At >= m.from {
		m.refused++
	}
}

// done counts an acknowledged operation; q is not nil if it waited for a connection.
func (m *meter) done(now vtime.Instant, op *workload.Op, w *engine.Waits, q *queued) {
	if now >= m.from {
		m.doneInside++
	}
	m.hand(now, op, w, q)
	if op.At < m.from {
		return
	}
	m.unanswered--
	latency := int64(now - op.At)
	write := op.Kind.Writes()
	m.pending = append(m.pending, acknowledged{op.At, latency, write})
	if len(m.pending) == pendingMax {
		m.classify()
	}
	if !write {
		return
	}
	s := &m.waits[class(latency)]
	s.n++
	s.latency += latency
	for i, x := range w {
		s.waits[i] += x
		s.causes[i] += m.causes[i]
	}
	if q != nil {
		s.waits[engine.WaitConnection] += int64(q.at - op.At)
	}
}

// hand finds what an operation waited for in the end. To wait for a sync that is under way is to wait
// for what that sync waits for; to wait for a connection, for what the operation that had it waited for.
// So both are handed on, in the proportions of the other's waits: those of the sync that was
// done last before this one, and those of the operation that made the connection free.
func (m *meter) hand(now vtime.Instant, op *workload.Op, w *engine.Waits, q *queued) {
	m.causes = *w
	log := engine.Waits{
		engine.WaitLogQueue: w[engine.WaitLogQueue], engine.WaitLogLimit: w[engine.WaitLogLimit], engine.WaitLogDevice: w[engine.WaitLogDevice],
	}
	if log != (engine.Waits{}) && now != m.syncAt {
		m.syncBefore, m.sync, m.syncAt = m.sync, log, now
	}
	turn := w[engine.WaitLogTurn]
	m.causes[engine.WaitLogTurn] = 0
	spread(&m.causes, turn, &m.syncBefore, engine.WaitLogTurn)
	if q != nil {
		spread(&m.causes, int64(q.at-op.At), &q.behind, engine.WaitConnection)
	}
}

// spread adds time to waits in the proportions of others; what no proportion says is the kind's own.
func spread(to *engine.Waits, time int64, as *engine.Waits, own engine.Wait) {
	sum := int64(0)
	for _, x := range as {
		sum += x
	}
	rest := time
	if sum > 0 && time > 0 {
		for i, x := range as {
			part := int64(float64(time) * (float64(x) / float64(sum)))
			to[i] += part
			rest -= part
		}
	}
	to[own] += rest
}

// classify puts what was acknowledged under the cycle in which it was to begin.
func (m *meter) classify() {
	cycles := m.cycles()
	at := len(cycles) - 1
	for i := range m.pending {
		p := &m.pending[i]
		for at+1 < len(cycles) && cycles[at+1].Start <= p.at {
			at++
		}
		for at >= 0 && cycles[at].Start > p.at {
			at--
		}
		k := reads
		if p.write {
			k = writes
			m.plot(p)
		}
		if at < 0 {
			m.outside[k].add(p.latency)
			continue
		}
		if p.at < cycles[at].End {
			m.during[k].add(p.latency)
		} else {
			m.outside[k].add(p.latency)
		}
		m.phase[k][phaseOf(int64(p.at-cycles[at].Start))].add(p.latency)
	}
	m.pending = m.pending[:0]
}

func (m *meter) plot(p *acknowledged) {
	c := &m.seconds[min(int((p.at-m.from)/m.step), len(m.seconds)-1)]
	if c.classes == nil {
		c.classes = make([]uint32, 0, 512)
	}
	k := class(p.latency)
	for len(c.classes) <= k {
		c.classes = append(c.classes, 0)
	}
	c.classes[k]++
	c.n++
	c.most = max(c.most, p.latency)
}

// quantile is the latency in ns that a share, in thousandths, of a cell's writes keep.
func (c *cell) quantile(thousandths int64) int64 {
	rank := (c.n*thousandths + 999) / 1000
	for k, n := range c.classes {
		if rank -= int64(n); rank <= 0 {
			return min(classTop(k), c.most)
		}
	}
	return c.most
}
