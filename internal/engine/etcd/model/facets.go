package model

import (
	_ "embed"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/workload"
)

// Facets are what scenarios and the simulator know of etcd.
type Facets struct{}

//go:embed fields.json
var fieldDocs []byte

// Traits are etcd's.
func (Facets) Traits() engine.Traits {
	return engine.Traits{
		Key: "etcd", Product: "etcd", Database: "etcd", Cycle: "backend commit",
		Volumes:   []engine.Role{{Name: "data", Needed: true}, {Name: "wal", Log: true}},
		Cache:     "",
		About:     "Etcd is a cluster. Volumes of each member: data, and wal if it has one of its own.",
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
	members := make([]Member, len(env.Members))
	for i := range members {
		m := &env.Members[i]
		members[i] = Member{Host: m.Host, WAL: m.Volume("wal", "data"), Data: m.Volume("data")}
	}
	return New(*cfg.(*Config), env, members)
}

// Evidence describes the measurements behind the model's error bar.
func (Facets) Evidence() simulate.Evidence {
	return simulate.Evidence{Measured: true, Text: "puts a second are within a factor of 1.5 of eighteen measured runs of etcd 3.6, of which eight set its CPU costs"}
}

// MemberCount is how many members there are.
func (c *Config) MemberCount() int { return c.Members }

// LeadingMember implements [simulate.Led].
func (c *Config) LeadingMember() int { return c.Leader }

// Queries implements [simulate.Queryable].
func (Facets) Queries() simulate.Queries {
	return simulate.Queries{
		CycleMedian: "histogram_quantile(0.5, sum by (le) (increase(etcd_disk_backend_commit_duration_seconds_bucket[$span])))",
	}
}

// Ask asks for nothing: a workload says what values are.
func (*Config) Ask(*workload.Spec) {}

// Fill takes nothing.
func (*Config) Fill(*scenario.Filling) {}

// DataSize is as far as the database grows.
func (c *Config) DataSize() units.Size { return c.Quota }

// CacheSize is 0: the database is mapped into memory.
func (*Config) CacheSize() units.Size { return 0 }
