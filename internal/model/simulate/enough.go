package simulate

import (
	"math"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// Enough ends a run before its end once more of it would not change what it says: the percentiles
// of its bounds are known within [EnoughWithin], and each is below its bound by more than that, or it
// is certain that one cannot be kept ([Wanted]). So a run for which only its intervals say that it
// misses goes on.
//
// The run is cut into equal parts of whole cycles of the engine, each beginning where in the cycle
// the measured time began. They are the batches of the method of batch means (A. M. Law, Simulation
// Modeling and Analysis, 5th ed. 2015, 9.5.3): the share of operations over a time is a figure of
// each, and Student's t gives the interval of their mean. So a run whose cycles differ from each other
// goes on.
//
// It also goes on if something grows that may change how it goes before the full time is over: what
// the engine calls its debts ([engine.Indebted]), dirty bytes in the page cache, credits used,
// operations without an answer, the share of time in which a volume is busy. An engine that does not know its debts is run to the end, and so
// is a run for a bound that no interval can decide: on a maximum, a p999 or a checkpoint.
type Enough struct {
	Bounds []scenario.Bound
}

// What a run must have to end early.
const (
	// partsLeast is how many parts it has at least.
	partsLeast = 4
	// partShare is the share of the measured time that a part has at least.
	partShare = 0.05
	// classesOff is by how many latency classes, of 3 % each, a percentile may be off: 6 % with the
	// width of its own.
	classesOff = 1
	// percentMost is the highest percentile that an interval is made for.
	percentMost = 99
	// debtRise is by how much a debt may rise over the parts, as a share of the bound at which it
	// matters; debtMost is where it may be at the full time's end if it rises on like that.
	debtRise, debtMost = 0.02, 0.5
)

// EnoughWithin is by how much of itself a percentile may be off where [Enough] ended the run.
const EnoughWithin = 0.0625

// student holds the 97.5 % quantiles of Student's t for one degree of freedom and more.
var student = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}

// studentOf returns the quantile, of the most degrees in the table for more.
func studentOf(degrees int) float64 { return student[min(degrees, len(student))-1] }

// A settling decides when a run has shown enough.
type settling struct {
	system    *system
	debtor    engine.Indebted
	bounds    []watched
	from, end vtime.Instant
	least     vtime.Instant // length of a part

	begun vtime.Instant // start of the cycle that was under way when the measured time began
	seen  int           // cycles whose starts are known
	until vtime.Instant // end of the part under way; Never: not known yet
	last  vtime.Instant // where it began

	missed bool           // a bound, for certain
	counts [2]classCounts // of reads and writes since the measured time began
	parts  [2][]classCounts
	debts  [][]float64 // at the beginning and after each part
	busy   [][]float64 // in each part, of each volume
	was    []float64   // seconds that each was busy by the end of the last part
}

type classCounts [latency.Classes]int64

// newSettling returns nil if the run has to go to its end.
func newSettling(e *Enough, s *system, m *meter) *settling {
	if e == nil || len(e.Bounds) == 0 {
		return nil
	}
	out := &settling{system: s, from: m.from, end: m.end, until: vtime.Never, last: m.from}
	out.least = vtime.Instant(partShare * float64(m.end-m.from))
	debtor, ok := s.engine.(engine.Indebted)
	if !ok {
		return nil
	}
	out.debtor = debtor
	for _, b := range e.Bounds {
		q, ok := quantiles[b.Name]
		if !ok || q.percent > percentMost {
			return nil
		}
		out.bounds = append(out.bounds, watched{Bound: b, reads: q.reads, percent: q.percent})
	}
	return out
}

// done counts an operation of the measured time.
func (x *settling) done(write bool, took int64) { x.counts[kindOf(write)][latency.ClassOf(took)]++ }

// miss notes that a bound is certain to be missed.
func (x *settling) miss() {
	if x != nil {
		x.missed = true
	}
}

// begin takes in the system as the measured time begins. It reports whether a cycle was under way,
// without which no part can be made.
func (x *settling) begin(p *sampler, unanswered int64) bool {
	cycles := x.system.engine.Cycles()
	for x.seen < len(cycles) && cycles[x.seen].Start <= x.from {
		x.begun = cycles[x.seen].Start
		x.seen++
	}
	x.debts, x.was = append(x.debts, x.owed(unanswered)), p.busySeconds()
	return x.seen > 0
}

// enough reports whether the run may end now.
func (x *settling) enough(now vtime.Instant, p *sampler, unanswered int64) bool {
	cycles := x.system.engine.Cycles()
	for x.until == vtime.Never && x.seen < len(cycles) {
		if at := x.from + cycles[x.seen].Start - x.begun; at-x.last >= x.least {
			x.until = at
		}
		x.seen++
	}
	if now < x.until {
		return false
	}
	busy, is := make([]float64, len(x.was)), p.busySeconds()
	for i := range busy {
		busy[i] = (is[i] - x.was[i]) / (x.until - x.last).Seconds()
	}
	x.busy, x.was = append(x.busy, busy), is
	x.last, x.until = x.until, vtime.Never
	for k := range x.counts {
		x.parts[k] = append(x.parts[k], x.counts[k])
	}
	x.debts = append(x.debts, x.owed(unanswered))
	return len(x.debts) > partsLeast && x.steady(now) && x.known()
}

// owed returns what may grow, as shares of the bounds at which it matters.
func (x *settling) owed(unanswered int64) []float64 {
	now := x.system.clock.Now()
	out := x.debtor.Debts()
	for _, h := range x.system.hosts {
		out = append(out, float64(h.DirtyBytes())/float64(h.BackgroundLimit()))
	}
	for _, d := range x.system.devices {
		if s := d.Volume().State(now); s.HasCredits {
			out = append(out, 1-float64(s.Credits))
		}
		if v, ok := d.Volume().(interface{ Instance() *volume.Instance }); ok && v.Instance() != nil {
			s := v.Instance().State(now)
			out = append(out, 1-float64(s.IOPSCredits), 1-float64(s.ThroughputCredits)) // constant if there are none
		}
	}
	return append(out, float64(unanswered)/queueMatters)
}

// queueMatters is how many operations without an answer count as a queue.
const queueMatters = 1000

// steady reports whether nothing grows that may matter before the full time is over.
func (x *settling) steady(now vtime.Instant) bool {
	left := float64(x.end-now) / float64(now-x.from)
	for _, of := range [][][]float64{x.debts, x.busy} {
		first, last := of[0], of[len(of)-1]
		for i := range last {
			rise := last[i] - first[i]
			if rise > debtRise && last[i]+float64(rise*left) > debtMost {
				return false
			}
		}
	}
	return true
}

// known reports whether each percentile is known well enough.
func (x *settling) known() bool {
	for i := range x.bounds {
		b := &x.bounds[i]
		parts := x.parts[kindOf(!b.reads)]
		all := &parts[len(parts)-1]
		c := all.percentile(b.percent)
		low, high, bound := c-classesOff, c+classesOff, latency.ClassOf(int64(b.Most))
		if bound <= high && !x.missed {
			return false
		}
		allowed := 1 - b.percent/100
		if side(parts, low, allowed) <= 0 || side(parts, high+1, allowed) >= 0 {
			return false
		}
	}
	return true
}

// percentile returns the class that a percentile is in.
func (c *classCounts) percentile(percent float64) int {
	n := int64(0)
	for _, x := range c {
		n += x
	}
	over := n - int64(math.Round(percent/100*float64(n)))
	class := len(c) - 1
	for at := int64(0); class > 0; class-- {
		if at += c[class]; at > over {
			break
		}
	}
	return class
}

// side says on which side of a share is that of the operations that are in a class or above: 1 if it
// is certainly more, -1 if certainly less, else 0.
func side(parts []classCounts, class int, share float64) int {
	off := make([]float64, len(parts)) // operations in the class or above, less those that the share allows
	mean, before := 0.0, classCounts{}
	for i := range parts {
		for c := range parts[i] {
			n := float64(parts[i][c] - before[c])
			if c >= class {
				off[i] += n
			}
			off[i] -= float64(share * n)
		}
		before = parts[i]
		mean += off[i] / float64(len(parts))
	}
	squares := 0.0
	for _, d := range off {
		squares += float64((d - mean) * (d - mean))
	}
	n := float64(len(parts))
	width := studentOf(len(parts)-1) * math.Sqrt(squares/(n-1)/n)
	switch {
	case mean > width:
		return 1
	case mean < -width:
		return -1
	}
	return 0
}
