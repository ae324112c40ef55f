// Package judge holds what Plimsoll knows about PostgreSQL stalls: the signals it reads from
// recordings, the stall detector, and the rules with their test scripts.
package judge

import (
	"embed"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

//go:embed testdata/*.test
var scripts embed.FS

// Knowledge returns PostgreSQL's part of the rule pack.
func Knowledge() rules.Knowledge {
	return rules.Knowledge{
		Database: "postgres", Product: "PostgreSQL", Programs: []string{"postgres"},
		Anchor: Commits,
		// A commit waits for a WAL flush; concurrent commits share one (xlog.c, XLogFlush).
		Synced: &rules.Synced{Does: "commits at most %s times per second",
			Source: "a commit waits for one WAL flush"},
		Signals: signals,
		Rules: []rules.Rule{commitStall(), checkpointsNotSeen(), lockWait(), standbyWait(), clientWait(),
			checkpointBurst(), checkpointRequested(), walFlush(), commitDelay(), walBuffers(), fullPageImages(),
			autovacuum(), tempFiles(), walKept(), backendWrites(), loggedCheckpoints(), loggedSlowStatements(),
			loggedFailures(), nothingLogged()},
		Scripts:   scripts,
		Stalls:    stalls,
		Felt:      felt,
		Waited:    waited,
		HeldUp:    heldUp,
		Cycle:     cycle,
		Cluster:   &cluster,
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
		AzureHosts: ".postgres.database.azure.com", AzureCommand: "postgres flexible-server",
		ManagedHosts: []string{".neon.tech", ".supabase.co"},
	}
}

// Throttled was measured on PostgreSQL 15 with the load of examples/scenarios/lab-postgres.yaml, in
// 60 s runs with two checkpoints (examples/throttling/measured.tsv, medians). An earlier run on
// ext4 showed the opposite: 1.88 s with writeback throttling, 0.60 s without.
var Throttled = []rules.Throttled{
	{Filesystem: "xfs", OnS: 0.124, OffS: 0.314, Where: "two checkpoints in 60 s, 3,000 IOPS and 48 MB/s"},
	{Filesystem: "ext4", OnS: 0.104, OffS: 0.348, Where: "two checkpoints in 60 s, 3,000 IOPS and 48 MB/s",
		Disagree: true},
}

// handed counts only the WAL: every byte of it is synced, but a page may be written several times
// before the kernel flushes it once.
func handed(sig *rules.Signals) []float64 { return sig.One(WALGenerated) }

// cycle returns the cells in which a checkpoint wrote or synced. PostgreSQL credits both times when
// the checkpoint ends; for one still running at the end of the recording, the cells are those in
// which the checkpointer was seen working, and its times are zero.
func cycle(sig *rules.Signals) (rules.Cycle, bool) {
	p, ok := findCheckpoints(sig)
	if !ok {
		return rules.Cycle{}, false
	}
	left := timeline.Max(sig.One(CheckpointFlushAfter)) == 0
	return rules.Cycle{Cells: p.all(), Took: p.both, Before: 1, After: 1, Flushes: "postgres/checkpoint-burst",
		Left: left}, true
}

// providers name what supplies each group of metrics. postgres_exporter's collectors are named if
// they are off by default (up to 0.20.1).
var providers = []rules.Provider{
	{Prefix: "postgres_log_", Ways: []rules.Way{{Kind: "postgres-log", Text: "PostgreSQL's log"}}},
	{Prefix: "pg_stat_checkpointer_",
		Ways: []rules.Way{{Text: "for PostgreSQL 17 and later postgres_exporter's --collector.stat_checkpointer (0.17.1)"}}},
	{Prefix: "pg_stat_wal_", Ways: []rules.Way{{Text: "postgres_exporter's --collector.stat_wal"}}},
	{Prefix: "plimsoll_postgres_", Ways: []rules.Way{{Kind: "postgres", Text: "a `postgres://` address"}}},
	{Prefix: "pg_", Ways: []rules.Way{{Text: "postgres_exporter's metrics"}}},
}
