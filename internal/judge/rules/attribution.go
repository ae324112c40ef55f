package rules

import (
	"math"

	"plimsoll/internal/record/timeline"
)

// MinWaitShare is the share of the stalled waiting time above which a wait is worth a finding.
const MinWaitShare = 0.05

// IdleSaturation is the share of the stalled time in checkpoints below which writes do not wait for
// any device.
const IdleSaturation = 0.1

// LeastOfCell is the share above which a cell counts as covered: the given share, or half a second
// if a cell is many seconds long.
func (t Time) LeastOfCell(share float64) float64 {
	return min(share, 0.5/t.Grid.StepSeconds())
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
	MaxChance        = 0.2
)

// Contrasts reports whether enough of the time under load is outside a condition, and whether so
// many stalls would rarely coincide with it by chance. By chance, each stall does so with the share
// of the time in which the condition holds.
func (st *Stalls) Contrasts(condition timeline.Mask) bool {
	return st.Comparable(condition) && st.ChanceToMeet(condition) <= MaxChance
}

// Comparable reports whether enough of the time under load is outside a condition.
func (st *Stalls) Comparable(condition timeline.Mask) bool {
	out := st.Stall.Active.Without(condition).Count()
	return out >= minContrastCells && float64(out) >= minContrast*float64(st.Stall.Active.Count())
}

// ChanceToMeet is the probability that as many stalls coincide with a condition if the two are
// independent.
func (st *Stalls) ChanceToMeet(condition timeline.Mask) float64 {
	met, stalls := 0, st.Stall.Cells.Close(st.Cells(AftermathS*1e9)).Episodes()
	for _, e := range stalls {
		if timeline.MaskOf(st.Grid.N, []timeline.Episode{e}).And(condition).Count() > 0 {
			met++
		}
	}
	return byChance(len(stalls), met, Share(condition, st.Stall.Active))
}

// byChance is the probability that at least met of n stalls coincide with a condition that holds
// for a share p of the time, if the two are independent: the upper tail of the binomial
// distribution.
func byChance(n, met int, p float64) (tail float64) {
	if p >= 1 || met <= 0 {
		return 1
	}
	if p <= 0 {
		return 0
	}
	lnFactorial := func(k int) float64 {
		x, _ := math.Lgamma(float64(k) + 1)
		return x
	}
	for k := met; k <= n; k++ { // by logarithms: a day may have thousands of stalls
		tail += math.Exp(lnFactorial(n) - lnFactorial(k) - lnFactorial(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return min(1, tail)
}

// StallRatio is how many times as often cells must stall under a condition as without it before the
// condition is called a cause. Below it the two may coincide by chance.
const StallRatio = 2.0
