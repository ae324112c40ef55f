package fit

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// Cycles are checkpoints, or the engine's equivalent.
type Cycles struct {
	PeriodS   float64 // median distance of two ends; NaN with fewer than two distances
	DurationS float64 // median; NaN if unknown
	PauseS    float64 // from an end to the next start: period minus duration
	N         int     // number of ends seen
}

// Cycles finds the ends of cycles from a counter that increases then.
func (f *Fitting) Cycles(credited, last []float64) Cycles {
	ends := timeline.Where(credited, func(x float64) bool { return x > 0 })
	eps := ends.Episodes()
	c := Cycles{PeriodS: math.NaN(), DurationS: math.NaN(), N: len(eps)}

	// An increase at the edge of a cell is in both cells.
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
		c.PeriodS = timeline.Quantile(gaps, 0.5)
	}

	c.DurationS = timeline.Quantile(took, 0.5)
	c.PauseS = c.PeriodS
	if !math.IsNaN(c.DurationS) {
		c.PauseS = max(c.PeriodS-c.DurationS, 0)
	}

	return c
}

// Two is the time of two periods, including the end before them.
func Two(periodS float64) time.Duration { return seconds(2 * periodS) }

// Every says in words that two checkpoints are needed.
func Every(periodS float64) string {
	return "two checkpoints, which come every " + units.Seconds(periodS)
}
