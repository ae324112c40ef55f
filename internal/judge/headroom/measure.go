package headroom

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// growth is how use can grow.
type growth int

const (
	comesAndGoes growth = iota // a level that rises and falls by itself: only days are compared
	fills                      // storage: used space stays used
	drains                     // a bucket with a reported balance: the last hour counts
)

// A resource is a series of use and its limit.
type resource struct {
	key, title, subject, unit string
	used                      []float64
	limits                    []float64 // by cell, or one for all; nil: unknown
	from, text                string
	growth                    growth
	rate                      bool // the limit is one of a rate, so time at the limit is counted
	periodS                   float64
	ends                      *Ends // if already known, no trend is computed
	then                      string
}

const (
	// atLimit is the share of a limit above which a rate counts as being at the limit. Requests are
	// counted when they end, and a burst rarely fills its first and last interval.
	atLimit = 0.95
	// coarseS is the interval, in seconds, above which a mean can hide bursts of a few seconds.
	coarseS = 2.0
	// usualMost bounds the number of values used for a median.
	usualMost = 8192
)

func (r *resource) limit(k int) float64 {
	switch len(r.limits) {
	case 0:
		return math.NaN()
	case 1:
		return r.limits[0]
	}
	return r.limits[k]
}

// headroom reduces a resource to its figures; false if it was not measured.
func (r *resource) headroom(input *rules.Case) (Headroom, bool) {
	figures := Headroom{Resource: r.key, Title: r.title, Subject: r.subject, Unit: r.unit,
		LimitFrom: r.from, LimitText: r.text, IntervalS: max(r.periodS, input.Grid.StepSeconds())}
	if r.limits == nil {
		figures.LimitFrom = Unknown
	}

	ratios := make([]float64, len(r.used))
	best, top := -1, math.Inf(-1)
	for k, x := range r.used {
		// Servers report zero or a negative limit if there is none.
		ratios[k] = math.NaN()
		if limit := r.limit(k); limit > 0 {
			ratios[k] = x / limit
		}

		rank := ratios[k]
		if r.limits == nil {
			rank = x
		}

		if rank > top && !math.IsInf(rank, 0) {
			best, top = k, rank
		}
	}

	if best < 0 {
		return figures, false
	}

	figures.Most = &Use{Value: r.used[best], At: input.Grid.Time(best)}
	if r.limits == nil {
		return figures, true
	}

	limit, ratio, usual := r.limit(best), ratios[best], median(ratios)
	figures.Limit, figures.Most.Ratio = &limit, &ratio
	if !math.IsNaN(usual) && !math.IsInf(usual, 0) { // absurd limits have no usable median
		figures.UsualRatio = &usual
	}

	if r.rate {
		figures.Bursts = r.bursts(input, ratios)
		if figures.IntervalS > coarseS {
			figures.NotSeen = fmt.Sprintf("Bursts shorter than %s: that is the finest interval here.",
				units.Seconds(figures.IntervalS))
		}
	}

	if figures.Ends = r.ends; figures.Ends == nil {
		figures.Trend, figures.Ends = r.growing(input)
	}

	return figures, true
}

// median is computed from at most usualMost values, evenly spaced.
func median(values []float64) float64 {
	if len(values) <= usualMost {
		return timeline.Quantile(values, 0.5)
	}
	some := make([]float64, 0, usualMost)
	for i := range usualMost {
		some = append(some, values[i*len(values)/usualMost])
	}
	return timeline.Quantile(some, 0.5)
}

// bursts are the times at the limit.
func (r *resource) bursts(c *rules.Case, ratios []float64) *Bursts {
	at := timeline.Where(ratios, func(x float64) bool { return x >= atLimit })
	if at.Count() == 0 {
		return nil
	}
	return &Bursts{Seconds: c.Seconds(at), Episodes: len(at.Episodes()), LongestS: c.LongestS(at),
		PeriodS:     c.Period(at.Close(c.Cells(2 * time.Second))),
		MinuteRatio: highestMean(ratios, c.Cells(time.Minute))}
}

// highestMean is the highest mean of the given number of consecutive values, at least half of them
// known.
func highestMean(values []float64, cells int) float64 {
	var sum float64
	known, most := 0, 0.0

	cells = min(cells, len(values))
	for k, x := range values {
		if !math.IsNaN(x) {
			sum, known = sum+x, known+1
		}
		if k >= cells {
			if old := values[k-cells]; !math.IsNaN(old) {
				sum, known = sum-old, known-1
			}
		}
		if k >= cells-1 && 2*known >= cells && known > 0 {
			most = max(most, sum/float64(known))
		}
	}

	return most
}
