package fit

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// Cycles are checkpoints, or what an engine has of the kind.
type cycles struct {
	periodS   float64 // median distance of two ends; NaN with fewer than two distances
	durationS float64 // median; NaN if not told
	pauseS    float64 // from an end to the next start: period less duration
	n         int     // ends seen
	whole     timeline.Mask
}

// endings finds where cycles ended from a counter that is credited then.
func (f *fitting) endings(credited, last []float64) cycles {
	ends := timeline.Where(credited, func(x float64) bool { return x > 0 })
	eps := ends.Episodes()
	c := cycles{periodS: math.NaN(), durationS: math.NaN(), n: len(eps)}
	// A credit that falls on the edge of a cell is in both.
	var starts, gaps, took []float64
	for _, e := range eps {
		starts = append(starts, f.Grid.Time(e.First).Sub(f.Grid.Time(0)).Seconds())
		if last != nil && e.Last < len(last) && !math.IsNaN(last[e.Last]) {
			took = append(took, last[e.Last])
		}
	}
	for i := 1; i < len(starts); i++ {
		gaps = append(gaps, starts[i]-starts[i-1])
	}
	if len(gaps) >= 2 {
		c.periodS = timeline.Quantile(gaps, 0.5)
	}
	c.durationS = timeline.Quantile(took, 0.5)
	c.pauseS = c.periodS
	if !math.IsNaN(c.durationS) {
		c.pauseS = max(c.periodS-c.durationS, 0)
	}
	// Whole cycles are from the first end to the last.
	c.whole = make(timeline.Mask, f.Grid.N)
	if len(eps) >= 2 {
		for k := eps[0].Last + 1; k <= eps[len(eps)-1].Last; k++ {
			c.whole[k] = true
		}
	}
	return c
}

// two is the time of two periods, with the end of the one before them.
func two(periodS float64) time.Duration { return seconds(2 * periodS) }

func every(periodS float64) string {
	return "two checkpoints, which come every " + units.Seconds(periodS)
}
