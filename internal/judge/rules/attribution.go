package rules

import (
	"math/rand/v2"

	"plimsoll/internal/record/timeline"
)

// MinWaitShare is the share of the stalled waiting time above which a wait is worth a finding.
const MinWaitShare = 0.05

// IdleSaturation is the saturated share of the stalled time during checkpoints, below which writes
// are not waiting for any device.
const IdleSaturation = 0.1

// LeastOfCell returns the share of a cell above which the cell counts as covered: the given share,
// or half a second if the signals' samples are many seconds apart.
func (t Time) LeastOfCell(share float64, of ...*Signal) float64 {
	return min(share, 0.5/t.ResolutionS(of...))
}

// AftermathS is how long after a checkpoint a stall still counts as part of it: counters credit the
// blocked writers only when they finish.
const AftermathS = 2

// WithAftermath extends checkpoints by the time in which blocked writers finish. If checkpoints
// follow each other closely it adds less, so that some time remains between them.
func (t Time) WithAftermath(running timeline.Mask) timeline.Mask {
	var gaps []float64
	eps := running.Episodes()
	for i := 1; i < len(eps); i++ {
		gaps = append(gaps, float64(eps[i].First-eps[i-1].Last-1))
	}
	after := t.Cells(AftermathS * 1e9)
	// A quarter of the usual gap at most: a condition that fills the gaps has nothing to compare
	// with.
	if gap := timeline.Quantile(gaps, 0.5); gap == gap {
		after = min(after, int(gap/4))
	}
	return running.Widen(0, after)
}

// A condition that holds in nearly all of the recording leaves nothing to compare with, and one
// that holds in much of it coincides with a few stalls by chance. Nothing can be attributed to
// either.
const (
	minContrast      = 0.05
	minContrastCells = 3
	MaxChance        = 0.05
)

// Contrasts reports whether enough of the time under load is outside a condition, and whether this
// much stalled time would rarely coincide with it by chance.
func (st *Stalls) Contrasts(condition timeline.Mask) bool {
	return st.Comparable(condition) && st.ChanceToMeet(condition) <= MaxChance
}

// MeetsByChance reports whether stalls overlap a condition about as much as they would if the two
// were independent. It is false if there is no other time to compare with.
func (st *Stalls) MeetsByChance(condition timeline.Mask) bool {
	return st.Stall.Any() && st.Comparable(condition) && st.ChanceToMeet(condition) > MaxChance
}

// PartOfStall is a share of the stalled time for a sentence, which leaves it out if nothing stalled.
func (st *Stalls) PartOfStall(share float64) Value { return If(st.Stall.Any(), Part(share)) }

// SeverityIn grades a cause like SeverityOf, but never as critical if independent stalls would
// overlap the condition as much in more than one case in 200.
func (st *Stalls) SeverityIn(condition timeline.Mask, share float64) Severity {
	s := st.SeverityOf(share)
	if s == Critical && st.Comparable(condition) && st.ChanceToMeet(condition) > coincidenceSure {
		return Warning
	}
	return s
}

// Comparable reports whether enough of the time under load is outside a condition. A condition whose
// figures are missing is an empty mask, with which nothing can be compared.
func (st *Stalls) Comparable(condition timeline.Mask) bool {
	if len(condition) == 0 {
		return false
	}

	out := st.Stall.Active.Without(condition).Count()
	return out >= minContrastCells && float64(out) >= minContrast*float64(st.Stall.Active.Count())
}

// chanceDraws is how many random placements of the stalls are tried.
const chanceDraws = 999

// ChanceToMeet is the probability that stalls overlap a condition as much as they do if the two are
// independent. It moves whole stalls, because the seconds within one stall are not separate
// coincidences: each stall is placed at random anywhere under load, chanceDraws times.
//
// If stalls recur with the period of a condition, that counts as evidence here, which is right for
// an engine's own cycle: five stalls in five checkpoints of 20 s a minute are not a coincidence.
// [Stalls.Coincidence] shifts all stalls together, so it takes equal periods as given (0.3 for the
// same five). That is right for conditions that recur by themselves.
func (st *Stalls) ChanceToMeet(condition timeline.Mask) float64 {
	var places []int
	for k, active := range st.Stall.Active {
		if active {
			places = append(places, k)
		}
	}

	all := st.Stall.AsSampled()
	if st.Others != nil {
		all = all.Or(st.Others)
	}

	// A stall that is interrupted for a moment is still one event.
	stalls := all.Close(st.Cells(AftermathS * 1e9)).Episodes()
	if len(stalls) == 0 || len(places) == 0 || len(condition) == 0 {
		return 1
	}

	before := countsBefore(condition)

	within := func(first, cells int) int { return before[min(first+cells, st.Grid.N)] - before[first] }

	// seen is how many stalled cells the condition covers in reality.
	seen := 0
	for _, e := range stalls {
		seen += within(e.First, e.Cells())
	}

	// A fixed seed, so that a recording gets the same verdict each time.
	r := rand.New(rand.NewPCG(1, 1))
	asMuch := 1 // the observed placement is one of the possible ones
	for range chanceDraws {
		drawn := 0
		for _, e := range stalls {
			drawn += within(places[r.IntN(len(places))], e.Cells())
		}
		if drawn >= seen {
			asMuch++
		}
	}

	return float64(asMuch) / (chanceDraws + 1)
}

// StallRatio is how many times as often cells must stall under a condition as without it before the
// condition is called a cause. Below this the two may coincide by chance.
const StallRatio = 2.0
