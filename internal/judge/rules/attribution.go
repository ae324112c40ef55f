package rules

import (
	"math/rand/v2"

	"plimsoll/internal/record/timeline"
)

// MinWaitShare is the share of the stalled waiting time above which a wait is worth a finding.
const MinWaitShare = 0.05

// IdleSaturation is the share of the stalled time in checkpoints below which writes do not wait for
// any device.
const IdleSaturation = 0.1

// LeastOfCell is the share above which a cell counts as covered by what signals report: the given
// share, or half a second if their samples are many seconds apart.
func (t Time) LeastOfCell(share float64, of ...*Signal) float64 {
	return min(share, 0.5/t.ResolutionS(of...))
}

// AftermathS is how long after a checkpoint a stall still counts as part of it: the writers that
// waited are credited when they finish.
const AftermathS = 2

// WithAftermath extends checkpoints by the time in which the waiting writers finish. Where
// checkpoints follow each other closely it adds less, so that some time is left between them.
func (t Time) WithAftermath(running timeline.Mask) timeline.Mask {
	var gaps []float64
	eps := running.Episodes()
	for i := 1; i < len(eps); i++ {
		gaps = append(gaps, float64(eps[i].First-eps[i-1].Last-1))
	}
	after := t.Cells(AftermathS * 1e9)
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

// Contrasts reports whether enough of the time under load is outside a condition, and whether so
// many stalls would rarely coincide with it by chance.
func (st *Stalls) Contrasts(condition timeline.Mask) bool {
	return st.Comparable(condition) && st.ChanceToMeet(condition) <= MaxChance
}

// MeetsByChance reports whether stalls fall into a condition about as long as they would if the two were
// independent. It is false where there is no other time to compare with.
func (st *Stalls) MeetsByChance(condition timeline.Mask) bool {
	return st.Stall.Any() && st.Comparable(condition) && st.ChanceToMeet(condition) > MaxChance
}

// SeverityIn grades a cause like SeverityOf, but calls nothing critical whose condition meets as many stalls
// by chance in more than one case in 200.
func (st *Stalls) SeverityIn(condition timeline.Mask, share float64) Severity {
	s := st.SeverityOf(share)
	if s == Critical && st.Comparable(condition) && st.ChanceToMeet(condition) > coincidenceSure {
		return Warning
	}
	return s
}

// Comparable reports whether enough of the time under load is outside a condition.
func (st *Stalls) Comparable(condition timeline.Mask) bool {
	out := st.Stall.Active.Without(condition).Count()
	return out >= minContrastCells && float64(out) >= minContrast*float64(st.Stall.Active.Count())
}

// chanceDraws is how many times the stalls are placed anew.
const chanceDraws = 999

// ChanceToMeet is the probability that stalls fall into a condition for as long as they do if the two
// are independent. It compares whole stalls, because the seconds of one are no separate coincidences:
// each is placed anew, anywhere under load, chanceDraws times. That stalls recur with the period of a
// condition counts as evidence here, which is right for an engine's own cycle: five stalls in five
// checkpoints of 20 s a minute are no coincidence. [Stalls.Coincidence] shifts all stalls together, so it
// takes equal periods as given (0.3 for the same five), which is right for what recurs by itself.
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

	stalls := all.Close(st.Cells(AftermathS * 1e9)).Episodes()
	if len(stalls) == 0 || len(places) == 0 {
		return 1
	}

	// before[k] is in how many of the first k cells the condition holds.
	before := make([]int, st.Grid.N+1)
	for k := range st.Grid.N {
		before[k+1] = before[k]
		if condition[k] {
			before[k+1]++
		}
	}

	within := func(first, cells int) int { return before[min(first+cells, st.Grid.N)] - before[first] }

	seen := 0
	for _, e := range stalls {
		seen += within(e.First, e.Cells())
	}

	// The same draws each time, so that a recording is judged the same each time.
	r := rand.New(rand.NewPCG(1, 1))
	asMuch := 1 // what was seen is one of the possible placements
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
// condition is called a cause. Below it the two may coincide by chance.
const StallRatio = 2.0
