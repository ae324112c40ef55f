// Package judge is what Plimsoll knows of how etcd stalls: the signals by which recordings of it
// are read, the detector of stalled time, and the rules with their test scripts.
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
		Database: "etcd", Product: "etcd", Programs: []string{"etcd"},
		Anchor:  WALFsyncs,
		Signals: signals,
		Rules: []rules.Rule{walFsyncSlow(), walFsyncTail(), backendCommitSlow(), missesCriterion(), slowMember(),
			electionsWithoutDisk(), noSpace(), defragmentation(), slowApply(), compactionPauses(), snapshotSent()},
		Scripts: scripts,
		Stalls:  stalls,
		Felt:    felt,
		Log:     rules.Log{Late: late, Serial: serial},
		Latencies: []rules.Latency{{Classes: WALFsyncClasses, Subject: "etcd WAL fdatasync"},
			{Classes: BackendCommitClasses, Subject: "etcd backend commits"}},
		Criteria: criteria,
		Bounds: []rules.Bound{{Resource: "backend_quota", Title: "backend quota", Used: DatabaseSize, Limit: Quota,
			Fills: true,
			Text:  "--quota-backend-bytes, as the member reports",
			Then:  "the cluster takes no writes until it is compacted, defragmented and the alarm is disarmed"}},
		Compared:  compared,
		Counters:  counters,
		Providers: []rules.Provider{{Prefix: "etcd_", Ways: []rules.Way{{Text: "etcd's own /metrics"}}}},
		Exporter:  "its own /metrics",
		CoresHint: "GOMAXPROCS for etcd before it is built with Go 1.25",

		Remedies: remedies, Client: client, Settings: []*rules.Signal{Quota},
	}
}

// late reports whether some member's WAL misses etcd's own criterion at the median.
func late(sig *rules.Signals) bool {
	worst := 0.0
	for _, t := range sig.Signal(WALFsyncP99) {
		if timeline.Count(t.Values) > 0 {
			worst = max(worst, timeline.Quantile(t.Values, 0.5))
		}
	}
	return worst > fsyncCriterionS
}

// serialFsync is the part of the time in fdatasync from which the WAL is what is written one at a
// time.
const serialFsync = 0.6

func serial(sig *rules.Signals, cells timeline.Mask) []rules.Evidence {
	var out []rules.Evidence
	for _, t := range sig.Signal(WALFsyncTime) {
		if in := timeline.Quantile(timeline.At(t.Values, cells), 0.5); in >= serialFsync {
			fsync := sig.For(WALFsync, "instance", t.Labels.Get("instance"))
			out = append(out,
				sig.Figure("share of the time etcd's WAL was in fdatasync", WALFsyncTime, in, "ratio", cells),
				sig.Figure("mean fdatasync of etcd's WAL", WALFsync, timeline.Quantile(timeline.At(fsync, cells), 0.5),
					"seconds", cells))
		}
	}
	return out
}
