package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// felt are the signals that stalls reads.
var felt = []*rules.Signal{Commits, Active, Sessions, OldestTransaction, ObserverLeftOut, Applications,
	ApplicationAge, QueuedAge}

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
	s := rules.Stall{Rule: "postgres/commit-stall", Subject: "PostgreSQL commits", Class: rules.Committing,
		IsDatabase: true, Sampled: true,
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
	long, inFront := usedUp(sig, slow), make(timeline.Mask, sig.Grid.N)

	if all := SessionsUsedUp(sig); all != nil {
		// In a stall all sessions execute anyway.
		inFront = sig.InFront(all.Without(slow.Cells))
	}

	measured := long.Or(inFront).Or(fallen.Cells)
	slow.Unsure = long.And(shorter(slow)).Without(slow.Cells.Or(inFront).Or(fallen.Cells)).
		Or(slow.Cells.And(byChance(s)).Without(inFront).Without(fallen.Cells))
	slow.Cells = slow.Cells.Or(measured)
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

// byChance marks the cells in which sessions may have been executing together by chance: completions
// stayed as usual, and averaged over five samples, the sessions are no stall. A sync
// of a tenth of a second collects a handful of sessions, and samples at one moment show the largest
// handfuls as long waits.
func byChance(s rules.Stall) timeline.Mask {
	out := make(timeline.Mask, len(s.Ops))
	usual := timeline.Quantile(s.Ops, 0.5)

	for k := range out {
		from, to := max(0, k-2), min(len(s.Ops), k+3)
		waiting, done := timeline.Sum(s.Waiting[from:to]), timeline.Sum(s.Ops[from:to])
		out[k] = s.Ops[k] >= rules.ThroughputDrop*usual && waiting < sampledFloorS*done
	}

	return out
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
