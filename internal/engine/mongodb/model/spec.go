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

// Spec is MongoDB's engine for scenarios and the simulator.
var Spec = scenario.Engine{
	Traits: database.Traits{
		Key: "mongodb", Aliases: []string{"wiredtiger", "mongo"}, Product: "MongoDB", Database: "mongodb",
		Cycle: "checkpoint", KeptLog: "oplog",
		Volumes:   []database.Role{{Name: "data", Needed: true}, {Name: "journal", Log: true}},
		Cache:     "cache",
		About:     "WiredTiger is MongoDB's engine. Volumes: data, and journal if it has its own.",
		FieldDocs: fieldDocs,
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
	Evidence: database.Evidence{Measured: true,
		Text: "WiredTiger 3.2.1 and 11.3.1 had p99s of 0.8 to 1.4 times the model's in the six measured kinds of runs that stalled"},
	CyclePeriod: func(cfg scenario.Config) time.Duration { return cfg.(*Config).Checkpoint.Std() },
	Lacks:       func(cfg scenario.Config, volume string) bool { return cfg.(*Config).lacks(volume) },
	SourceFacts: func(cfg scenario.Config) map[string]string { return cfg.(*Config).sourceFacts() },
	Queries: database.Queries{
		CycleMedian: "quantile_over_time(0.5, (mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs > 0)[$span:1s]) / 1000",
		CycleNote:   "The recording holds only the duration of the last checkpoint, so this median is weighted by time.",
		DirtyMax:    "max_over_time(mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache[$span])",
	},
	DirtyMetric: dirtyMetric,
	Reporting: &database.Reporting{
		Figures: func(m database.Model) []database.Figure { return m.(*Engine).Figures() },
		Reset:   func(m database.Model) { m.(*Engine).ResetFigures() },
	},
}

// lacks reports whether a volume is unused: without a journal, there is nothing to put on its
// volume.
func (c *Config) lacks(volume string) bool {
	return volume == "journal" && !Enabled(c.Journal)
}

// Ask requires nothing, because a workload defines the documents.
func (*Config) Ask(*workload.Spec) {}

// Fill takes the collection from the workload and the default cache from the host, as mongod does.
func (c *Config) Fill(from *scenario.Filling) {
	// MongoDB manual, storage.wiredTiger.engineConfig.cacheSizeGB, 8.0: 50 % of (RAM - 1 GB), at
	// least 256 MB.
	if from.Omits("cache") {
		c.Cache = max((from.Host.Memory-units.GiB)/2, 256*units.MiB)
	}
	if from.Omits("documents") {
		c.Documents = uint64(from.Workload.Documents())
	}
	if from.Omits("document_size") {
		c.DocumentSize = from.Workload.DocumentSize()
		from.Blame("document_size", "workload.document.size")
	}
}

// DataSize is the size of the collection.
func (c *Config) DataSize() units.Size { return c.DocumentSize.Times(c.Documents) }

// CacheSize is cache_size.
func (c *Config) CacheSize() units.Size { return c.Cache }

// sourceFacts are a recording's facts about the deployment. In a real capture, a replica set has a
// name.
func (c *Config) sourceFacts() map[string]string {
	if !Enabled(c.Oplog) {
		return nil
	}
	return map[string]string{"replica_set": "simulated"}
}
