// Package judge is what Plimsoll knows of how PostgreSQL stalls: the signals by which recordings of
// it are read, the detector of stalled time, and the rules with their test scripts.
package judge

import (
	"embed"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

//go:embed testdata/*.test
var scripts embed.FS

// Knowledge is what the pack takes from here.
func Knowledge() rules.Knowledge {
	return rules.Knowledge{
		Database: "postgres", Product: "PostgreSQL", Programs: []string{"postgres"},
		Anchor: Commits,
		// A commit waits for a flush of the WAL; commits at the same time share one (xlog.c, XLogFlush).
		Synced: &rules.Synced{Does: "commits at most %s times per second",
			Source: "a commit waits for one flush of the WAL"},
		Signals: signals,
		Rules: []rules.Rule{commitStall(), checkpointsNotSeen(), lockWait(), standbyWait(), clientWait(),
			checkpointBurst(), checkpointRequested(), walFlush(), commitDelay(), walBuffers(), fullPageImages(),
			autovacuum(), tempFiles(), walKept(), backendWrites()},
		Scripts:   scripts,
		Stalls:    stalls,
		Felt:      felt,
		HeldUp:    heldUp,
		Cycle:     cycle,
		Handed:    handed,
		Throttled: Throttled,
		Folder:    "server.data_directory",
		Bounds:    bounds,
		Compared:  compared,
		Providers: providers,
		Exporter:  "prometheus-community/postgres_exporter",
		CoresHint: "max_parallel_workers for PostgreSQL",
		CacheHint: "PostgreSQL: shared_buffers a quarter",

		Remedies: remedies, Client: client, SettingFacts: []string{"postgresql."}, Settings: settings,
		ManagedHosts: []string{".postgres.database.azure.com", ".neon.tech", ".supabase.co"},
	}
}

// Throttled was measured on PostgreSQL 15 with the load of examples/scenarios/lab-postgres.yaml, runs
// of 60 s with two checkpoints (examples/throttling/measured.tsv, medians). On ext4 an earlier run
// had shown the opposite: 1.88 s with it, 0.60 s without.
var Throttled = []rules.Throttled{
	{Filesystem: "xfs", OnS: 0.124, OffS: 0.314, Where: "two checkpoints in 60 s, 3,000 IOPS and 48 MB/s"},
	{Filesystem: "ext4", OnS: 0.104, OffS: 0.348, Where: "two checkpoints in 60 s, 3,000 IOPS and 48 MB/s",
		Disagree: true},
}

// handed is the WAL: each byte of it is synced, while a page may be written several times before the
// kernel flushes it once.
func handed(sig *rules.Signals) []float64 { return sig.One(WALGenerated) }

// cycle is where a checkpoint wrote or synced. Both times are credited when it ends: one that is
// still under way at the end of the recording took nothing yet, and its cells are those in which
// the checkpointer was seen at work.
func cycle(sig *rules.Signals) (rules.Cycle, bool) {
	p, ok := findCheckpoints(sig)
	if !ok {
		return rules.Cycle{}, false
	}
	took := make([]float64, len(p.write))
	for k := range took {
		took[k] = p.write[k] + p.sync[k]
	}
	left := timeline.Max(sig.One(CheckpointFlushAfter)) == 0
	return rules.Cycle{Cells: p.all(), Took: took, Before: 1, After: 1, Flushes: "postgres/checkpoint-burst",
		Left: left}, true
}

// providers name the collectors of postgres_exporter that are off by default (up to 0.20.1).
var providers = []rules.Provider{
	{Prefix: "pg_stat_checkpointer_",
		Ways: []rules.Way{{Text: "for PostgreSQL 17 and later postgres_exporter's --collector.stat_checkpointer (0.17.1)"}}},
	{Prefix: "pg_stat_wal_", Ways: []rules.Way{{Text: "postgres_exporter's --collector.stat_wal"}}},
	{Prefix: "plimsoll_postgres_", Ways: []rules.Way{{Kind: "postgres", Text: "a `postgres://` address"}}},
	{Prefix: "pg_", Ways: []rules.Way{{Text: "postgres_exporter's metrics"}}},
}
