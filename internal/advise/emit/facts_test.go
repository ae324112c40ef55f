package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/engine"
)

// No target of any engine emits a fact, neither alone nor together with a change.
func TestFactsAreEmittedByNoTarget(t *testing.T) {
	set, err := os.ReadFile("testdata/mongo.yaml")
	if err != nil {
		t.Fatal(err)
	}

	host := []string{"host.instance=r6i.2xlarge", "host.memory=24GiB", "host.dirty_background_bytes=16MB", "host.dirty_bytes=64MB", "host.wbt_lat_usec=0", "host.nr_requests=64", "host.mount_options=lazytime"}
	for _, tt := range []struct {
		file, key, of string // the container in the StatefulSet's manifest; "": no manifest
		facts         []string
		change        string
	}{
		{"telemetry.yaml", "mongodb", "mongo", []string{"volumes.data.size=900GiB", "volumes.data.iops=7000", "engine.mongodb.cache=9GB", "engine.mongodb.checkpoint=45s", "volumes.journal={type: gp3, size: 30GiB}"}, "engine.mongodb.eviction_dirty_target=3%"},
		{"telemetry.yaml", "mongodb", "mongo", []string{"volumes.data={type: hyperdisk-balanced, size: 500GiB, iops: 5000}", "host.instance="}, "engine.mongodb.eviction_dirty_target=3%"},
		{"telemetry.yaml", "mongodb", "mongo", []string{"volumes.data={type: premium-v2, size: 500GiB, iops: 5000}", "host.instance="}, "engine.mongodb.eviction_dirty_target=3%"},
		{"etcd.yaml", "etcd", "", []string{"volumes.data.size=90GiB", "engine.etcd.members=3", "members=", "engine.etcd.heartbeat=150ms", "engine.etcd.election=1500ms", "engine.etcd.quota=3GiB"}, "engine.etcd.batch_limit=3000"},
		{"postgres.yaml", "postgres", "", []string{"volumes.data.size=700GiB", "engine.postgres.shared_buffers=3GiB", "engine.postgres.max_wal_size=9GiB"}, "engine.postgres.checkpoint_timeout=11min"},
	} {
		text, err := os.ReadFile(filepath.Join("../../../examples/scenarios", tt.file))
		if err != nil {
			t.Skip("no example ", tt.file)
		}

		facts := tt.facts
		if !strings.Contains(strings.Join(facts, " "), "host.instance") {
			facts = append(append([]string{}, facts...), host...)
		}

		for _, sets := range [][]string{facts, append(append([]string{}, facts...), tt.change)} {
			l, err := (&emit.Request{File: tt.file, Text: string(text), Facts: facts, Sets: sets}).Transition(engine.All().Deployments())
			if err != nil {
				t.Fatalf("%s: %v", tt.file, err)
			}

			opt := emit.Options{Skip: true}
			path, _, _ := strings.Cut(tt.change, "=")

			for _, name := range targets(tt.key) {
				if opt.StatefulSet = nil; name == "kubernetes" && tt.of != "" {
					opt.StatefulSet, opt.StatefulSetFile = set, "mongo.yaml"
				}

				r, err := emit.Files(l, []string{name}, opt)
				if err == nil && len(sets) == len(facts) && name != "budget" { // which describes the layout, not its changes
					t.Errorf("%s, --target %s: it is emitted, and nothing changes", tt.file, name)
				}

				if err != nil {
					if text := err.Error(); !strings.Contains(text, "nothing to do") && !strings.Contains(text, "nothing to emit") {
						t.Errorf("%s, --target %s: %v", tt.file, name, err)
					}
					continue
				}

				for _, f := range r.Files {
					for _, fact := range facts {
						if of, _, _ := strings.Cut(fact, "="); strings.Contains(string(f.Text), of+": from") {
							t.Errorf("%s, --target %s: %s has the fact %s:\n%s", tt.file, name, f.Path, fact, f.Text)
						}
					}
				}
			}

			for _, c := range l.Changes() {
				if c.Path != path {
					t.Errorf("%s: %s is a change", tt.file, c)
				}
			}
		}
	}
}
