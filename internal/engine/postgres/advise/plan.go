package advise

import (
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/engine/postgres/judge"
	"plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/model/scenario"
)

// Plan returns the properties of a scenario that matter to a plan.
func Plan(sc *scenario.Scenario) plan.Profile {
	c := sc.Engine.Config.(*model.Config)
	var paced []plan.Value
	if c.CheckpointCompletionTarget < 0.9 {
		paced = append(paced, plan.Value{Key: "checkpoint_completion_target", Value: "0.9"})
	}

	if c.CheckpointFlushAfter == 0 {
		paced = append(paced, plan.Value{Key: "checkpoint_flush_after", Value: "256KiB"})
	}

	return plan.Profile{
		Settings: []plan.Setting{
			{Name: "checkpoint_completion_target", Values: paced},
			// Less frequent checkpoints need room for more WAL.
			{Name: "checkpoint_timeout", Values: []plan.Value{
				{Key: "checkpoint_timeout", Value: (2 * c.CheckpointTimeout).Std().String()},
				{Key: "max_wal_size", Value: (2 * c.MaxWALSize).Exact()},
			}},
			plan.CacheSetting("shared_buffers", c.SharedBuffers, sc.Host.Memory/4),
		},
		// Room for the WAL between checkpoints, and as much again for what max_wal_size does not
		// bound: slots and archiving.
		ExtraVolumes: []plan.ExtraVolume{plan.NewExtraVolume("wal", 2*c.MaxWALSize)},
		LogWait:      c.SynchronousCommit, Throttling: rules.Throttling(judge.Throttled),
		KeptLog: c.MaxWALSize, KeptLogHow: "max_wal_size",
	}
}
