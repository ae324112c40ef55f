package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// felt are the signals that stalls reads.
var felt = []*rules.Signal{Commits, Active, Sessions, OldestTransaction, ObserverLeftOut, Applications, ApplicationAge, QueuedAge}

// sampledFloorS is the latency from which a commit may be stalled: it is computed from a count of
// sessions sampled now and then.
const sampledFloorS = 0.050

// minSessions is how many sessions must be executing at once before they are a queue.
// From manySessions on they are one even if that is usual.
const (
	minSessions  = 4
	manySessions = 32
)

// stalls judges PostgreSQL, whose exporters report no latency: by Little's law a transaction takes
// the sessions executing (without the exporter's own, reports and dumps) divided by the commits per
// second. A second without any commit has no such quotient; there the fall of completions shows it.
func stalls(sig *rules.Signals) []rules.Stall {
	s := rules.Stall{Rule: "postgres/commit-stall", Subject: "PostgreSQL commits", Class: rules.Committing, IsDatabase: true, Sampled: true,
		Of: []*rules.Signal{Commits, Active}, Ops: sig.One(Commits), Connected: sig.One(Sessions)}
	who := findClients(sig)
	fallen, ok := rules.ByThroughput(sig.Time, s, pressure(sig, who), rules.StallCeilingS)
	if s.Waiting = who.executing; s.Waiting == nil || s.Ops == nil {
		return rules.Found(fallen, ok)
	}

	slow, ok := rules.ByLatency(sig.Time, sampledFloorS, s)
	atMostTheOldest(sig, who.oldest, slow.Latency)
	slow.Cells = slow.Cells.And(oldEnough(sig, who.oldest))
	// A report that runs on when the others have gone home is one session, not a queue.
	queue := max(minSessions, min(2*timeline.Quantile(s.Waiting, 0.5), manySessions))
	slow.Cells = slow.Cells.And(timeline.Where(s.Waiting, func(x float64) bool { return x >= queue }))
	bursts, waits := behindBursts(sig, s.Ops)
	if bursts != nil {
		slow.Cells = slow.Cells.And(repeatedly(slow))
		slow.Inferred = bursts.Without(slow.Cells)
		slow.Cells = slow.Cells.Or(bursts)
		for k, in := range bursts {
			if in {
				slow.Latency[k] = max(slow.Latency[k], waits[k])
			}
		}
	}
	long, inFront := usedUp(sig, slow), sig.InFront(SessionsUsedUp(sig))
	measured := long.Or(inFront).Or(fallen.Cells)
	slow.Unsure = long.And(shorter(slow)).Without(slow.Cells.Or(inFront).Or(fallen.Cells))
	slow.Cells = slow.Cells.Or(measured)
	slow.Inferred = slow.Inferred.Without(measured)
	slow.Observed = slow.Observed.Or(fallen.Observed).Or(slow.Cells)
	return rules.Found(slow, ok)
}

// A report that runs through a quiet night is not a stall: completions are few because no client
// asks. A transaction is evidence of a stall if it began about when completions stopped, or if
// sessions pile up.
const (
	minPiledUp    = 2
	aroundTheDrop = 2.0 // seconds, and a cell, between the drop and the transaction's begin
	// nearlyNone is the share of the usual completions under which a session of a minute is more
	// likely one that hangs than a dump during which clients ask for less.
	nearlyNone = 0.1
)

// pressure is the age in seconds of the oldest transaction executing, if it is evidence of a stall,
// and 0 if it is not; nil if no source reports it.
func pressure(sig *rules.Signals, who clientSessions) []float64 {
	oldest, commits := sig.One(OldestTransaction), sig.One(Commits)
	if oldest == nil || commits == nil {
		return oldest
	}
	var completing []float64
	for _, x := range commits {
		if x > 0 {
			completing = append(completing, x)
		}
	}
	usual := timeline.Quantile(completing, 0.5)
	busy := timeline.Where(commits, func(x float64) bool { return x >= rules.ThroughputDrop*usual })
	usuallyActive := timeline.Quantile(timeline.At(who.executing, busy), 0.5)

	step, period := sig.Grid.StepSeconds(), sig.ResolutionS(Commits, OldestTransaction)
	out := make([]float64, len(oldest))
	dropped := 0.0
	for k := range out {
		if dropped += step; busy[k] {
			dropped = 0
		}

		// Without long sessions first: those are the ones that a stall holds up.
		age := oldest[k]
		if who.oldest != nil && !math.IsNaN(who.oldest[k]) {
			age = who.oldest[k]
		}
		piled := who.executing != nil && who.executing[k] >= max(minPiledUp, usuallyActive)
		began := func(age float64) bool { return math.Abs(age-dropped) <= period+aroundTheDrop }
		switch {
		case piled || began(age) && !who.long[k]:
			out[k] = age
		case who.long[k] && began(oldest[k]) && commits[k] < nearlyNone*usual:
			out[k] = oldest[k]
		}
	}
	return out
}

// atMostTheOldest bounds a mean that was computed from sessions and completions: if hardly anything
// ends the quotient has no bound, but no client waited longer than the oldest transaction seen
// around it.
func atMostTheOldest(sig *rules.Signals, oldest, latency []float64) {
	if oldest == nil {
		return
	}
	for k := range latency {
		around := oldestAround(oldest, k)
		if most := around + sig.ResolutionS(OldestTransaction); latency[k] > most {
			latency[k] = most
		}
	}
}

const (
	// usedUpFactor is how many times the usual a mean latency is that counts where every session
	// executes: the time that clients wait for one of them comes on top, and is not known.
	usedUpFactor = 3
	// usedUpCells is in how many cells one after the other that must be: sessions are looked at now
	// and then, and a few of them may all be executing in one look.
	usedUpCells = 2
)

// usedUp is where every session executes, for longer than usual. What sessions can make of a mean
// latency is bounded by how many there are: with 90 of them at 1,200 commits a second it is 75 ms,
// however long clients wait in front of their pool.
func usedUp(sig *rules.Signals, slow rules.Stall) timeline.Mask {
	all := SessionsUsedUp(sig)
	if all == nil {
		return make(timeline.Mask, sig.Grid.N)
	}
	least := max(rules.StallFloorS, usedUpFactor*timeline.Quantile(slow.Latency, 0.5))
	out := all.And(timeline.Where(slow.Latency, func(x float64) bool { return x >= least }))
	for _, e := range out.Episodes() {
		for k := e.First; k <= e.Last && e.Cells() < usedUpCells; k++ {
			out[k] = false
		}
	}
	return out
}

// shorter is where operations do not take as long as in a stall.
func shorter(s rules.Stall) timeline.Mask {
	out := make(timeline.Mask, len(s.Latency))
	for k, x := range s.Latency {
		out[k] = x < s.ThresholdAt(k)
	}
	return out
}

// repeatedly is where sessions were looked at in a moment and in the ones beside it, and a transaction
// stalls by all three, against what is usual by as many. One look alone may meet what happens to be
// executing: a group commit answers all who wait at once.
func repeatedly(s rules.Stall) timeline.Mask {
	each := make([]float64, len(s.Ops))
	for k := range each {
		first, last := max(0, k-1), min(len(each), k+2)
		each[k] = timeline.Sum(s.Waiting[first:last]) / timeline.Sum(s.Ops[first:last])
	}
	least := rules.StallThreshold(timeline.Quantile(each, 0.5))
	out := make(timeline.Mask, len(each))
	for k, x := range each {
		out[k] = !(x < max(least, s.ThresholdAt(k)))
	}
	return out
}

// A commit writes to the WAL's device and then waits for a flush, twice in its queue. While writes to
// it take half as long as a stall on average, in a queue far longer than usual, commits stall: a burst
// of half a second is over before sessions are looked at.
const (
	waitsOfCommit = 2
	burstFactor   = 4.0
	coarseBurst   = 2.0 // in an interval of many seconds, most of which is quiet
	leastQueue    = 4.0
	// walWrites is how many writes for each commit a device makes that may hold the WAL.
	walWrites = 0.3
)

// behindBursts is where every device that may hold the WAL has a burst in its queue and commits were
// asked for, and how many seconds a commit waited there at least; nil where no such device is
// measured.
func behindBursts(sig *rules.Signals, commits []float64) (bursts timeline.Mask, waits []float64) {
	usualCommits := timeline.Quantile(commits, 0.5)
	factor := burstFactor
	if sig.ResolutionS(rules.DiskWrites, rules.DiskWriteAwait, rules.DiskQueue) > 2 {
		factor = coarseBurst
	}
	for _, t := range sig.Signal(rules.DiskWrites) {
		dev := t.Labels.Get("device")
		await, queue := sig.For(rules.DiskWriteAwait, "device", dev), sig.For(rules.DiskQueue, "device", dev)
		if await == nil || queue == nil || !(timeline.Quantile(t.Values, 0.5) >= walWrites*usualCommits) {
			continue
		}
		long := max(leastQueue, factor*sig.Usual(queue, rules.DiskQueue))
		least := rules.StallThreshold(waitsOfCommit*sig.Usual(await, rules.DiskWriteAwait)) / waitsOfCommit
		here := timeline.Where(await, func(x float64) bool { return x >= least }).
			And(timeline.Where(queue, func(x float64) bool { return x >= long }))
		if bursts == nil {
			bursts, waits = here, make([]float64, len(here))
		} else {
			bursts = bursts.And(here)
		}
		for k := range waits {
			if x := waitsOfCommit * await[k]; waits[k] == 0 || x < waits[k] {
				waits[k] = x
			}
		}
	}
	if bursts == nil || !(usualCommits >= minSessions) {
		return nil, nil
	}
	return bursts.And(timeline.Where(commits, func(x float64) bool { return x > 0 })), waits
}

// oldEnough is where the oldest transaction around does not say that no client waited as long as a
// stall takes: sessions are counted at a moment, and a dozen of them may be executing there by chance.
func oldEnough(sig *rules.Signals, oldest []float64) timeline.Mask {
	out := make(timeline.Mask, sig.Grid.N)
	for k := range out {
		out[k] = oldest == nil || !(oldestAround(oldest, k) < sampledFloorS)
	}
	return out
}

// oldestAround is the oldest age in a cell and in the ones next to it; NaN if one of them is not known.
func oldestAround(oldest []float64, k int) (age float64) {
	for _, x := range oldest[max(0, k-1):min(len(oldest), k+2)] {
		age = max(age, x) // NaN stays
	}
	return age
}
