package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// bounds are the limits of PostgreSQL's own: WAL and time between checkpoints, sessions, and the age
// from which tables are frozen whatever else is to be done.
var bounds = []rules.Bound{
	{Resource: "wal_since_checkpoint", Title: "WAL since the checkpoint", Used: WALGenerated,
		Level: sinceCheckpoint, Unit: "bytes", Limit: WALToCheckpoint,
		Text: "max_wal_size / (1 + checkpoint_completion_target)", Then: "a checkpoint begins before its time"},
	{Resource: "checkpoint_time", Title: "time of a checkpoint", Used: CheckpointWrite, Level: checkpointTook,
		Unit: "seconds", Limit: CheckpointTimeout,
		Text: "checkpoint_timeout; by design a checkpoint is paced to take checkpoint_completion_target of it",
		Then: "checkpoints follow one another without a pause"},
	{Resource: "connections", Title: "sessions", Used: Sessions, Limit: MaxConnections,
		Text: "max_connections, of which a few are kept for superusers", Then: "connections are refused"},
	{Resource: "freeze_age", Title: "age of unfrozen transactions", Used: UnfrozenAge, Limit: FreezeMaxAge,
		Text: "autovacuum_freeze_max_age",
		Then: "autovacuum reads whole tables to freeze them, whatever the load"},
}

// sinceCheckpoint is the WAL generated since a checkpoint began, from the first one on: PostgreSQL
// counts it when it begins. Where none is counted, nothing is known.
func sinceCheckpoint(sig *rules.Signals, generated []float64) []float64 {
	timed, requested := sig.One(CheckpointsTimed), sig.One(CheckpointsRequested)
	out := make([]float64, len(generated))

	sum, step := math.NaN(), sig.Grid.StepSeconds()
	for k, rate := range generated {
		began := timed != nil && timed[k] > 0 || requested != nil && requested[k] > 0
		switch {
		case began: // within the cell: what it holds belongs to the one before
			out[k], sum = sum+rate*step, 0
		case math.IsNaN(rate):
			out[k], sum = math.NaN(), math.NaN() // what was not measured may be anything
		default:
			sum += rate * step
			out[k] = sum
		}
	}

	return out
}

// checkpointTook is the time of each checkpoint, where it ended: its writing and its fsyncs are
// credited then, to the whole interval between two samples.
func checkpointTook(sig *rules.Signals, write []float64) []float64 {
	sync := sig.One(CheckpointSync)
	out, both := make([]float64, len(write)), make([]float64, len(write))
	for k := range write {
		if out[k], both[k] = math.NaN(), write[k]; sync != nil {
			both[k] += sync[k]
		}
	}
	for _, e := range timeline.Where(both, func(x float64) bool { return x > 0 }).Episodes() {
		out[e.Last] = timeline.Sum(both[e.First:e.Last+1]) * sig.Grid.StepSeconds()
	}
	return out
}
