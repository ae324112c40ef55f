// Package judge holds what Plimsoll knows about etcd stalls: the signals it reads from recordings,
// the stall detector, and the rules with their test scripts.
package judge

import (
	"embed"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

//go:embed testdata/*.test
var scripts embed.FS

// Knowledge returns etcd's part of the rule pack.
func Knowledge() rules.Knowledge {
	return rules.Knowledge{
		Database: "etcd", Product: "etcd", Programs: []string{"etcd"},
		Anchor:  WALFsyncs,
		Signals: signals,
		Rules: []rules.Rule{walFsyncSlow(), walFsyncTail(), backendCommitSlow(), missesCriterion(), slowMember(),
			electionsWithoutDisk(), noSpace(), corrupt(), defragmentation(), slowApply(), compactionPauses(),
			snapshotSent(),
			loggedSlowSyncs(), loggedSlowRequests(), loggedNoSpace(), nothingLogged()},
		Scripts: scripts,
		Stalls:  stalls,
		Felt:    felt,
		Log:     rules.Log{Late: late, Serial: serial},
		Latencies: []rules.Latency{{Classes: WALFsyncClasses, Subject: "etcd WAL fdatasync"},
			{Classes: BackendCommitClasses, Subject: "etcd backend commits"}},
		Criteria: criteria,
		Bounds: []rules.Bound{{Resource: "backend_quota", Title: "backend quota", Used: DatabaseSize, Limit: Quota,
			Fills: true,
			Text:  "--quota-backend-bytes, as the member reports it",
			Then:  "the cluster refuses writes until it is compacted and defragmented and the alarm is disarmed"}},
		Compared: compared,
		Counters: counters,
		Providers: []rules.Provider{
			{Prefix: "etcd_log_", Ways: []rules.Way{{Kind: "etcd-log", Text: "etcd's log"}}},
			{Prefix: "etcd_", Ways: []rules.Way{{Text: "etcd's own /metrics"}}}},
		Exporter:  "its own /metrics",
		CoresHint: "GOMAXPROCS for etcd builds that use Go older than 1.25",

		Remedies: remedies, Client: client, Settings: []*rules.Signal{Quota},
	}
}

// late reports whether any member's p99 misses etcd's own criterion at the median.
func late(sig *rules.Signals) bool {
	worst := 0.0
	for _, t := range sig.Signal(WALFsyncP99) {
		if timeline.Count(t.Values) > 0 {
			worst = max(worst, timeline.Quantile(t.Values, 0.5))
		}
	}
	return worst > fsyncCriterionS
}

// serialFsync is the share of the time in fdatasync above which the WAL counts as the serial writer:
// one sync at a time.
const serialFsync = 0.6

func serial(sig *rules.Signals, cells timeline.Mask) []rules.Evidence {
	var out []rules.Evidence
	for _, t := range sig.Signal(WALFsyncTime) {
		if in := timeline.Quantile(timeline.At(t.Values, cells), 0.5); in >= serialFsync {
			fsync := sig.For(WALFsync, "instance", t.Labels.Get("instance"))
			out = append(out,
				sig.Figure("share of the time etcd's WAL spent in fdatasync", WALFsyncTime, in, "ratio", cells),
				sig.Figure("mean fdatasync of etcd's WAL", WALFsync, timeline.Quantile(timeline.At(fsync, cells), 0.5),
					"seconds", cells))
		}
	}
	return out
}
