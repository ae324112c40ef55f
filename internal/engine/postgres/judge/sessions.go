package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// longS, in seconds, is the transaction age above which a session counts as a report, a dump or a
// batch rather than a waiting commit. A session that waits for a lock, the WAL or a standby never
// counts as one.
const longS = 60

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
	for _, age := range sig.Signal(ApplicationAge) {
		count := countOf(counts, age)
		here := make([]float64, sig.Grid.N)
		for k, a := range age.Values {
			if !(a >= longS) {
				continue
			}

			began := max(0, k-int(math.Round(a/step)))
			window := max(began, k-int(math.Ceil(longS/step)))

			fewest, before := math.Inf(1), 0.0
			for j := window; j <= k; j++ {
				fewest = min(fewest, known(count, j))
			}

			if began > 0 {
				before = known(count, began-1)
			}

			n := min(max(1, fewest-before), max(1, known(count, k)))

			// The same session was executing before it was a minute old, so earlier cells count it,
			// too.
			for j := window; j <= k; j++ {
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
