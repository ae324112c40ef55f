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

// Spec describes etcd to scenarios and the simulator.
var Spec = scenario.Engine{
	Traits: database.Traits{
		Key: "etcd", Product: "etcd", Database: "etcd", Cycle: "backend commit",
		Volumes:   []database.Role{{Name: "data", Needed: true}, {Name: "wal", Log: true}},
		About:     "Etcd is a cluster. Volumes of each member: data, and wal if the log has a separate volume.",
		FieldDocs: fieldDocs,
	},
	ConfigKeys: configKeys,
	NewConfig: func() scenario.Config {
		c := Defaults()
		return &c
	},
	NewModel: newModel,
	Evidence: database.Evidence{Measured: true,
		Text: "puts per second are within a factor of 1.5 of eighteen measured runs of etcd 3.6, eight of which set its CPU costs"},
	Cluster: &scenario.Cluster{
		Members: func(cfg scenario.Config) int { return cfg.(*Config).Members },
		Leader:  func(cfg scenario.Config) int { return cfg.(*Config).Leader },
	},
	Queries: database.Queries{
		CycleMedian: "histogram_quantile(0.5, sum by (le) (increase(etcd_disk_backend_commit_duration_seconds_bucket[$span])))",
	},
}

func newModel(cfg scenario.Config, env *database.Env) (database.Model, error) {
	members := make([]Member, len(env.Members))
	for i := range members {
		m := &env.Members[i]
		members[i] = Member{Host: m.Host, WAL: m.Volume("wal", "data"), Data: m.Volume("data")}
	}
	return New(*cfg.(*Config), env, members)
}

// Ask sets nothing: the workload defines the values.
func (*Config) Ask(*workload.Spec) {}

// Fill derives nothing from the workload.
func (*Config) Fill(*scenario.Filling) {}

// DataSize returns the size up to which the database grows.
func (c *Config) DataSize() units.Size { return c.Quota }

// CacheSize returns 0: the database is mapped into memory.
func (*Config) CacheSize() units.Size { return 0 }
