package judge

import (
	"math"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// longS, in seconds, is the transaction age above which a session counts as a report, a dump or a
// batch rather than a waiting commit. A session that waits for a lock, the WAL or a standby never
// counts as one.
const longS = 60

// While transactions complete at the usual rate, sessions of longWhileUsualS count as long, too: a dump of a
// quarter of a minute next to a few quick commits is not a queue of commits. A real queue is not hidden: if
// transactions took that long at the usual rate, as many younger ones would be executing.
//
// keptUp is the share of the usual completions that counts as the usual rate, minus the random variation of a
// count of that size: twice its square root. Clients that wait send fewer.
const (
	longWhileUsualS = 5
	keptUp          = 0.8
)

// clientSessions are the sessions that can be part of a stall.
type clientSessions struct {
	// executing counts executing sessions, without the observer's own and long ones; nil if not
	// measured.
	executing []float64
	// oldest is the age of their oldest transaction: NaN if only long sessions have one, nil if not
	// measured.
	oldest []float64
	// long marks the cells in which long sessions were left out.
	long timeline.Mask
}

func findClients(sig *rules.Signals) clientSessions {
	active := sig.One(Active)
	who := clientSessions{long: make(timeline.Mask, sig.Grid.N)}
	left, unknown := leftOut(sig, who.long)
	counted(sig, left, unknown, who.long)
	who.oldest = oldestOf(sig, unknown)
	if active == nil {
		return who
	}

	observer := observers(sig, active)
	who.executing = make([]float64, len(active))
	for k, x := range active {
		who.executing[k] = max(0, x-observer-left[k]) // NaN stays: max(0, NaN) is NaN
	}
	return who
}

// observers returns how many of the active sessions belong to the program that counts them: one,
// unless the exporter leaves its own out. An observer that counts itself never reports zero.
func observers(sig *rules.Signals, active []float64) float64 {
	if timeline.Max(sig.One(ObserverLeftOut)) > 0 {
		return 0
	}
	for _, x := range active {
		if x == 0 {
			return 0
		}
	}
	return 1
}

// leftOut returns how many long sessions execute in each cell, and marks these cells in long.
// unknown marks cells in which other sessions of the same application execute: the long one hides
// their age.
//
// An exporter reports the number of sessions and the age of the oldest transaction; recent versions
// do so by application. Sessions older than a minute were executing all that time. Their number is
// therefore at most the lowest count since the oldest began, minus those that execute anyway (the
// count just before). It is at least one: the oldest session itself.
func leftOut(sig *rules.Signals, long timeline.Mask) (out []float64, unknown timeline.Mask) {
	out, unknown = make([]float64, sig.Grid.N), make(timeline.Mask, sig.Grid.N)
	counts := sig.Signal(Applications)

	step := sig.Grid.StepSeconds()
	asUsual := completedAsUsual(sig)
	for _, age := range sig.Signal(ApplicationAge) {
		count := countOf(counts, age)
		here := make([]float64, sig.Grid.N)
		for cell, a := range age.Values {
			if !(a >= longWhileUsualS) {
				continue // also if unknown
			}

			began := max(0, cell-int(a/step)) // the first cell that ended after the transaction began
			if a < longS && (!asUsual(began, cell) || !appeared(age, count, began)) {
				continue
			}

			window := max(began, cell-int(math.Ceil(longS/step)))

			fewest, before := math.Inf(1), 0.0
			for j := window; j <= cell; j++ {
				fewest = min(fewest, known(count, j))
			}

			if began > 0 {
				before = known(count, began-1)
			}

			n := min(max(1, fewest-before), max(1, known(count, cell)))

			// The same session was executing before it was a minute old, so earlier cells count it,
			// too.
			for j := window; j <= cell; j++ {
				here[j] = max(here[j], min(n, known(count, j)))
				long[j] = true
			}
		}

		for k := range out {
			out[k] += here[k]
			unknown[k] = unknown[k] || here[k] > 0 && known(count, k) > here[k]
		}
	}

	return out, unknown
}

// counted adds the sessions that a live source counts by their age. Each was executing in the cells
// before, too: for longWhileUsualS, and for up to two samples more, because it is counted in the first
// sample after it has reached that age, and a sample that comes late belongs to the next cell. None was
// executing before the oldest of all began, whose age may be a sample late, too.
func counted(sig *rules.Signals, left []float64, unknown, long timeline.Mask) {
	n, oldest, asUsual := sig.One(LongSessions), sig.One(OldestTransaction), completedAsUsual(sig)
	cells := sig.Cells(longWhileUsualS * time.Second)
	sample := sig.SampleCells(LongSessions)
	most := cells + 2*sample
	for k, sessions := range n {
		reach := cells
		if age := known(oldest, k); age > 0 {
			reach = min(most, max(cells, int(math.Ceil(age/sig.Grid.StepSeconds()))+sample))
		}

		from := max(0, k-reach)
		if !(sessions > 0) || !asUsual(from, k) {
			continue
		}
		for j := from; j <= k; j++ {
			left[j] = max(left[j], sessions)
			unknown[j], long[j] = true, true // the oldest age is theirs
		}
	}
}

// appeared reports whether an application had no executing session before the transaction of its oldest
// one began, as with dumps: those that execute since then came with it. An exporter without the name of
// the application counts clients and dumps in one group.
func appeared(of timeline.Track, count []float64, began int) bool {
	return of.Labels.Get("application_name") != "" && began > 0 && known(count, began-1) == 0
}

// completedAsUsual returns a function that reports whether transactions completed at the usual rate from one
// cell to another. It always reports false if sessions that wait for a lock, the WAL or a standby cannot be
// distinguished: those may hang as long as a dump runs.
func completedAsUsual(sig *rules.Signals) func(from, to int) bool {
	commits, step := sig.One(Commits), sig.Grid.StepSeconds()
	usual := timeline.Quantile(commits, 0.5)
	if timeline.Count(sig.One(WaitEvents)) == 0 || !(usual > 0) {
		return func(int, int) bool { return false }
	}

	return func(from, to int) bool {
		expected := usual * step * float64(to+1-from)
		return timeline.Sum(commits[from:to+1])*step >= keptUp*expected-2*math.Sqrt(expected)
	}
}

// countOf returns the session counts with the same labels as a track; nil if there are none.
func countOf(counts []timeline.Track, of timeline.Track) []float64 {
	for _, t := range counts {
		same := true
		for _, l := range applicationLabels {
			same = same && t.Labels.Get(l) == of.Labels.Get(l)
		}
		if same {
			return t.Values
		}
	}
	return nil
}

// known returns the value of a cell, or 0 if there is none: an empty group of sessions has no
// series.
func known(values []float64, k int) float64 {
	if k >= len(values) || math.IsNaN(values[k]) {
		return 0
	}
	return values[k]
}

// oldestOf returns the age of the oldest transaction outside of long sessions; NaN if unknown.
func oldestOf(sig *rules.Signals, unknown timeline.Mask) []float64 {
	queued, ages := sig.One(QueuedAge), sig.Signal(ApplicationAge)
	if queued == nil && len(ages) == 0 {
		return sig.One(OldestTransaction)
	}

	out := make([]float64, sig.Grid.N)
	for k := range out {
		out[k] = math.NaN()
		if k < len(queued) {
			out[k] = queued[k]
		}

		for _, t := range ages {
			// An application's age is that of its oldest session.
			if x := t.Values[k]; x < longS && !(out[k] >= x) {
				out[k] = x
			}
		}

		if unknown[k] {
			out[k] = math.NaN()
		}
	}

	return out
}
