package model

import (
	_ "embed"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

//go:embed fields.json
var fieldDocs []byte

// Spec is I/O streams for scenarios and the simulator.
var Spec = scenario.Engine{
	Traits: database.Traits{
		Key: "streams", Product: "I/O streams", Cycle: "checkpoint",
		Volumes: []database.Role{{Name: "wal", OneOf: true, Log: true}, {Name: "data", OneOf: true},
			{Name: "journal", Log: true}},
		About:     "Streams is not a database but the I/O pattern of benchmark tools. Volumes: wal, data, or both.",
		FieldDocs: fieldDocs,
	},
	NewConfig: func() scenario.Config {
		c := Defaults()
		return &c
	},
	NewModel: func(cfg scenario.Config, env *database.Env) (database.Model,
		error) {
		return New(*cfg.(*Config), *env)
	},
	Evidence: database.Evidence{Measured: true,
		Text: "the volume's latency is calibrated on published measurements"},
}

// Ask requests blocks of the file.
func (c *Config) Ask(w *workload.Spec) {
	if c.Block <= 0 {
		return // Check rejects it
	}
	w.AskDocuments(c.Block)
	w.AskKeys(uint64(max(c.Data/c.Block, 1)))
}

// Fill takes nothing from the host or the workload.
func (*Config) Fill(*scenario.Filling) {}

// DataSize is unknown: reads and appends may use less than the volume.
func (*Config) DataSize() units.Size { return 0 }

// CacheSize is 0: there is no cache.
func (*Config) CacheSize() units.Size { return 0 }
