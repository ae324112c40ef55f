package prove

import (
	"context"
	"math"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/base/random"
	"plimsoll/internal/judge/rules"
)

// sameRatio is the relative change that is too small to matter: an interval within it counts as no change.
const sameRatio = 0.05

// estimate computes the values, intervals, p-values and verdicts of all pairs. Each pair has its own random
// streams, so the order of computation does not affect the result.
func estimate(ctx context.Context, pairs []pair, report *Report, opt Options) error {
	var mu sync.Mutex
	done := 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))

	for i := range pairs {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			pairs[i].estimate(report, opt)
			mu.Lock()
			defer mu.Unlock()
			if done++; opt.Progress != nil {
				opt.Progress("resampling", done, len(pairs))
			}
			return nil
		})
	}

	if err := g.Wait(); err != nil {
		return err
	}

	var p []float64
	var of []int
	for i := range pairs {
		// A figure that no permutation can change is not tested, so it must not make the correction
		// stricter.
		if pairs[i].figure.P != nil && pairs[i].varies {
			p, of = append(p, *pairs[i].figure.P), append(of, i)
		}
	}

	for k, x := range holm(p) {
		pairs[of[k]].figure.PAdjusted = &x
	}

	for i := range pairs {
		pairs[i].judge(1 - report.Confidence)
		pairs[i].advise(len(p), 1-report.Confidence)
	}

	return nil
}

// estimate computes one pair.
func (x *pair) estimate(report *Report, opt Options) {
	figure := &x.figure
	nBefore, nAfter := x.before.units(), x.after.units()
	before, after := x.before.estimate(once(nBefore)), x.after.estimate(once(nAfter))
	figure.Before.Value, figure.After.Value = finite(before), finite(after)
	figure.Before.AtLeast, figure.After.AtLeast = unbounded(x.before), unbounded(x.after)
	figure.Difference.Value, figure.Ratio.Value = finite(after-before), finite(after/before)

	if math.IsNaN(before) || math.IsNaN(after) {
		return
	}

	// The dependence between units determines how many must be drawn together.
	ia, ib := x.before.influence(), x.after.influence()
	figure.BlockUnits = max(blockLength(ia), blockLength(ib))
	if report.Before.CyclesOfOwn || report.After.CyclesOfOwn {
		// With only a dozen cycles, the rule finds dependence even if there is none. Cap the block length so
		// that the side with fewer units has at least unitsMin runs.
		figure.BlockUnits = min(figure.BlockUnits, max(1, min(nBefore, nAfter)/unitsMin))
	}

	x.varies = vary(ia) || vary(ib) || before != after
	x.afterBlocks = nAfter / figure.BlockUnits
	x.blocks, x.unitSeconds = nBefore/figure.BlockUnits, report.Before.UnitSeconds

	if x.afterBlocks < x.blocks {
		x.blocks, x.unitSeconds = x.afterBlocks, report.After.UnitSeconds
	}

	// Too few runs for an interval or a test: report only the values.
	if x.blocks < unitsMin {
		return
	}

	alpha := 1 - float64(opt.Confidence)
	chance := func(what string) *random.Stream { return opt.Seed.Stream("prove." + figure.Name + "." + what) }

	// Each computation has its own random stream, so adding one does not change the others.
	p := permute(x.before, x.after, figure.BlockUnits, opt.Resamples, chance("order"))
	figure.P = &p
	side := func(m measure, at float64, what string) span {
		errors := critical(alpha, m.units()/figure.BlockUnits)
		s, reach := m.spread(at, alpha, errors, func(q *quotient) float64 {
			return deviation(bootstrap(q, figure.BlockUnits, opt.Resamples, chance(what)))
		})
		x.reach = max(x.reach, reach)
		return s
	}

	sa, sb := side(x.before, before, "before"), side(x.after, after, "after")
	x.difference, x.ratio, x.afterSpan = difference(sa, sb), ratio(sa, sb), sb
	figure.Before.between(sa)
	figure.After.between(sb)
	figure.Difference.between(x.difference)
	figure.Ratio.between(x.ratio)
	figure.Resolution = max(resolution(x.before, before), resolution(x.after, after))
}

// unbounded reports whether a value is in the histogram's last bucket, which has no upper bound.
func unbounded(m measure) bool {
	h, ok := m.(*histogram)
	if !ok {
		return false
	}
	_, to := h.within(once(h.units()))
	return math.IsInf(to, 1)
}

// resolution returns the width of the class that contains a value, relative to the value: smaller changes
// are not visible. 0: no classes.
func resolution(m measure, at float64) float64 {
	h, ok := m.(*histogram)
	if !ok {
		return 0
	}
	from, to := h.within(once(h.units()))
	if math.IsInf(to, 1) || !(at > 0) {
		return 0 // no upper bound, which the interval shows
	}
	return (to - from) / at
}

func (e *Estimate) between(s span) {
	s = s.stated()
	e.Low, e.High = finite(s.low), finite(s.high)
}

// finite returns a number, or nil if it is not finite.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func vary(x []float64) bool {
	for _, v := range x {
		if math.Abs(v) > 1e-12 {
			return true
		}
	}
	return false
}

// judge sets the figure's verdict.
func (x *pair) judge(alpha float64) {
	f := &x.figure
	low, high := f.Difference.Low, f.Difference.High

	switch {
	case f.P == nil:
	// Equivalence needs no test: the whole interval is inside the margin.
	case x.same():
		f.Verdict = NoChange
	// Both are required: a significant test and an interval that excludes no change.
	case f.PAdjusted == nil || *f.PAdjusted > alpha:
	case high != nil && *high < 0:
		f.Verdict = map[rules.Wanted]Verdict{rules.Less: Better, rules.More: Worse,
			rules.Neither: Lower}[rules.Wanted(f.Wanted)]
	case low != nil && *low > 0:
		f.Verdict = map[rules.Wanted]Verdict{rules.Less: Worse, rules.More: Better,
			rules.Neither: Higher}[rules.Wanted(f.Wanted)]
	}
}

// same reports whether the whole interval is within sameRatio, ignoring the histogram's classes, which the
// figure's resolution covers. If neither recording has any event, there is no observed change.
func (x *pair) same() bool {
	f := &x.figure
	if f.Before.AtLeast || f.After.AtLeast {
		return false
	}
	if *f.Before.Value == 0 && *f.After.Value == 0 {
		return true
	}
	return x.difference.low == 0 && x.difference.high == 0 ||
		x.ratio.low >= 1-sameRatio && x.ratio.high <= 1+sameRatio
}

// blurred reports whether there is a significant change, but the histogram's classes are too wide to
// determine its direction.
func (x *pair) blurred(alpha float64) bool {
	f := &x.figure
	return f.Verdict == CantTell && f.PAdjusted != nil && *f.PAdjusted <= alpha &&
		(x.difference.high < 0 || x.difference.low > 0)
}

const (
	// powerQuantile is the normal quantile of the power that advice aims for: a real change is detected
	// with a probability of four in five.
	powerQuantile = 0.8416
	// aim is the relative change that advice aims to detect if the observed one is close to zero.
	aim = 0.10
	// again is the minimum multiple of the current recording's length that advice recommends.
	again = 1.5
)

// advise sets how long to record for a verdict: the interval's width falls with the square root of the
// number of units.
func (x *pair) advise(family int, alpha float64) {
	f := &x.figure
	if f.Verdict != CantTell || f.Before.Value == nil || f.After.Value == nil ||
		f.Before.AtLeast && f.After.AtLeast {
		return
	}

	if x.blocks < unitsMin {
		f.Record = x.advice(float64(unitsMin+1)*float64(f.BlockUnits), "any verdict")
		return
	}

	if least := runsLeast(alpha / float64(max(family, 1))); x.blocks < least {
		f.Record = x.advice(float64(least+1)*float64(f.BlockUnits), "any verdict at this confidence")
		return
	}

	if x.reach >= 1 {
		f.Record = x.advice(float64(x.blocks*f.BlockUnits)*max(again, square(2*x.reach)), "an upper end")
		return
	}

	if f.Difference.Low == nil || f.Difference.High == nil || x.blurred(alpha) {
		return // a longer recording does not make the classes finer
	}

	error := (x.difference.high - x.difference.low) / 2 / critical(alpha, x.blocks)
	change, what := math.Abs(*f.Difference.Value), "the change seen"
	if scale := max(math.Abs(*f.Before.Value), math.Abs(*f.After.Value)); change < sameRatio*scale {
		change, what = aim*scale, "a change of 10 %"
	}

	if change == 0 {
		return
	}

	// Plan for the strictest level that Holm's correction may apply.
	z := normalQuantile(1-alpha/2/float64(max(family, 1))) + powerQuantile
	f.Record = x.advice(float64(x.blocks*f.BlockUnits)*max(again, square(z*error/change)), what)
}

// runsLeast returns the number of runs that each side needs for a p below alpha: with n runs on each side
// there are binomial(2n, n) orders, and two of them are the most extreme.
func runsLeast(alpha float64) int {
	n, orders := 1, 2.0
	for 2/orders >= alpha {
		n++
		orders *= float64(2*n) * float64(2*n-1) / float64(n*n)
	}
	return n
}

func square(x float64) float64 { return x * x }

func (x *pair) advice(units float64, what string) *Advice {
	n := math.Ceil(units)
	return &Advice{Seconds: n * x.unitSeconds, Units: int(min(n, math.MaxInt32)), For: what}
}
