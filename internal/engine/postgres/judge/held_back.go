package judge

import (
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// The usual level is measured while clients are not held back. Over the whole recording, the median of a
// server that stalls for two thirds of the time is that of a stalled second, and nothing exceeds it.
const (
	// heldBackShare is the share of the executing sessions that have to wait for other sessions.
	heldBackShare = 0.5
	// proceedingAt is the quantile of completions per second that a server reaches while nothing holds
	// clients back, even if that is a tenth of the time.
	proceedingAt = 0.95
	// leastProceeding is how many samples are needed to show the usual level: a single one may be the backlog
	// that drains after a stall.
	leastProceeding = 3
)

// heldBack marks the cells in which hardly any transactions complete and most of the executing sessions have
// waited for as long as a stall. A bulk load looks the same, with few completions and as many executing
// sessions for as long, so there must be evidence that the sessions wait:
//
//   - for another session's lock or for a standby;
//   - for the WAL, for an advisory lock, or for something the source does not report, if the oldest of
//     them began when completions dropped. Loaders take long throughout. A worker may wait for an
//     advisory lock all day because another one has the job.
func heldBack(sig *rules.Signals, who clientSessions) timeline.Mask {
	out := make(timeline.Mask, sig.Grid.N)
	commits := sig.One(Commits)
	if who.executing == nil || commits == nil {
		return out
	}

	blocked, queued, age, least := sig.One(HeldBack), sig.One(Queued), sig.One(QueuedAge), float64(minPiledUp)
	if timeline.Count(sig.One(WaitEvents)) == 0 {
		queued, age, least = who.executing, sig.One(OldestTransaction), minSessions
	}

	proceeding := rules.ThroughputDrop * timeline.Quantile(commits, proceedingAt)
	around := sig.ResolutionS(Commits, OldestTransaction) + aroundTheDrop
	dropped := 0.0
	for k, executing := range who.executing {
		if dropped += sig.Grid.StepSeconds(); !(commits[k] < proceeding) {
			dropped = 0
			continue
		}

		most := max(least, heldBackShare*executing)
		began := math.Abs(known(age, k)-dropped) <= around
		waits := known(blocked, k) >= most || began && known(queued, k) >= most
		out[k] = waits && known(age, k) >= rules.StallCeilingS
	}

	return out
}

// unblocked is how many sessions execute, without those that wait for another session's lock or a standby if
// these are most of them and wait for as long as a stall. A queue that never ends is not the usual level.
func unblocked(sig *rules.Signals, executing []float64) []float64 {
	out := slices.Clone(executing)
	blocked, age := sig.One(HeldBack), sig.One(QueuedAge)
	for k := range out {
		if n := known(blocked, k); n >= heldBackShare*out[k] && known(age, k) >= rules.StallCeilingS {
			out[k] = max(0, out[k]-n)
		}
	}
	return out
}

// usually is the median of the values outside of the cells in which clients are held back, or of all of
// them if hardly any others exist.
func usually(t rules.Time, values []float64, held timeline.Mask, of *rules.Signal) float64 {
	if values == nil {
		return math.NaN()
	}
	proceeding := timeline.At(values, held.Not())
	if timeline.Count(proceeding) < leastProceeding*t.SampleCells(of) {
		proceeding = values
	}
	return timeline.Quantile(proceeding, 0.5)
}
