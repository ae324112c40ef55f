package fit

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/record/timeline"
)

// Cycles describes checkpoints, or the engine's equivalent.
type Cycles struct {
	PeriodS   float64 // median time between two ends; NaN with fewer than three ends
	DurationS float64 // median; NaN if unknown
	PauseS    float64 // from an end to the next start: period minus duration
	N         int     // number of observed ends
}

// Cycles finds the ends of cycles from a counter that increases at each end.
func (f *Fitting) Cycles(credited, last []float64) Cycles {
	ends := timeline.Where(credited, func(x float64) bool { return x > 0 })
	eps := ends.Episodes()
	c := Cycles{PeriodS: math.NaN(), DurationS: math.NaN(), N: len(eps)}

	// An increase at the boundary of two cells appears in both, so adjacent cells form one episode.
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

// Two returns the time of two periods.
func Two(periodS float64) time.Duration { return seconds(2 * periodS) }

// Every describes the requirement of two checkpoints.
func Every(periodS float64) string {
	return "two checkpoints, and there is one every " + units.Seconds(periodS)
}
