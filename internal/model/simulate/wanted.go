package simulate

import (
	"fmt"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// Wanted holds bounds that a run must keep to be of interest. A search among many scenarios rejects
// most of them, and a stall shows long before a run is over.
type Wanted struct {
	Bounds []scenario.Bound
	// Come is how many operations arrive in the measured time: see [Come].
	Come Arrivals
	// Later, if not nil, is asked after each second for bounds beside these; nil: they are not known
	// yet. They count from the beginning.
	Later func() []scenario.Bound
	// Hopeful, if not nil, is called in the warm-up if no more operations than a bound allows took
	// longer so far. It proves nothing; a search may begin what it needs if this run keeps its bounds.
	Hopeful func()
	// Missed, if not nil, is called once a bound is certain to be missed, and before that if it is
	// foreseen. It returns whether the run continues to its end.
	Missed func(*MissedError) (goesOn bool)
	// Foresee lets a bound also be missed in the warm-up, before that is certain: once so many
	// operations of its second half exceeded it that the measured time would have to be quite
	// another ([MissedError].Foreseen).
	Foresee bool
}

// What the second half of a warm-up must have shown for a miss to be foreseen: so many times what the
// bound allows of its operations, and this share of what it allows of all in the measured time. The
// first half is left out: it is what warm-ups are for.
const (
	foreseenTimes = 3
	foreseenShare = 0.5
)

// Arrivals is the number of operations that arrive in the measured time of an open loop.
type Arrivals struct {
	Known         bool // false for a closed loop, whose arrivals depend on the system
	Writes, Reads int64
	warm          [2]int64 // in the second half of the warm-up, reads and writes
	tape          *tape    // nil: none was made
}

// Come counts the operations that arrive in a scenario's measured time, without running it. In an
// open loop arrivals do not depend on the system, so the count holds for every scenario with this
// workload, seed and length. It also keeps the operations, for runs that receive the count in
// [Wanted].
func Come(sc *scenario.Scenario) Arrivals {
	load := sc.Workloads()
	if load == nil || load.IsClosed() {
		return Arrivals{}
	}
	from := vtime.At(sc.Run.Warmup.Std())
	end := from.Add(sc.Run.Duration.Std())
	source, last := load.Open(sc.Seed), vtime.Instant(-1)
	a := Arrivals{Known: true, tape: &tape{spec: load.Spec(), seed: sc.Seed, from: from, end: end}}
	var op workload.Op // not the loop's own, which would be allocated anew for each operation
	for source.Next(&op) {
		if last = max(op.At, last+1); last >= end { // as the driver has it
			break
		}
		a.tape.add(&op)
		switch {
		case last < from/2:
		case last < from:
			a.warm[kindOf(op.Kind.Writes())]++
		case op.Kind.Writes():
			a.Writes++
		default:
			a.Reads++
		}
	}
	return a
}

// A MissedError says that a run ended early because it could no longer keep a wanted bound.
type MissedError struct {
	Bound scenario.Bound
	After time.Duration // virtual time since the measured time began, negative in the warm-up
	// Foreseen: it was not certain, but see [Wanted].Foresee.
	Foreseen bool
	// Over is how many operations had taken longer than the bound; it exceeds Allowed. For a
	// checkpoint they are 1 and 0. Of one that was foreseen, both are of the second half of the warm-up.
	Over, Allowed int64
	// Mattered holds the limits that ever decided when a request passed: see [Result].
	Mattered [][volume.Limits]bool
}

// Error is which bound and when.
func (e *MissedError) Error() string {
	if e.Foreseen {
		return fmt.Sprintf("%s over %s: foreseen %s before the measured time", e.Bound.Name, e.Bound.Most, units.Seconds(-e.After.Seconds()))
	}
	return fmt.Sprintf("%s over %s: certain after %s", e.Bound.Name, e.Bound.Most, units.Seconds(e.After.Seconds()))
}

// quantiles are the objectives on a percentile of writes or reads. 100 is the maximum.
var quantiles = map[string]struct {
	reads   bool
	percent float64
}{
	"write_p50": {false, 50}, "write_p95": {false, 95}, "write_p99": {false, 99}, "write_p999": {false, 99.9}, "write_max": {false, 100},
	"read_p50": {true, 50}, "read_p95": {true, 95}, "read_p99": {true, 99}, "read_p999": {true, 99.9}, "read_max": {true, 100},
}

// A watch counts the operations over each wanted bound.
type watch struct {
	bounds []watched
	cycles []scenario.Bound
	from   vtime.Instant
	told   func(*MissedError) bool

	hopeful func()   // nil: nobody asks, or it was told
	early   [2]int64 // operations of the warm-up, reads and writes
	foresee bool

	come  Arrivals
	later func() []scenario.Bound // nil: no bounds are to come
	took  [2][]int64              // until they do: of the measured time's operations, reads and writes
}

type watched struct {
	scenario.Bound
	reads   bool
	percent float64
	allowed int64 // how many may take longer while the bound still holds
	over    int64
	early   int64 // in the warm-up
	late    int64 // those of its second half
	bodes   int64 // so many of these foretell that the bound is missed
}

// countedNs is the most by which a histogram may record a time as shorter than it was: it rounds to
// microseconds.
const countedNs = 1000

// newWatch returns a watch, or nil if nothing is wanted.
//
// A percentile p of n operations is over a bound exactly if more than n - rank(p, n) operations
// took longer: those are the places above the rank. n is not known before the end, since some
// operations stay unanswered. But n is at most the number of arrivals, and n - rank(p, n) does not
// fall as n grows. So once more operations than that are over the bound, the miss is certain.
func newWatch(w *Wanted, from vtime.Instant) *watch {
	if w == nil || len(w.Bounds) == 0 && w.Later == nil {
		return nil
	}
	out := &watch{from: from, told: w.Missed, hopeful: w.Hopeful, foresee: w.Foresee, come: w.Come, later: w.Later}
	out.add(w.Bounds)
	return out
}

// add adds bounds.
func (w *watch) add(bounds []scenario.Bound) {
	for _, b := range bounds {
		q, ok := quantiles[b.Name]
		switch n := w.come.Writes; {
		case b.Name == "checkpoint":
			w.cycles = append(w.cycles, b)
		case !ok || !w.come.Known && q.percent < 100:
		default:
			if q.reads {
				n = w.come.Reads
			}
			x := watched{Bound: b, reads: q.reads, percent: q.percent, allowed: above(n, q.percent)}
			x.bodes = foreseenTimes * above(w.come.warm[kindOf(!q.reads)], q.percent)
			x.bodes = max(x.bodes, int64(foreseenShare*float64(x.allowed)))
			w.bounds = append(w.bounds, x)
		}
	}
}

// ask adds the bounds that were to come, if they are known now.
func (w *watch) ask() {
	if w.later == nil {
		return
	}
	bounds := w.later()
	if bounds == nil {
		return
	}
	had := len(w.bounds)
	w.add(bounds)
	for i := had; i < len(w.bounds); i++ {
		b := &w.bounds[i]
		for _, took := range w.took[kindOf(!b.reads)] {
			if took > int64(b.Most)+countedNs {
				b.over++
			}
		}
	}
	w.later, w.took = nil, [2][]int64{}
}

// kindOf is the index of reads and writes in a watch.
func kindOf(write bool) int {
	if write {
		return 1
	}
	return 0
}

// above returns how many of n places are above the rank of a percentile. The histogram rounds the
// rank to the nearest, which is this one or the next, so above allows at least as many as the
// histogram does. One more allows for the rounding of the product. For a maximum it is 0.
func above(n int64, percent float64) int64 {
	if percent >= 100 {
		return 0
	}
	return n - int64(float64(percent/100*float64(n))) + 1
}

// done counts an operation of the measured time.
func (w *watch) done(write bool, took int64) {
	if w.later != nil {
		k := kindOf(write)
		w.took[k] = append(w.took[k], took)
	}
	for i := range w.bounds {
		if b := &w.bounds[i]; b.reads != write && took > int64(b.Most)+countedNs {
			b.over++
		}
	}
}

// warmed counts an operation of the warm-up.
func (w *watch) warmed(at vtime.Instant, write bool, took int64) {
	if w.hopeful == nil && !w.foresee {
		return
	}
	w.early[kindOf(write)]++
	for i := range w.bounds {
		if b := &w.bounds[i]; b.reads != write && took > int64(b.Most)+countedNs {
			b.early++
			if at >= w.from/2 {
				b.late++
			}
		}
	}
}

// foreseen returns the bound that the warm-up says will be missed, or nil. A maximum is not foreseen:
// one slow operation says little of others.
func (w *watch) foreseen(s *system, now vtime.Instant) *MissedError {
	if w == nil || !w.foresee || !w.come.Known {
		return nil
	}
	for i := range w.bounds {
		if b := &w.bounds[i]; b.percent < 100 && b.late > b.bodes {
			return &MissedError{Bound: b.Bound, After: time.Duration(now - w.from), Foreseen: true, Over: b.late, Allowed: b.bodes, Mattered: s.mattered()}
		}
	}
	return nil
}

// hopefulAfter is the part of the warm-up after which it is said how a run looks.
const hopefulAfter = 0.75

// hope says if a run looks as if it kept its bounds.
func (w *watch) hope(now vtime.Instant) {
	if w == nil || w.hopeful == nil || float64(now) < hopefulAfter*float64(w.from) {
		return
	}
	say := w.hopeful
	w.hopeful = nil
	for i := range w.bounds {
		b := &w.bounds[i]
		if n := w.early[kindOf(!b.reads)]; n == 0 || b.early > above(n, b.percent) {
			return
		}
	}
	if len(w.bounds) > 0 {
		say()
	}
}

// missed returns the bound that can no longer be kept, or nil.
func (w *watch) missed(s *system, open *unanswered, now, end vtime.Instant) *MissedError {
	w.ask()
	m := w.over(s, open, now, end)
	if m != nil {
		m.Mattered = s.mattered()
	}
	return m
}

// over counts operations without an answer as soon as they have waited longer than a bound, and
// likewise a checkpoint that is still running.
func (w *watch) over(s *system, open *unanswered, now, end vtime.Instant) *MissedError {
	for i := range w.bounds {
		b := &w.bounds[i]
		over := b.over
		open.older(now-vtime.Instant(b.Most)-countedNs, func(_ vtime.Instant, write bool) {
			if write != b.reads {
				over++
			}
		})
		if over > b.allowed {
			return &MissedError{Bound: b.Bound, After: time.Duration(now - w.from), Over: over, Allowed: b.allowed}
		}
	}
	for _, b := range w.cycles {
		for _, c := range cyclesIn(s.engine.Cycles(), w.from) {
			if until := min(c.End, now, end); int64(until-c.Start) > int64(b.Most) {
				return &MissedError{Bound: b, After: time.Duration(now - w.from), Over: 1}
			}
		}
	}
	return nil
}
