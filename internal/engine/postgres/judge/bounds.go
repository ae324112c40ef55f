package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// bounds are PostgreSQL's own limits: WAL and time between checkpoints, sessions, and the age at
// which tables are frozen regardless of load.
var bounds = []rules.Bound{
	{Resource: "wal_since_checkpoint", Title: "WAL since the checkpoint", Used: WALGenerated,
		Level: sinceCheckpoint, Unit: "bytes", Limit: WALToCheckpoint,
		Text: "max_wal_size / (1 + checkpoint_completion_target)", Then: "a checkpoint begins early"},
	{Resource: "checkpoint_time", Title: "duration of a checkpoint", Used: CheckpointWrite,
		Level: checkpointTook,
		Unit:  "seconds", Limit: CheckpointTimeout,
		Text: "checkpoint_timeout; by design a checkpoint is paced to take checkpoint_completion_target of it",
		Then: "checkpoints run back to back"},
	{Resource: "connections", Title: "sessions", Used: Sessions, Limit: MaxConnections,
		Text: "max_connections, a few of which are reserved for superusers", Then: "connections are refused"},
	{Resource: "freeze_age", Title: "age of unfrozen transactions", Used: UnfrozenAge, Limit: FreezeMaxAge,
		Text: "autovacuum_freeze_max_age",
		Then: "autovacuum reads whole tables to freeze them, whatever the load"},
}

// sinceCheckpoint returns the WAL generated since the last checkpoint began. PostgreSQL counts a
// checkpoint when it begins, so the values are unknown (NaN) before the first one in the recording.
func sinceCheckpoint(sig *rules.Signals, generated []float64) []float64 {
	timed, requested := sig.One(CheckpointsTimed), sig.One(CheckpointsRequested)
	out := make([]float64, len(generated))

	sum, step := math.NaN(), sig.Grid.StepSeconds()
	for k, rate := range generated {
		began := timed != nil && timed[k] > 0 || requested != nil && requested[k] > 0
		switch {
		case began: // somewhere within the cell: its WAL is counted for the checkpoint before
			out[k], sum = sum+rate*step, 0
		case math.IsNaN(rate):
			out[k], sum = math.NaN(), math.NaN() // the gap may hold any amount of WAL
		default:
			sum += rate * step
			out[k] = sum
		}
	}

	return out
}

// checkpointTook returns each checkpoint's duration, in the cell in which it ended. PostgreSQL
// credits its write and fsync time only then, spread over the whole interval between two samples.
func checkpointTook(sig *rules.Signals, write []float64) []float64 {
	both := CheckpointTime(write, sig.One(CheckpointSync))
	out := make([]float64, len(write))
	for k := range out {
		out[k] = math.NaN()
	}
	for _, e := range timeline.Where(both, func(x float64) bool { return x > 0 }).Episodes() {
		out[e.Last] = timeline.Sum(both[e.First:e.Last+1]) * sig.Grid.StepSeconds()
	}
	return out
}
