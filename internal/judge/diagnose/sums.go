package diagnose

import (
	"context"
	"math"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// sumPeriodsS are the periods, in seconds, for which exporters query a provider's sums.
var sumPeriodsS = []float64{60, 300, 900, 3600}

const (
	// idleSlack is the factor by which the seconds without requests may exceed the period of the
	// sum.
	idleSlack = 1.02
	// idleMost is the share of a minute: a larger idle time means that the sums cover at least a
	// minute.
	idleMost = 0.75
)

// sumsOf returns the period in seconds that a provider's sums in a recording cover; 0 if it has none.
// The sampling period does not show it, nor does the time between changes: a one-minute sum may be
// exported every five minutes, and a five-minute sum may be scraped every minute. It is inferred from:
//
//  1. Little's law: request-seconds per second equal the mean number of requests in flight, which is
//     reported as a mean.
//  2. Idle seconds: they cannot exceed the period, and approach it under light load.
//  3. Otherwise, the time between two different values.
func sumsOf(ctx context.Context, h held, from, to time.Time) (float64, error) {
	of := rules.ProviderSums
	all := slices.Concat(of.Seconds, []string{of.Idle}, of.Others)
	if !slices.ContainsFunc(all, func(n string) bool { return h.names[n] }) {
		return 0, nil
	}

	samples := func(names ...string) (out []recording.Series, err error) {
		for _, n := range names {
			if h.names[n] && err == nil {
				var some []recording.Series
				some, err = h.reader.Samples(ctx, recording.MetricSelector(n), from, to)
				out = append(out, some...)
			}
		}
		return out, err
	}

	seconds, err := samples(of.Seconds...)
	if err != nil {
		return 0, err
	}

	flight, err := samples(of.InFlight)
	if err != nil {
		return 0, err
	}

	idle, err := samples(of.Idle)
	if err != nil {
		return 0, err
	}

	changing, err := samples(of.Others...)
	if err != nil {
		return 0, err
	}

	_, mostIdle, _ := figures(idle)
	least := func(period float64) bool { return period*idleSlack >= mostIdle }
	sum, _, n := figures(seconds)

	inFlight, _, m := figures(flight)
	if n > 0 && m > 0 && inFlight > 0 && sum > 0 {
		// Each volume has a series for reads and one for writes, and one of its queue.
		return nearest(sum/inFlight*float64(m*len(of.Seconds))/float64(n), least), nil
	}

	if mostIdle > sumPeriodsS[0]*idleMost {
		return sumPeriodsS[max(0, slices.IndexFunc(sumPeriodsS, least))], nil
	}

	return nearest(changesEvery(slices.Concat(changing, seconds, idle)), least), nil
}

// figures returns the sum, the maximum and the number of values.
func figures(series []recording.Series) (sum, most float64, n int) {
	for _, s := range series {
		for _, p := range s.Points {
			if !math.IsNaN(p.F) {
				sum, most, n = sum+p.F, max(most, p.F), n+1
			}
		}
	}
	return sum, most, n
}

// nearest returns the possible period that is nearest in ratio.
func nearest(seconds float64, possible func(float64) bool) float64 {
	best := sumPeriodsS[0]
	for _, p := range sumPeriodsS {
		if possible(p) && (!possible(best) || math.Abs(math.Log(seconds/p)) < math.Abs(math.Log(seconds/best))) {
			best = p
		}
	}
	return best
}

// changesEvery is the median time in seconds between changes of a series' value.
func changesEvery(series []recording.Series) float64 {
	var between []int64
	for _, s := range series {
		last := int64(-1)
		for i, p := range s.Points {
			if i > 0 && p.F == s.Points[i-1].F {
				continue
			}
			if last >= 0 {
				between = append(between, p.T-last)
			}
			last = p.T
		}
	}

	if len(between) == 0 {
		return sumPeriodsS[0]
	}

	slices.Sort(between)
	return float64(between[len(between)/2]) / 1000
}
