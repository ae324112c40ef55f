package model

import (
	"time"

	_ "embed"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/workload"
)

// Facets are what scenarios and the simulator know of MongoDB.
type Facets struct{}

//go:embed fields.json
var fieldDocs []byte

// Traits are MongoDB's.
func (Facets) Traits() engine.Traits {
	return engine.Traits{
		Key: "wiredtiger", Product: "MongoDB", Database: "mongodb", Cycle: "checkpoint",
		Volumes:   []engine.Role{{Name: "data", Needed: true}, {Name: "journal", Log: true}},
		Cache:     "cache",
		About:     "WiredTiger is MongoDB's engine. Volumes: data, and a journal if it has one of its own.",
		FieldDocs: fieldDocs,
	}
}

// NewConfig makes the settings with their defaults.
func (Facets) NewConfig() scenario.Config {
	c := Defaults()
	return &c
}

// NewModel makes the model.
func (Facets) NewModel(cfg scenario.Config, env *engine.Env) (engine.Model, error) {
	return New(*cfg.(*Config), *env)
}

// CyclePeriod implements [simulate.Periodic].
func (Facets) CyclePeriod(cfg scenario.Config) time.Duration { return cfg.(*Config).Checkpoint.Std() }

// Evidence describes the measurements behind the model's error bar.
func (Facets) Evidence() simulate.Evidence {
	return simulate.Evidence{Measured: true, Text: "WiredTiger 3.2.1 and 11.3.1 had p99s of 0.8 to 1.4 times the model's in the six measured kinds of runs that stalled"}
}

// Lacks reports that there is no journal to put on a separate volume.
func (c *Config) Lacks(volume string) bool {
	return volume == "journal" && c.Journal != nil && !*c.Journal
}

// Queries implements [simulate.Queryable].
func (Facets) Queries() simulate.Queries {
	return simulate.Queries{
		CycleMedian: "quantile_over_time(0.5, (mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs > 0)[$span:1s]) / 1000",
		CycleNote:   "The recording holds only the duration of the last one, so this median is weighted by time.",
		DirtyMax:    "max_over_time(mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache[$span])",
	}
}

// Ask asks for nothing: a workload says what documents are.
func (*Config) Ask(*workload.Spec) {}

// Fill takes the collection from the workload and mongod's default cache from the host.
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

// DataSize is the collection's.
func (c *Config) DataSize() units.Size { return c.DocumentSize.Times(c.Documents) }

// CacheSize is cache_size.
func (c *Config) CacheSize() units.Size { return c.Cache }

// SourceFacts are what a recording says of the deployment: a replica set has a name in a real
// capture.
func (c *Config) SourceFacts() map[string]string {
	if c.Oplog != nil && !*c.Oplog {
		return nil
	}
	return map[string]string{"replica_set": "simulated"}
}
