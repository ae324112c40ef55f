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

// Spec is InterSystems IRIS for scenarios and the simulator.
var Spec = scenario.Engine{
	Traits: database.Traits{
		Key: "iris", Product: "InterSystems IRIS", Database: "iris", Cycle: "write daemon cycle",
		Volumes:   []database.Role{{Name: "data", Needed: true}, {Name: "wij"}, {Name: "journal", Log: true}},
		Cache:     "buffers",
		About:     "IRIS is an instance of InterSystems IRIS. Volumes: data, and wij and journal if they have their own.",
		FieldDocs: fieldDocs,
	},
	NewConfig: func() scenario.Config {
		c := Defaults()
		return &c
	},
	NewModel: func(cfg scenario.Config, env *database.Env) (database.Model,
		error) {
		return New(*cfg.(*Config), env)
	},
	Evidence:    database.Evidence{Text: "no instance of IRIS could be run: the model is based only on documentation and one published case"},
	CyclePeriod: func(cfg scenario.Config) time.Duration { return cfg.(*Config).Cycle.Std() },
	Queries: database.Queries{
		CycleMedian: "quantile_over_time(0.5, (iris_wd_cycle_time > 0)[$span:1s]) / 1000",
		CycleNote:   "The recording holds only the duration of the last cycle, so this median is weighted by time.",
	},
}

// Ask requests blocks of the databases.
func (c *Config) Ask(w *workload.Spec) {
	w.AskDocuments(BlockSize)
	w.AskKeys(uint64(max(c.Database/BlockSize, 1)))
}

// Fill makes the databases at least as large as the documents.
func (c *Config) Fill(from *scenario.Filling) {
	if from.Omits("database") {
		c.Database = max(c.Database, from.Workload.DocumentSize().Times(uint64(from.Workload.Documents())))
	}
}

// DataSize is the size of the databases.
func (c *Config) DataSize() units.Size { return c.Database }

// CacheSize is the size of the global buffers.
func (c *Config) CacheSize() units.Size { return c.Buffers }
