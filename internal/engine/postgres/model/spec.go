package model

import (
	"time"

	_ "embed"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

//go:embed fields.json
var fieldDocs []byte

// Spec describes PostgreSQL to scenarios and the simulator.
var Spec = scenario.Engine{
	Traits: database.Traits{
		Key: "postgres", Aliases: []string{"postgresql"}, Product: "PostgreSQL", Database: "postgres",
		Cycle:     "checkpoint",
		Volumes:   []database.Role{{Name: "data", Needed: true}, {Name: "wal", Log: true}},
		Cache:     "shared_buffers",
		About:     "Postgres is PostgreSQL 15. Volumes: data, and wal if the log has a separate volume.",
		FieldDocs: fieldDocs, Background: isCheckpointer, FileHint: relationOf,
	},
	ConfigKeys: configKeys,
	NewConfig: func() scenario.Config {
		c := Defaults()
		return &c
	},
	NewModel: func(cfg scenario.Config, env *database.Env) (database.Model,
		error) {
		return New(*cfg.(*Config), *env)
	},
	Evidence:    database.Evidence{Measured: true, Text: "below 10 ms a latency is a lower bound"},
	CyclePeriod: func(cfg scenario.Config) time.Duration { return cfg.(*Config).CheckpointTimeout.Std() },
	Loaded:      func(cfg scenario.Config) int64 { return cfg.(*Config).Rows },
	Queries: database.Queries{
		CycleMedian: "(increase(pg_stat_bgwriter_checkpoint_write_time_total[$span]) + increase(pg_stat_bgwriter_checkpoint_sync_time_total[$span])) / 1000",
		CycleNote:   "The recording has only their total time.",
	},
}

// tupleHeader is the size of a row's header in bytes (PostgreSQL 15 documentation, 73.6.1).
const tupleHeader = 24

// Ask sets the workload's documents: one per row, of a row's length.
func (c *Config) Ask(w *workload.Spec) {
	w.AskDocuments(max(c.Row-tupleHeader, 1))
	w.AskKeys(uint64(max(c.Rows, 0)))
}

// Fill derives rows from the workload, if the scenario does not set them: a row is a document and
// its header.
func (c *Config) Fill(from *scenario.Filling) {
	if n := from.Workload.Documents(); from.Omits("rows") && n > 0 {
		c.Rows = int64(min(n, 1<<40))
	}
	if from.Omits("row") {
		c.Row = from.Workload.DocumentSize() + tupleHeader
	}
}

// DataSize returns the size of the table.
func (c *Config) DataSize() units.Size { return c.Row.Times(uint64(max(c.Rows, 0))) }

// CacheSize returns shared_buffers.
func (c *Config) CacheSize() units.Size { return c.SharedBuffers }
