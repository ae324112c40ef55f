package headroom

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	slotsMost  = 100 // slots of a recording, for a slope
	slotsLeast = 10
	// daysLeast is how many days are needed to find growth in use that rises and falls: load varies
	// over a week.
	daysLeast  = 7
	dayCovered = 0.5
	dayShare   = 0.95 // quantile of a day's intervals that is compared between days
	// reducedMost bounds the values that slots are computed from, evenly spaced.
	reducedMost = 20_000
	// fillsLeastS is how long growth of storage must be observed, in seconds: a load that has just
	// started fills faster than it does later.
	fillsLeastS = 600.0
	// horizon limits extrapolation to this multiple of the observed time. widest limits the
	// interval of an end relative to the end itself: a wider interval is useless.
	horizon = 10
	widest  = 4
	normal  = 1.96 // 95 % of a normal distribution are within this many standard deviations
)

// growing returns a resource's trend and when its limit will be reached; nil if the recording does
// not support them.
func (r *resource) growing(c *rules.Case) (*Trend, *Ends) {
	var at, values []float64
	of := "used"

	least := slotsLeast
	switch r.growth {
	case fills:
		at, values = r.slots(c, c.Whole().From)
	case drains:
		present := max(presentS, presentPeriods*r.periodS)
		at, values = r.slots(c, c.Whole().To.Add(-time.Duration(present*float64(time.Second))))
	case comesAndGoes:
		if c.Whole().Seconds() < (daysLeast-2*(1-dayCovered))*daySeconds {
			return nil, nil
		}
		at, values = r.days(c)
		of, least = "95 % of each day's intervals", daysLeast
	}

	if len(values) < least {
		return nil, nil
	}

	slope, low, high := theilSen(at, values)
	// An interval that contains zero does not even show the direction.
	if !(low > 0) && !(high < 0) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return nil, nil // the slope may be zero
	}

	over := at[len(at)-1] - at[0]
	if r.growth == fills && over < fillsLeastS*(1-2.0/slotsMost) {
		return nil, nil
	}

	t := &Trend{PerS: slope, Low: low, High: high, OverS: over, Of: of}
	left := r.lastLimit() - r.lastLevel(values)
	// A limit that is far beyond the observed time is not predicted from it.
	if !(low > 0) || !(left > 0) || r.growth != drains && left/slope > horizon*over {
		return t, nil
	}

	// If the slowest growth takes many times longer than the estimate, no date can be given.
	if left/low > widest*left/slope {
		return t, nil
	}

	return t, &Ends{InS: left / slope, LowS: left / high, HighS: left / low, Then: r.then}
}

// lastLevel is the current use: the last value, or the median of the last three days.
func (r *resource) lastLevel(days []float64) float64 {
	if r.growth == comesAndGoes {
		return timeline.Quantile(days[max(0, len(days)-3):], 0.5)
	}
	for _, x := range slices.Backward(r.used) {
		if !math.IsNaN(x) {
			return x
		}
	}
	return math.NaN()
}

func (r *resource) lastLimit() float64 {
	for _, x := range slices.Backward(r.limits) {
		if !math.IsNaN(x) {
			return x
		}
	}
	return math.NaN()
}

// slots returns medians of equal stretches of time, with their middles in seconds.
func (r *resource) slots(c *rules.Case, from time.Time) (at, values []float64) {
	if from.Before(c.Whole().From) {
		from = c.Whole().From
	}
	length := max(c.Whole().To.Sub(from).Seconds()/slotsMost, r.periodS)
	return r.reduce(c, func(t time.Time) int { return int(math.Floor(t.Sub(from).Seconds() / length)) },
		length, 0, 0.5)
}

const daySeconds = 86400

// days returns a high quantile (dayShare) of the intervals of each day (UTC).
func (r *resource) days(c *rules.Case) (at, values []float64) {
	first := c.Whole().From.Truncate(daySeconds * time.Second)
	return r.reduce(c, func(t time.Time) int { return int(t.Sub(first) / (daySeconds * time.Second)) },
		daySeconds, dayCovered, dayShare)
}

// reduce returns a quantile of each slot with enough known values.
func (r *resource) reduce(c *rules.Case,
	slot func(time.Time) int, lengthS, covered, q float64) (at, values []float64) {
	var some []float64
	// A quantile of thousands of values is the same with every n-th of them.
	every := max(1, len(r.used)/reducedMost)
	now, step := 0, c.Grid.StepSeconds()*float64(every)
	end := func() {
		// Half a slot further: a value represents the middle of its slot.
		if x := timeline.Quantile(some, q); !math.IsNaN(x) && float64(len(some))*step >= covered*lengthS {
			at, values = append(at, (float64(now)+0.5)*lengthS), append(values, x)
		}
		some = some[:0]
	}

	for k := 0; k < len(r.used); k += every {
		x := r.used[k]
		if math.IsNaN(x) {
			continue
		}

		s := slot(c.Grid.Time(k))
		if s < 0 {
			continue // before the requested time
		}

		if s != now {
			end()
			now = s
		}

		some = append(some, x)
	}

	end()
	return at, values
}

// theilSen returns the median of all pairwise slopes and its 95 % confidence interval (P. K. Sen,
// Estimates of the regression coefficient based on Kendall's tau, 1968). Autocorrelated points
// count for less: the variance is that of the effective number of independent points, by the first
// autocorrelation of the residuals (Yue and Wang, 2004).
func theilSen(at, values []float64) (slope, low, high float64) {
	n := len(values)
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			slope := (values[j] - values[i]) / (at[j] - at[i])
			if at[j] > at[i] && !math.IsNaN(slope) && !math.IsInf(slope, 0) {
				slopes = append(slopes, slope)
			}
		}
	}

	if len(slopes) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}

	slices.Sort(slopes)
	slope = timeline.Quantile(slopes, 0.5)
	m := float64(n)
	grows := correlated(at, values, slope)
	variance := m * (m - 1) * (2*m + 5) / 18 * grows
	half := deviations(m/grows-2) * math.Sqrt(variance) / 2
	middle := float64(len(slopes)-1) / 2
	pick := func(i float64) float64 {
		return slopes[int(min(max(math.Round(i), 0), float64(len(slopes)-1)))]
	}

	// If half exceeds middle, the interval is wider than the range of slopes. The negated
	// comparison also catches NaN, from values whose squares overflow.
	if !(half <= middle) {
		return slope, math.Inf(-1), math.Inf(1)
	}

	return slope, pick(middle - half), pick(middle + half)
}

// correlated is the factor by which autocorrelation of the residuals increases the variance.
func correlated(at, values []float64, slope float64) float64 {
	residuals := make([]float64, len(values))
	for i, x := range values {
		residuals[i] = x - slope*at[i]
	}

	level := timeline.Quantile(residuals, 0.5)
	var with, all float64
	for i := range residuals {
		residuals[i] -= level
		all += residuals[i] * residuals[i]
		if i > 0 {
			with += residuals[i] * residuals[i-1]
		}
	}

	// Ignore residuals that are only rounding errors.
	if all <= 1e-18*float64(len(values))*level*level || all == 0 {
		return 1
	}

	const most = 0.98

	// Fitting the line removes some of the correlation, and much of it if there are few values.
	// Correct for that bias: M. van Giersbergen, On the effect of deterministic terms on the bias
	// in stable AR models, 2005.
	n := float64(len(values))
	rho := with / all
	if n > 4 {
		rho = (n*rho + 2) / (n - 4)
	}

	rho = min(max(rho, 0), most)
	return (1 + rho) / (1 - rho)
}

// deviations is the number of standard deviations that contain 95 % of a t distribution with the
// given degrees of freedom, by the first terms of its expansion (R. A. Fisher and E. A. Cornish,
// 1960). Below three degrees of freedom, the interval is treated as unbounded.
func deviations(freedom float64) float64 {
	if !(freedom >= 3) {
		return math.Inf(1)
	}
	z := normal
	return z + (z*z*z+z)/(4*freedom) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*freedom*freedom)
}
