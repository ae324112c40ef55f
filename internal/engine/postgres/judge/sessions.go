package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// longS is the age of a transaction from which its session is a report, a dump or a batch, and not a
// commit that waits. A session that waits for a lock, the WAL or a standby never is one.
const longS = 60

// clientSessions are the sessions whose waiting makes a stall.
type clientSessions struct {
	// executing is how many execute, without the observer's own and without long ones; nil if not measured.
	executing []float64
	// oldest is the age of their oldest transaction: NaN where only long sessions have one, nil if
	// not measured.
	oldest []float64
	// long marks where long sessions were left out.
	long timeline.Mask
}

// findClients counts them.
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

// observers is how many of the active sessions belong to whoever counts them: one, unless the
// exporter leaves its own out. An observer that counts itself never counts zero.
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

// leftOut is how many long sessions execute in each cell, and marks these cells. unknown marks those
// in which others of the same application execute, whose age is hidden by the long one's.
//
// An exporter reports a number of sessions and the age of the oldest transaction, by application if
// it is recent. Sessions of an application that are older than a minute now were executing all that
// time, so there are at most as many as the fewest counted since the oldest began, without those
// that execute usually: the number just before. At least the oldest one itself is long.
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

			// It was the same session in all of the minute, and before it was a minute old.
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

// countOf are the sessions with the labels of a track; nil if there are none.
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

// known is a value, and 0 if there is none: a group of sessions that is empty has no series.
func known(values []float64, k int) float64 {
	if k >= len(values) || math.IsNaN(values[k]) {
		return 0
	}
	return values[k]
}

// oldestOf is the age of the oldest transaction that is not a long session's; NaN where that is not
// known.
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
