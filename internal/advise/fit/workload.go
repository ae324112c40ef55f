package fit

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// A Share is a kind of operation with its rate.
type Share struct {
	Kind string  // in workload.mix
	Rate float64 // 1/s
}

// A Load is the workload as reported by an engine.
type Load struct {
	Shares []Share
	Ops    []float64 // the rate over time; nil: unknown
	How    Known     // of the mix
	RateOf string    // what was counted
	MixOf  string    // the evidence for the mix
}

// shareMin is the share below which a kind of operation is omitted from the mix.
const shareMin = 0.0005

// Arrivals adds the rate and the mix. It fails if there was no load.
func (f *Fitting) Arrivals(load Load) error {
	total := 0.0
	load.Shares = slices.DeleteFunc(load.Shares, func(s Share) bool { return !(s.Rate > 0) })

	for _, s := range load.Shares {
		total += s.Rate
	}

	const least = 1.0 / 86400 // as in package workload
	if total < least {
		return &MissingError{What: "a load: the database received no requests in this time",
			From: "choose a busy period: --from TIME --to TIME"}
	}

	low, high := f.spread(load.Ops)
	v := f.Add("workload.arrivals.poisson", rate(total), Measured,
		"%s; as an open loop: completed operations equal requested ones, unless the database kept falling behind",
		load.RateOf)

	// Scale the spread to the total, which may cover more operations than the series.
	if !math.IsNaN(low) {
		mean := timeline.Mean(load.Ops)
		v.Between(total*low/mean, total*high/mean)
		v.Evidence += " (the range is that of one-minute means)"
		if high > 2*max(low, mean/2) {
			f.Remark("the load varies between %s/s and %s/s (one-minute means). A scenario with the mean underestimates the peaks: fit a busy period with --from and --to",
				units.Number(*v.Low), units.Number(*v.High))
		}
	}

	load.Shares = slices.DeleteFunc(load.Shares, func(s Share) bool { return s.Rate < shareMin*total })
	total = 0
	for _, s := range load.Shares {
		total += s.Rate
	}

	// Shares are written in hundredths of a percent and must add up to 100 %, so the largest absorbs the
	// rounding error.
	slices.SortStableFunc(load.Shares, func(a, b Share) int { return -cmp.Compare(a.Rate, b.Rate) })
	rest := 1.0
	for _, s := range load.Shares[1:] {
		rest -= Ratio(s.Rate / total).number
	}

	for i, s := range load.Shares {
		q := Ratio(s.Rate / total)
		if i == 0 {
			q = Ratio(rest)
		}
		f.Add("workload.mix."+s.Kind, q, load.How, "%s", load.MixOf)
	}

	return nil
}

// spread returns the 5th and 95th percentile of one-minute means; NaN with fewer than three minutes.
func (f *Fitting) spread(ops []float64) (low, high float64) {
	cells := max(1, int(60/f.Grid.StepSeconds()))
	var minutes []float64
	for at := 0; at+cells <= len(ops); at += cells {
		part := ops[at : at+cells]
		// Skip minutes that are mostly unknown.
		if timeline.Count(part) >= cells/2 {
			minutes = append(minutes, timeline.Mean(part))
		}
	}
	if len(minutes) < 3 {
		return math.NaN(), math.NaN()
	}
	return timeline.Quantile(minutes, 0.05), timeline.Quantile(minutes, 0.95)
}

// Connections leaves the number of connections at the default, with the reason.
func (f *Fitting) Connections(why string) {
	f.Add("workload.connections", Count(100), Assumed, "%s",
		why).AsDefault().ToKnow("the total pool size of all clients")
}

// Skew adds the assumed distribution of keys, which metrics cannot show.
func (f *Fitting) Skew() {
	f.Add("workload.keys.distribution", Word("uniform"), Assumed,
		"distribution of accesses to keys; uniform assumed, so the number of keys is an effective number: with hot keys it is lower").AsDefault()
}

// Distinct estimates the number of distinct items, given that a number of uniform, independent draws hit
// met different ones. It solves met = n (1 - exp(-draws / n)) for n by bisection. The result is +Inf if
// nearly every draw hit a new item.
func Distinct(met, draws float64) float64 {
	if !(met > 0) || !(draws > 0) {
		return math.NaN()
	}

	const distinguishable = 0.97 // above this ratio, noise dominates the estimate
	if met >= distinguishable*draws {
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
