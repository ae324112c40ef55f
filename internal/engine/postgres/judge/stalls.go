package judge

import (
	"math"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// felt are the signals by which stalls are detected.
var felt = []*rules.Signal{Commits, Active, Sessions, OldestTransaction, ObserverLeftOut, Applications,
	ApplicationAge, Queued, QueuedAge, HeldBack, WaitEvents, LongSessions, loggedCommits.Running,
	loggedCommits.Count, loggedCommits.Longest, loggedWrites.Running, loggedWrites.Count, loggedWrites.Longest}

// sampledFloorS is the lowest latency in seconds that counts as a stall. It is higher than the
// floor of measured latencies because it is computed from occasional samples of the session count.
const sampledFloorS = 0.050

// minSessions is how many sessions must execute concurrently to count as a queue. manySessions
// always count as one, even if that number is usual.
const (
	minSessions  = 4
	manySessions = 32
)

// stalls finds the stalled time in the metrics and, unless these are sampled often, in the log.
func stalls(sig *rules.Signals) []rules.Stall {
	found := measuredStalls(sig)
	if len(found) > 0 && found[0].Ops != nil && sig.Covers(Commits) {
		return found
	}
	return append(found, loggedStalls(sig)...)
}

// measuredStalls finds stalled commits although PostgreSQL's exporters report no latency. By Little's law a
// transaction takes executing sessions (without the exporter's own, reports and dumps) divided by
// commits per second. A second without commits has no such quotient; there the drop in completions
// shows a stall.
func measuredStalls(sig *rules.Signals) []rules.Stall {
	s := rules.Stall{Rule: "postgres/commit-stall", Subject: "PostgreSQL commits", Class: rules.Committing,
		IsDatabase: true, Sampled: true,
		Of: []*rules.Signal{Commits, Active}, Ops: sig.One(Commits), Connected: sig.One(Sessions)}
	who := findClients(sig)
	held := heldBack(sig, who)
	fallen, ok := rules.ByThroughput(sig.Time, s, pressure(sig, who, held), rules.StallCeilingS)

	if s.Waiting = who.executing; s.Waiting == nil || s.Ops == nil {
		return rules.Found(fallen, ok)
	}

	slow, ok := rules.ByLatency(sig.Time, sampledFloorS, s)
	atMostTheOldest(sig, who.oldest, slow.Latency)
	atMostTheOldest(sig, sig.One(OldestTransaction), slow.Latency)
	slow.Cells = slow.Cells.And(oldEnough(sig, who.oldest))

	// A report that keeps running at night is one session, not a queue.
	level := usually(sig.Time, unblocked(sig, s.Waiting), held, Active)
	queue := max(minSessions, min(2*level, manySessions))
	slow.Cells = slow.Cells.And(timeline.Where(s.Waiting, func(x float64) bool { return x >= queue }))
	long, inFront := usedUp(sig, slow), make(timeline.Mask, sig.Grid.N)

	if all := SessionsUsedUp(sig); all != nil {
		// During a stall all sessions execute anyway, so a used-up pool shows only before the stall.
		inFront = sig.InFront(all.Without(slow.Cells))
	}

	// A used-up pool with somewhat longer commits is a stall of unknown size: the time in front of
	// the pool is not measured, so nothing becomes critical because of it.
	measured := long.Or(inFront).Or(fallen.Cells)
	slow.Unsure = long.And(shorter(slow)).Without(slow.Cells.Or(inFront).Or(fallen.Cells)).
		Or(slow.Cells.And(byChance(sig.Time, s, held)).Without(inFront).Without(fallen.Cells))
	slow.Cells = slow.Cells.Or(measured)
	slow.Observed = slow.Observed.Or(fallen.Observed).Or(slow.Cells)

	return rules.Found(slow, ok)
}

// A report that runs through a quiet night is not a stall: few transactions complete because
// clients send few. A transaction is evidence of a stall if it began about when completions
// stopped, or if sessions pile up.
const (
	minPiledUp    = 2
	aroundTheDrop = 2.0 // seconds, plus a cell, between the drop and the start of the transaction
	// nearlyNone is the share of the usual completions below which a session that is a minute old
	// more likely hangs than it is a dump during low load.
	nearlyNone = 0.1
)

// pressure returns the age in seconds of the oldest executing transaction if it is evidence of a
// stall, 0 if it is not, and nil if no source reports it.
func pressure(sig *rules.Signals, who clientSessions, held timeline.Mask) []float64 {
	oldest, commits := sig.One(OldestTransaction), sig.One(Commits)
	if oldest == nil || commits == nil {
		return oldest
	}

	completing := slices.Clone(commits)
	for k, x := range completing {
		if x == 0 {
			completing[k] = math.NaN()
		}
	}

	usual := usually(sig.Time, completing, held, Commits)
	busy := timeline.Where(commits, func(x float64) bool { return x >= rules.ThroughputDrop*usual })
	usuallyActive := timeline.Quantile(timeline.At(who.executing, busy), 0.5)

	step, period := sig.Grid.StepSeconds(), sig.ResolutionS(Commits, OldestTransaction)
	out := make([]float64, len(oldest))

	dropped := 0.0
	for k := range out {
		if dropped += step; busy[k] {
			dropped = 0
			continue
		}

		// Prefer the age outside of long sessions: those are the sessions that a stall delays.
		age := oldest[k]
		if who.oldest != nil && !math.IsNaN(who.oldest[k]) {
			age = who.oldest[k]
		}

		piled := who.executing != nil && who.executing[k] >= max(minPiledUp, usuallyActive)
		began := func(age float64) bool { return math.Abs(age-dropped) <= period+aroundTheDrop }
		switch {
		case !piled && publishedLater(sig.Time, commits, usual, k):
			// No completions are missing.
		case piled || began(age) && !who.long[k]:
			out[k] = age
		case who.long[k] && began(oldest[k]) && commits[k] < nearlyNone*usual:
			out[k] = oldest[k]
		}
	}

	return out
}

const (
	// publishedWithinS: a session adds its transactions to pg_stat_database once a second at most
	// (PGSTAT_MIN_INTERVAL, PostgreSQL 15 to 18; 0.5 s before).
	publishedWithinS = 1
	// madeUp is the share of the missing completions that the next sample must contain in addition to its
	// own.
	madeUp = 0.5
)

// publishedLater reports whether completions that are missing in one cell appear in the next
// sample. Sessions that commit about once a second publish nothing in one second and two commits in
// the next. In samples that are long compared with that delay, such a drop is not below
// [rules.ThroughputDrop].
func publishedLater(t rules.Time, commits []float64, usual float64, k int) bool {
	if t.ResolutionS(Commits)*(1-rules.ThroughputDrop) >= publishedWithinS {
		return false
	}
	next := k + t.SampleCells(Commits)
	return next < len(commits) && commits[next]-usual >= madeUp*(usual-commits[k])
}

// atMostTheOldest bounds a mean computed from sessions and completions. If almost nothing
// completes, the quotient grows without bound, but no client waited longer than the oldest
// transaction seen nearby. An unknown age bounds nothing.
func atMostTheOldest(sig *rules.Signals, oldest, latency []float64) {
	if oldest == nil {
		return
	}
	for k := range latency {
		nearby := oldestAround(sig.Time, oldest, k)
		if most := nearby + sig.ResolutionS(OldestTransaction); latency[k] > most {
			latency[k] = most
		}
	}
}

const (
	// usedUpFactor is how many times the usual mean latency counts as a stall while every session
	// executes: the time clients wait for a session is additional and unknown.
	usedUpFactor = 3
	// usedUpSamples is how many consecutive samples that takes: a few sessions may all happen to
	// execute in a single one.
	usedUpSamples = 2
)

// usedUp returns the cells in which every session executes, for longer than usual. The number of
// sessions bounds the computed latency: 90 sessions at 1,200 commits per second give 75 ms, however
// long clients wait in front of their pool.
func usedUp(sig *rules.Signals, slow rules.Stall) timeline.Mask {
	all := SessionsUsedUp(sig)
	if all == nil {
		return make(timeline.Mask, sig.Grid.N)
	}

	// A pool that is used up most of the time would make that latency the usual one. If no session is ever
	// idle, the pool's size is a guess, and sessions that come and go with the load look like one.
	usual := timeline.Quantile(slow.Latency, 0.5)
	if everIdle(sig) {
		usual = usually(sig.Time, slow.Latency, all, Active)
	}

	least := max(rules.StallFloorS, usedUpFactor*usual)
	out := all.And(timeline.Where(slow.Latency, func(x float64) bool { return x >= least }))
	few := usedUpSamples * sig.SampleCells(Active)
	for _, e := range out.Episodes() {
		for k := e.First; k <= e.Last && e.Cells() < few; k++ {
			out[k] = false
		}
	}
	return out
}

// shorter returns the cells in which operations are below the stall threshold.
func shorter(s rules.Stall) timeline.Mask {
	out := make(timeline.Mask, len(s.Latency))
	for k, x := range s.Latency {
		out[k] = x < s.ThresholdAt(k)
	}
	return out
}

// byChance marks the cells in which sessions may have been executing together by chance: completions
// stayed at the usual rate, and averaged over five samples the sessions are not a stall. A sync of
// 0.1 s collects a handful of sessions, and samples taken at one instant show the largest groups as
// long waits.
func byChance(t rules.Time, s rules.Stall, held timeline.Mask) timeline.Mask {
	out := make(timeline.Mask, len(s.Ops))
	usual := usually(t, s.Ops, held, Commits)
	sample := t.SampleCells(s.Of...)

	for k := range out {
		waiting, done := timeline.Sum(around(s.Waiting, k, sample, 2)), timeline.Sum(around(s.Ops, k, sample, 2))
		out[k] = s.Ops[k] >= rules.ThroughputDrop*usual && waiting < sampledFloorS*done
	}

	return out
}

// oldEnough returns the cells in which the oldest transaction nearby does not rule a stall out.
// Sessions are counted at one instant, and a dozen of them may be executing then by chance.
func oldEnough(sig *rules.Signals, oldest []float64) timeline.Mask {
	out := make(timeline.Mask, sig.Grid.N)
	for k := range out {
		out[k] = oldest == nil || !(oldestAround(sig.Time, oldest, k) < sampledFloorS)
	}
	return out
}

// oldestAround returns the oldest age in a sample and its neighbours; NaN if one of them is unknown.
func oldestAround(t rules.Time, oldest []float64, k int) (age float64) {
	for _, x := range around(oldest, k, t.SampleCells(OldestTransaction), 1) {
		age = max(age, x) // NaN stays
	}
	return age
}

// around returns the values of the sample at cell k and of up to n samples on either side, if each
// sample covers the given number of cells.
func around(values []float64, k, sample, n int) []float64 {
	var out []float64
	for j := k - n*sample; j <= k+n*sample; j += sample {
		if j >= 0 && j < len(values) {
			out = append(out, values[j])
		}
	}
	return out
}
