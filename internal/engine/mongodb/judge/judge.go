// Package judge holds what Plimsoll knows about MongoDB stalls: the signals that it reads from
// recordings, the detectors of stalled time, the accounting of waits, and the rules with their test
// scripts.
package judge

import (
	"embed"
	"slices"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

//go:embed testdata/*.test
var scripts embed.FS

// captured is the diagnostic data that mongod records by itself.
var captured = rules.Way{Kind: "ftdc", Text: "a MongoDB diagnostic.data folder"}

// Knowledge returns what the rule pack needs from this package.
func Knowledge() rules.Knowledge {
	return rules.Knowledge{
		Database: "mongodb", Product: "MongoDB", Programs: []string{"mongod", "plimsoll-wiredt"},
		Anchor: CacheMax,
		// A write with j: true, which w: "majority" implies, waits for a sync of the journal.
		Synced: &rules.Synced{Does: "gets at most %s journaled writes per second",
			Source: "a write with j: true waits for one sync of the journal"},
		Signals: signals,
		Host:    hostSignals,
		Rules: []rules.Rule{
			slowWrites(),
			slowReads(),
			slowCommands(),
			slowApply(),
			sinceStart(),
			saturatedServer(),
			heldLock(),
			checkpointStall(),
			checkpointFiles(),
			journalStall(),
			pageReads(),
			pinnedSnapshot(),
			cachePressure(),
			appEviction(),
			ticketQueue(),
			writeAmplification(),
			flowControl(),
			writeConcernWait(),
			writeConflicts(),
			forcedEviction(),
			handleLocks(),
			backgroundRule(),
			collectionScans(),
			loggedSlowOperations(),
			loggedScansRule(),
			nothingLogged(),
		},
		Scripts:   scripts,
		Stalls:    stalls,
		Felt:      felt,
		Account:   account,
		HeldUp:    heldUp,
		Cycle:     cycle,
		Cluster:   &cluster,
		Log:       rules.Log{Syncing: syncing, Apart: apart, AlsoWaited: alsoWaited},
		Handed:    handed,
		Folder:    "dbpath",
		Throttled: Throttled,
		Latencies: []rules.Latency{{Classes: WriteClasses, Subject: "MongoDB writes"},
			{Classes: ReadClasses, Subject: "MongoDB reads"}},
		Bounds:   bounds,
		Plots:    []rules.Plot{{Title: "WiredTiger dirty", Signal: DirtyRatio}},
		Compared: compared,
		Counters: counters,
		Providers: []rules.Provider{
			{Prefix: "mongodb_log_", Ways: []rules.Way{{Kind: "mongod-log", Text: "mongod's log"}}},
			{Prefix: "mongodb_sys_", Ways: []rules.Way{captured}},
			{Prefix: "mongodb_", Ways: []rules.Way{captured, {Text: "mongodb_exporter's metrics"}}}},
		Exporter:  "percona/mongodb_exporter with --collector.diagnosticdata",
		CacheHint: "mongod: cacheSizeGB half of the limit",

		Remedies: remedies, Client: client,
		SettingFacts: []string{"parameter.", "cache_bytes", "journal_commit_interval_ms"},
		ManagedHosts: []string{".mongodb.net"},
	}
}

// cycle returns the cells in which checkpoints ran. The writers that waited for one are credited in
// the interval after it.
func cycle(sig *rules.Signals) (rules.Cycle, bool) {
	cells, ok := CheckpointCells(sig)
	if running := sig.One(loggedCheckpoints.Running); !ok && running != nil {
		// Only checkpoints of over 20 s are logged.
		return rules.Cycle{Cells: timeline.Where(running, func(x float64) bool { return x > 0 }), After: 1}, true
	}
	return rules.Cycle{Cells: cells, Took: sig.One(CheckpointTime), After: 1}, ok
}

// Throttled was measured on a mongod 5.0.7 with a cache of 1 GB and {w: majority, j: true}, in one
// run of 150 s each. Runs differ most on ext4; docs/rules/host-writeback-throttling.md lists them
// all.
var Throttled = []rules.Throttled{
	{Filesystem: "xfs", OnS: 0.129, OffS: 10.8, Where: "300 updates/s, 1,000 IOPS and 40 MiB/s"},
	{Filesystem: "ext4", OnS: 0.77, OffS: 6.49, Where: "300 updates/s, 1,000 IOPS and 40 MiB/s"},
}

// handed is the number of bytes that WiredTiger wrote to its data files and to its journal.
func handed(sig *rules.Signals) []float64 {
	blocks, journal := sig.One(BlocksWritten), sig.One(LogPayload)
	out := slices.Clone(blocks)
	for k, x := range journal {
		if k < len(out) && x > 0 {
			out[k] += x
		}
	}
	return out
}

// leastSyncS is the mean journal sync above which writes can stall. A write waits for the sync in
// progress and then for its own; if each takes less than half a stall, the sum is not a stall.
const leastSyncS = rules.StallFloorS / 2

// syncing is the share of each cell in which a journal sync was in progress that was long enough
// for clients to notice.
func syncing(sig *rules.Signals) []float64 {
	each, credit := sig.One(LogSync), slices.Clone(sig.One(LogSyncTime))
	for k := range credit {
		if k < len(each) && each[k] < leastSyncS {
			credit[k] = 0
		}
	}
	return sig.Credited(credit)
}
