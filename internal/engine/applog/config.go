package applog

import (
	_ "embed"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/parts"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/workload"
)

// A Config holds the engine's settings in a scenario.
type Config struct {
	// Compaction is the time from the end of one compaction to the start of the next.
	Compaction units.Duration `yaml:"compaction"`
	// Live is the data that a compaction rewrites.
	Live units.Size `yaml:"live"`
}

// compactionMin is the shortest time between compactions.
const compactionMin = time.Second

// Check reports impossible values.
func (c *Config) Check() inputerror.List {
	var l inputerror.List
	if c.Compaction.Std() < compactionMin {
		l = append(l, inputerror.Problem{
			Field: "compaction", Text: c.Compaction.Std().String() + " is too short",
			Limit: "1s at least", Nearest: compactionMin.String(),
		})
	}
	if c.Live < units.MiB {
		l = append(l, inputerror.Problem{Field: "live", Text: c.Live.Exact() + " is too little",
			Limit: "1MiB at least", Nearest: "1MiB"})
	}
	return l
}

// DataSize is the log before and after a compaction.
func (c *Config) DataSize() units.Size { return 2 * c.Live }

// CacheSize is 0: there is only the page cache.
func (*Config) CacheSize() units.Size { return 0 }

// Ask requests documents of 1 KiB, as many as are live.
func (c *Config) Ask(w *workload.Spec) {
	w.AskDocuments(units.KiB)
	w.AskKeys(uint64(max(c.Live/units.KiB, 1)))
}

// Fill takes nothing from the host or the workload.
func (*Config) Fill(*scenario.Filling) {}

//go:embed fields.json
var fieldDocs []byte

// Engine is the append-only log.
var Engine = parts.Engine{
	Engine: scenario.Engine{
		Traits: database.Traits{
			Key: "applog", Product: "Append-only log", Database: "applog", Cycle: "compaction",
			Volumes:   []database.Role{{Name: "data", Needed: true}, {Name: "log", Log: true}},
			About:     "Applog is an append-only log with a periodic compaction. Volumes: data, and log if it has its own.",
			FieldDocs: fieldDocs,
		},
		NewConfig: func() scenario.Config {
			return &Config{Compaction: units.Duration(30 * time.Second), Live: 256 * units.MiB}
		},
		NewModel: func(cfg scenario.Config, env *database.Env) (database.Model,
			error) {
			return newModel(cfg.(*Config), env)
		},
		CyclePeriod: func(cfg scenario.Config) time.Duration { return cfg.(*Config).Compaction.Std() },
		Evidence:    database.Evidence{Text: "the engine exists in tests only"},
	},
	Rules: knowledge,
	Plan:  profile,
}
