package scenario_test

import (
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/mongodb/model"
	postgres "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/model/scenario"
)

var spoken = scenario.NewLanguage([]*scenario.Engine{&model.Spec, &postgres.Spec}, nil)

const around = `plimsoll: 1
host: {cores: 4, memory: 16GiB}
volumes: {data: {type: gp3, size: 500GiB}}
workload: {preset: telemetry}
`

// An engine has several names, and its settings also have those of its configuration. All mean the same
// scenario.
func TestSpellings(t *testing.T) {
	want := `engine:
  mongodb:
    cache: 5GiB
    checkpoint: 30s
    journal_interval: 50ms
`
	for name, text := range map[string]string{
		"alias":     "engine:\n  wiredtiger: {cache: 5GiB, checkpoint: 30s, journal_interval: 50ms}\n",
		"nested":    "engine:\n  mongodb:\n    storage:\n      syncPeriodSecs: 30\n      journal: {commitIntervalMs: 50}\n      wiredTiger: {engineConfig: {cacheSizeGB: 5}}\n",
		"dotted":    "engine:\n  mongo:\n    storage.wiredTiger.engineConfig.cacheSizeGB: 5\n    storage.syncPeriodSecs: 30s\n    storage.journal.commitIntervalMs: 50\n",
		"last part": "engine: {mongodb: {cacheSizeGB: 5, syncPeriodSecs: 30, commitIntervalMs: 50}}\n",
		"ignored":   "engine: {mongodb: {net.port: 27017, storage: {dbPath: /data}, cache: 5GiB, checkpoint: 30s, journal_interval: 50ms}}\n",
	} {
		got, err := spoken.Parse(name, []byte(around+text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ref, err := spoken.Parse("want", []byte(around+want), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, w := scenario.ConfigOf[*model.Config](got), scenario.ConfigOf[*model.Config](ref)
		if c.Cache != w.Cache || c.Checkpoint != w.Checkpoint || c.JournalInterval != w.JournalInterval {
			t.Errorf("%s: cache %s, checkpoint %s, journal %s", name, c.Cache, c.Checkpoint, c.JournalInterval)
		}
		if got.Engine.Name() != "mongodb" {
			t.Errorf("%s: the engine is %q", name, got.Engine.Name())
		}
		if ignored := strings.Contains(warnings(got), "ignored"); ignored != (name == "ignored") {
			t.Errorf("%s: warnings %q", name, warnings(got))
		}
	}
}

func warnings(s *scenario.Scenario) (out string) {
	for _, w := range s.Warnings {
		out += w.String() + "\n"
	}
	return out
}

// Assignments may use a different engine name than the file, before and after it is read.
func TestSpellingsOfAssignments(t *testing.T) {
	text := around + "engine: {wiredtiger: {cache: 1GB}}\n"
	s, err := spoken.Parse("x", []byte(text), []string{"engine.wiredtiger.checkpoint=20s", "engine.mongodb.cacheSizeGB=2",
		"engine.mongodb.cache="})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.With(scenario.Set{Path: "engine.mongo.journal_interval", Value: "70ms"}); err != nil {
		t.Fatal(err)
	}
	c := scenario.ConfigOf[*model.Config](s)
	if c.Cache != 2*units.GiB || c.Checkpoint.Std().Seconds() != 20 || c.JournalInterval.Std().Milliseconds() != 70 {
		t.Errorf("cache %s, checkpoint %s, journal %s", c.Cache, c.Checkpoint, c.JournalInterval)
	}
}

// Bare numbers have the units of postgresql.conf.
func TestPostgresUnits(t *testing.T) {
	s, err := spoken.Parse("x", []byte(strings.Replace(around, "telemetry", "pgbench", 1)+`engine:
  postgresql: {shared_buffers: 262144, max_wal_size: 4096, checkpoint_timeout: 300, bgwriter_delay: 200, commit_delay: 10}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := scenario.ConfigOf[*postgres.Config](s)
	if c.SharedBuffers != 2*units.GiB || c.MaxWALSize != 4*units.GiB || c.CheckpointTimeout.Std().Minutes() != 5 ||
		c.BgwriterDelay.Std().Milliseconds() != 200 || c.CommitDelay.Std().Microseconds() != 10 {
		t.Errorf("%+v", *c)
	}
}

// For a misspelt key, the error names the nearest one. A key that is given twice is refused.
func TestSpellingMistakes(t *testing.T) {
	for engine, want := range map[string]string{
		"mongodb: {storage: {wiredTiger: {engineConfig: {cacheSizeGb5: 5}}}}": "did you mean storage.wiredTiger.engineConfig.cacheSizeGB?",
		"mongodb: {cach: 5GB}":                          "did you mean cache?",
		"mongodb: {cache: 5GB, cacheSizeGB: 5}":         "the same setting as cache",
		"mongodb: {cache: 5GB}, wiredtiger: {}":         "wiredtiger: unknown key",
		"mongodb: {cacheSizeGB: much}":                  "engine.mongodb.cache",
		"postgresql: {chekpoint_timeout: 300}":          "did you mean checkpoint_timeout?",
		"mongodb: {storage: 7}":                         "engine.mongodb.storage: unknown key",
		"postgresql: {shared_buffers: 1}":               "engine.postgres.shared_buffers",
		"mongodb: {storage: {syncPeriodSecs: [1, 2]}}}": "engine",
	} {
		_, err := spoken.Parse("x", []byte(around+"engine: {"+engine+"}\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", engine, err, want)
		}
	}
}
