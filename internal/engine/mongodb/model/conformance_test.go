package model

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

// Reads, inserts and updates in a cache that is too small for them.
func TestConformance(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		volumes []string
		journal *bool
	}{{[]string{"data"}, &yes}, {[]string{"data", "journal"}, &yes}, {[]string{"data"}, &no}} {
		enginetest.Run(t, enginetest.Case{
			Volumes: tt.volumes,
			New: func(env database.Env) (database.Model, error) {
				cfg := Defaults()
				cfg.Journal = tt.journal
				cfg.Cache, cfg.Documents, cfg.DocumentSize, cfg.Indexes = 8*units.MB, 10_000, 2*units.KB, 1
				cfg.Checkpoint = units.Duration(10 * time.Second)
				return New(cfg, env)
			},
			Op: func(n uint64, chance *random.Stream) workload.Op {
				switch chance.Below(4) {
				case 0:
					return workload.Op{Kind: workload.Insert, Key: 10_000 + n, Size: 2000, Document: 2000}
				case 1:
					return workload.Op{Kind: workload.Read, Key: chance.Below(10_000), Size: 2000, Document: 2000}
				case 2:
					return workload.Op{Kind: workload.Push, Key: chance.Below(10_000), Size: 40, Document: 2040}
				}
				return workload.Op{Kind: workload.Update, Key: chance.Below(10_000), Size: 2000, Document: 2000}
			},
		})
	}
}

// The engine's account of its cache always equals the sum over its pages, and never exceeds its
// trigger for long. No block of a file is used twice.
func TestAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := lab()
		g.cfg.Cache = units.Size(rapid.IntRange(4, 64).Draw(t, "cache MB")) * units.MB
		g.cfg.Indexes = rapid.IntRange(0, 2).Draw(t, "indexes")
		oplog := rapid.Bool().Draw(t, "oplog")
		g.cfg.Oplog = &oplog
		g.cfg.Checkpoint = units.Duration(rapid.IntRange(1, 4).Draw(t, "checkpoint s")) * units.Duration(time.Second)
		g.load = workload.Spec{
			Arrivals: &workload.Arrivals{Poisson: hz(units.Frequency(rapid.IntRange(10, 200).Draw(t, "rate")))},
			Mix:      &workload.Mix{Update: 0.4, Insert: 0.3, Read: 0.3},
			Keys:     &workload.Keys{Count: 4000},
			Document: &workload.Document{Size: units.Size(rapid.IntRange(100, 40_000).Draw(t, "document"))},
		}

		b := g.run(&testing.T{}, 0, 8*time.Second)
		var memory, dirtyBytes, updates int64
		for _, tree := range b.engine.trees {
			owner := map[int32]bool{}
			for i := range tree.pages.count {
				p := tree.pages.at(i)
				if p.state&cached != 0 {
					memory += p.memory()
				} else if p.state&dirty != 0 || p.updates != 0 {
					t.Fatal("a dirty page is not in the cache")
				}

				if p.state&dirty != 0 {
					dirtyBytes += p.memory()
					if p.state&queued == 0 {
						t.Fatal("a dirty page is not queued for eviction")
					}
				}

				updates += int64(p.updates)
				for u := range int32(p.length) {
					if p.block >= 0 && owner[p.block+u] {
						t.Fatalf("block %d belongs to two pages", p.block+u)
					}
					owner[p.block+u] = true
				}
			}
		}

		e := b.engine
		if memory != e.memory || dirtyBytes != e.dirtyBytes || updates != e.updates {
			t.Fatalf("pages: %d in memory, %d dirty, %d updates; the engine has %d, %d, %d", memory, dirtyBytes, updates, e.memory, e.dirtyBytes, e.updates)
		}

		if len(b.unexpected) > 0 {
			t.Fatal(b.unexpected)
		}
	})
}
