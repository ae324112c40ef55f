package fit

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// A share is a kind of operation and how many came a second.
type share struct {
	kind string // in workload.mix
	rate float64
}

// A load is what was asked, as far as an engine tells it.
type load struct {
	shares []share
	ops    []float64 // what the rate was read from, over time; nil: not known
	how    Known     // of the mix
	rateOf string    // what was counted
	mixOf  string    // how it is known what operations did
}

// shareMin is under which a kind of operation is left out of the mix.
const shareMin = 0.0005

// arrivals enters the rate and the mix. It fails where nothing was asked.
func (f *fitting) arrivals(l load) error {
	total := 0.0
	l.shares = slices.DeleteFunc(l.shares, func(s share) bool { return !(s.rate > 0) })
	for _, s := range l.shares {
		total += s.rate
	}
	const least = 1.0 / 86400 // package workload's
	if total < least {
		return &MissingError{What: "work: nothing was asked of the database in this time", From: "choose a busy stretch: --from TIME --to TIME"}
	}
	low, high := f.spread(l.ops)
	v := f.add("workload.arrivals.poisson", rate(total), Measured,
		"%s; as an open loop: what was completed is what was asked, unless it fell behind for good", l.rateOf)
	if !math.IsNaN(low) {
		mean := timeline.Mean(l.ops)
		v.between(total*low/mean, total*high/mean)
		v.Evidence += " (the range is of whole minutes)"
		if high > 2*max(low, mean/2) {
			f.remark("the load varies: minutes of %s/s to %s/s. A scenario with its mean is calmer than its peaks: fit a busy stretch by --from and --to", units.Number(*v.Low), units.Number(*v.High))
		}
	}
	l.shares = slices.DeleteFunc(l.shares, func(s share) bool { return s.rate < shareMin*total })
	total = 0
	for _, s := range l.shares {
		total += s.rate
	}
	// Shares are written in hundredths of a percent and must be 100 % together: the largest takes what rounding leaves.
	slices.SortStableFunc(l.shares, func(a, b share) int { return -cmp.Compare(a.rate, b.rate) })
	rest := 1.0
	for _, s := range l.shares[1:] {
		rest -= ratio(s.rate / total).number
	}
	for i, s := range l.shares {
		q := ratio(s.rate / total)
		if i == 0 {
			q = ratio(rest)
		}
		f.add("workload.mix."+s.kind, q, l.how, "%s", l.mixOf)
	}
	return nil
}

// spread is the least and the most rate of whole minutes, of nine in ten; NaN with fewer than three.
func (f *fitting) spread(ops []float64) (low, high float64) {
	cells := max(1, int(60/f.Grid.StepSeconds()))
	var minutes []float64
	for at := 0; at+cells <= len(ops); at += cells {
		part := ops[at : at+cells]
		if timeline.Count(part) >= cells/2 {
			minutes = append(minutes, timeline.Mean(part))
		}
	}
	if len(minutes) < 3 {
		return math.NaN(), math.NaN()
	}
	return timeline.Quantile(minutes, 0.05), timeline.Quantile(minutes, 0.95)
}

// connections leaves how many operations the engine may have at once to the default, or takes what it was told.
func (f *fitting) connections() {
	f.add("workload.connections", count(100), Assumed, "how many operations clients have under way at most; 100 taken, which is a MongoDB driver's maxPoolSize").
		left().measure("the pools' sizes of all clients together")
}

// skew says what cannot be known of keys.
func (f *fitting) skew() {
	f.add("workload.keys.distribution", word("uniform"), Assumed, "how unevenly keys are asked for; uniform taken, so that the number of keys is an effective one: hot keys look like fewer").left()
}

// distinct is how many things there are, if so many draws, uniform and independent, met so many different ones: the n of
// met = n (1 - exp(-draws / n)), by bisection. It is +Inf where nearly every draw met another one.
func distinct(met, draws float64) float64 {
	if !(met > 0) || !(draws > 0) {
		return math.NaN()
	}
	const told = 0.97 // from here on the number drowns in the noise
	if met >= told*draws {
		return math.Inf(1)
	}
	low, high := met, 1e3*draws
	for range 100 {
		n := (low + high) / 2
		if -n*math.Expm1(-draws/n) < met {
			low = n
		} else {
			high = n
		}
	}
	return (low + high) / 2
}
