package diagnose

import (
	"context"
	"math"
	"slices"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
)

// sumPeriodsS are the times in seconds of which exporters ask a provider for sums.
var sumPeriodsS = []float64{60, 300, 900, 3600}

const (
	// idleSlack is by how much the seconds without requests may exceed the time of the sum.
	idleSlack = 1.02
	// idleMost is the part of a minute that a volume is idle at some time, if the sums are of a minute.
	idleMost = 0.75
)

// sumsOf is of what time in seconds a provider's sums in a recording are; 0 if it has none. It is
// neither the time between two samples nor between two that differ: a minute's sum may be exported
// each five minutes, and the sum of five minutes be scraped each minute. Three things tell:
//
//  1. Seconds of requests per second are the mean number of requests in flight (Little's law), which
//     is reported as a mean.
//  2. The seconds without requests are no more than the time, and nearly so when little is asked for.
//  3. Else it is the time between two values that differ.
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
				some, err = h.reader.Samples(ctx, n, from, to)
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

// figures are the sum, the most and the number of values.
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

// nearest is the time of sums that is nearest in proportion.
func nearest(seconds float64, possible func(float64) bool) float64 {
	best := sumPeriodsS[0]
	for _, p := range sumPeriodsS {
		if possible(p) && (!possible(best) || math.Abs(math.Log(seconds/p)) < math.Abs(math.Log(seconds/best))) {
			best = p
		}
	}
	return best
}

// changesEvery is the median time in seconds between two values of a series that differ.
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
