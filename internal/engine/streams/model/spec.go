package model

import (
	_ "embed"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

//go:embed fields.json
var fieldDocs []byte

// Spec is what scenarios and the simulator know of I/O streams.
var Spec = scenario.Engine{
	Traits: engine.Traits{
		Key: "streams", Product: "I/O streams", Cycle: "checkpoint",
		Volumes: []engine.Role{{Name: "wal", OneOf: true, Log: true}, {Name: "data", OneOf: true},
			{Name: "journal", Log: true}},
		About:     "Streams is no database but the I/O that benchmark tools make. Volumes: wal, data, or both.",
		FieldDocs: fieldDocs,
	},
	NewConfig: func() scenario.Config {
		c := Defaults()
		return &c
	},
	NewModel: func(cfg scenario.Config, env *engine.Env) (engine.Model,
		error) {
		return New(*cfg.(*Config), *env)
	},
	Evidence: engine.Evidence{Measured: true,
		Text: "the volume's latency is calibrated on published measurements"},
}

// Ask asks for blocks of the file.
func (c *Config) Ask(w *workload.Spec) {
	if c.Block <= 0 {
		return // Check refuses it
	}
	w.AskDocuments(c.Block)
	w.AskKeys(uint64(max(c.Data/c.Block, 1)))
}

// Fill takes nothing.
func (*Config) Fill(*scenario.Filling) {}

// DataSize is not known: what is read and appended may take less than the volume.
func (*Config) DataSize() units.Size { return 0 }

// CacheSize is 0: there is none.
func (*Config) CacheSize() units.Size { return 0 }
