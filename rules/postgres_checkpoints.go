package rules

import (
	"math"

	"plimsoll/timeline"
)

// PostgresCheckpoints is where a checkpoint wrote or synced: both times are
// credited when it ends.
func (c *Case) PostgresCheckpoints() (cells timeline.Mask, write, sync []float64, ok bool) {
	write = c.One(SignalPrefix + "postgres_checkpoint_write:ratio")
	sync = c.One(SignalPrefix + "postgres_checkpoint_sync:ratio")
	if write == nil || sync == nil {
		return nil, nil, nil, false
	}
	both := make([]float64, c.Grid.N)
	for k := range both {
		both[k] = write[k] + sync[k]
	}
	least := c.leastOfCell(0.3)
	return timeline.Where(c.Credited(both), func(x float64) bool { return x >= least }), write, sync, true
}

// checkpointCount is how many checkpoints there were, at least one: by PostgreSQL's own count
// where it tells (two that follow each other at once look like one), else by their runs.
func (c *Case) checkpointCount(cells timeline.Mask) float64 {
	step := c.Grid.StepSeconds()
	counted := (timeline.Sum(c.One(SignalPrefix+"postgres_checkpoints_requested:rate")) + timeline.Sum(c.One(SignalPrefix+"postgres_checkpoints_timed:rate"))) * step
	return max(1, math.Round(counted), float64(len(cells.Close(c.Cells(3e9)).Episodes())))
}
