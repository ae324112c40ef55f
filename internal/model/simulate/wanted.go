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
	// Arrivals is how many operations arrive in the measured time: see [ArrivalsOf].
	Arrivals Arrivals
}

// Arrivals is the number of operations that arrive in the measured time of an open loop.
type Arrivals struct {
	Known         bool // false for a closed loop, whose arrivals depend on the system
	Writes, Reads int64
	scenario      *scenario.Scenario
}

// ArrivalsOf counts the operations that arrive in a scenario's measured time, without running it. In an
// open loop arrivals do not depend on the system, so the count holds for every scenario with this
// workload, seed and length.
func ArrivalsOf(sc *scenario.Scenario) Arrivals {
	load := sc.Workloads()
	if load == nil || load.IsClosed() {
		return Arrivals{}
	}

	a := Arrivals{Known: true, scenario: sc}
	a.each(func(op *workload.Op, measured bool) {
		switch {
		case !measured:
		case op.Kind.Writes():
			a.Writes++
		default:
			a.Reads++
		}
	})

	return a
}

// Each yields the key of every arrival in order, including the warm-up's, and whether it is in the
// measured time. It returns false and yields nothing for a closed loop.
func (a Arrivals) Each(yield func(key uint64, measured bool)) bool {
	if a.Known {
		a.each(func(op *workload.Op, measured bool) { yield(op.Key, measured) })
	}
	return a.Known
}

func (a Arrivals) each(yield func(op *workload.Op, measured bool)) {
	from := vtime.At(a.scenario.Run.Warmup.Std())
	end := from.Add(a.scenario.Run.Duration.Std())
	source, last := a.scenario.Workloads().Open(a.scenario.Seed), vtime.Instant(-1)
	var op workload.Op // declared outside the loop, so that it is allocated once
	for source.Next(&op) {
		if last = max(op.At, last+1); last >= end { // as the driver places them
			return
		}
		yield(&op, last >= from)
	}
}

// A MissedError reports that a run ended early because it could no longer keep a wanted bound.
type MissedError struct {
	Bound scenario.Bound
	After time.Duration // virtual time since the measured time began
	Over  int64         // operations that took longer than the bound; 1 for a checkpoint
	// Allowed is how many may take longer while a percentile still keeps the bound.
	Allowed int64
	// Mattered holds the limits that ever decided when a request passed: see [Result].
	Mattered [][volume.Limits]bool
}

// Error names the bound and the time.
func (e *MissedError) Error() string {
	return fmt.Sprintf("%s over %s: certain after %s", e.Bound.Name, e.Bound.Most,
		units.Seconds(e.After.Seconds()))
}

// quantiles are the objectives on a percentile of writes or reads. 100 is the maximum.
var quantiles = map[string]struct {
	reads   bool
	percent float64
}{
	"write_p50": {false, 50}, "write_p95": {false, 95}, "write_p99": {false, 99}, "write_p999": {false, 99.9},
	"write_max": {false, 100},
	"read_p50":  {true, 50}, "read_p95": {true, 95}, "read_p99": {true, 99}, "read_p999": {true, 99.9},
	"read_max": {true, 100},
}

// A watch counts the operations over each wanted bound.
type watch struct {
	bounds []watched
	cycles []scenario.Bound
	from   vtime.Instant
}

type watched struct {
	scenario.Bound
	reads   bool
	allowed int64 // how many may take longer while the bound still holds
	over    int64
}

// countedNs is the maximum by which a histogram may record a time as too short: it rounds to
// microseconds.
const countedNs = 1000

// newWatch returns a watch, or nil if nothing is wanted.
//
// A percentile p of n operations is over a bound exactly if more than n - rank(p, n) operations
// took longer: those are the places above the rank. n is not known before the end, since some
// operations stay unanswered. But n is at most the number of arrivals, and n - rank(p, n) does not
// fall as n grows. So once more operations than that are over the bound, the miss is certain.
func newWatch(w *Wanted, from vtime.Instant) *watch {
	if w == nil || len(w.Bounds) == 0 {
		return nil
	}

	out := &watch{from: from}
	for _, b := range w.Bounds {
		q, ok := quantiles[b.Name]
		switch n := w.Arrivals.Writes; {
		case b.Name == "checkpoint":
			out.cycles = append(out.cycles, b)
		// Without a known count only a maximum can be decided early: one slower operation is a
		// miss.
		case !ok || !w.Arrivals.Known && q.percent < 100:
		default:
			if q.reads {
				n = w.Arrivals.Reads
			}
			out.bounds = append(out.bounds, watched{Bound: b, reads: q.reads, allowed: above(n, q.percent)})
		}
	}

	return out
}

// kindOf is the index of reads and writes.
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
	for i := range w.bounds {
		if b := &w.bounds[i]; b.reads != write && took > int64(b.Most)+countedNs {
			b.over++
		}
	}
}

// missed returns the bound that can no longer be kept, or nil. It counts operations without an
// answer as soon as they have waited longer than a bound, and likewise a checkpoint that is still
// running.
func (w *watch) missed(s *system, open *unanswered, now, end vtime.Instant) *MissedError {
	for i := range w.bounds {
		b := &w.bounds[i]
		over := b.over
		open.older(now-vtime.Instant(b.Most)-countedNs, func(_ vtime.Instant, write bool) {
			if write != b.reads {
				over++
			}
		})
		if over > b.allowed {
			return &MissedError{Bound: b.Bound, After: time.Duration(now - w.from), Over: over, Allowed: b.allowed,
				Mattered: s.mattered()}
		}
	}

	for _, b := range w.cycles {
		for _, c := range cyclesIn(s.engine.Cycles(), w.from) {
			// A running checkpoint takes at least as long as it has run so far.
			if until := min(c.End, now, end); int64(until-c.Start) > int64(b.Most) {
				return &MissedError{Bound: b, After: time.Duration(now - w.from), Over: 1, Mattered: s.mattered()}
			}
		}
	}

	return nil
}
