package model

import (
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Case{
		Volumes: []string{"data", "wal"},
		New: func(env database.Env) (database.Model, error) {
			cfg := Defaults()
			cfg.SharedBuffers, cfg.MaxConnections = 8*units.MiB, 50
			cfg.Rows = 300_000
			cfg.CheckpointTimeout = units.Duration(30 * time.Second)
			return New(cfg, env)
		},
		Op: func(_ uint64, chance *random.Stream) workload.Op {
			return workload.Op{Kind: workload.Kind(chance.Below(workload.Kinds)), Key: chance.Below(300_000)}
		},
	})
}
