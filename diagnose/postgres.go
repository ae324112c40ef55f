package diagnose

import (
	"math"

	"plimsoll/rules"
	"plimsoll/timeline"
)

// A report that runs through a quiet night is no stall: completions are few because
// nobody asks. A transaction tells of a stall when it began about when the
// completions stopped, or when sessions pile up. postgres_exporter's own query is one of the
// active sessions, a report another: minPiledUp is one more.
const (
	minPiledUp    = 3
	aroundTheDrop = 2.0 // seconds, and a cell, between the drop and the transaction's begin
)

// postgresPressure is the age in seconds of the oldest transaction executing, where it
// speaks for a stall, and 0 where it does not; nil if no source tells it.
func postgresPressure(c *rules.Case) []float64 {
	oldest := c.One(rules.SignalPrefix + "postgres_oldest_transaction:seconds")
	commits := c.One(rules.SignalPrefix + "postgres_commits:rate")
	active := c.One(rules.SignalPrefix + "postgres_active:count")
	if oldest == nil || commits == nil {
		return oldest
	}
	var completing []float64
	for _, x := range commits {
		if x > 0 {
			completing = append(completing, x)
		}
	}
	usual := timeline.Quantile(completing, 0.5)
	busy := timeline.Where(commits, func(x float64) bool { return x >= throughputDrop*usual })
	usuallyActive := timeline.Quantile(timeline.At(active, busy), 0.5)
	step := c.Grid.StepSeconds()
	out := make([]float64, len(oldest))
	dropped := 0.0
	for k, age := range oldest {
		if dropped += step; busy[k] {
			dropped = 0
		}
		began := math.Abs(age-dropped) <= step+aroundTheDrop
		piled := active != nil && active[k] >= max(minPiledUp, usuallyActive)
		if began || piled {
			out[k] = age
		}
	}
	return out
}
