package judge

import "plimsoll/internal/judge/rules"

// fsyncFloorS is the latency of a WAL's fdatasync from which it may be a stall: etcd's own
// criterion.
const fsyncFloorS = 0.010

// fsyncCeilingS is the latency from which it always is one: a write waits for half of the sync that is
// under way, on average, and then for its own.
const fsyncCeilingS = rules.StallCeilingS / 1.5

// felt are the signals that stalls reads.
var felt = []*rules.Signal{WALFsyncTime, WALFsyncs, BackendCommitTime, BackendCommits, ProposalsPending}

// commitFloorS is the same of a commit of the backend.
const commitFloorS = 0.025

// stalls are those of each member's WAL, and of its backend.
func stalls(sig *rules.Signals) []rules.Stall {
	var out []rules.Stall
	for _, t := range sig.Signal(WALFsyncTime) {
		member := t.Labels.Get("instance")
		out = append(out, rules.Found(rules.ByLatencyUpTo(sig.Time, fsyncFloorS, fsyncCeilingS, rules.Stall{Rule: "etcd/wal-fsync-slow", Subject: rules.SubjectOn("etcd WAL fdatasync", member),
			Class: rules.Syncing, IsDatabase: true, OfLog: true, Waiting: t.Values, Ops: sig.For(WALFsyncs, "instance", member),
			Of: []*rules.Signal{WALFsyncTime, WALFsyncs}, Queued: sig.For(ProposalsPending, "instance", member)}))...)
	}
	for _, t := range sig.Signal(BackendCommitTime) {
		member := t.Labels.Get("instance")
		out = append(out, rules.Found(rules.ByLatency(sig.Time, commitFloorS, rules.Stall{Rule: "etcd/backend-commit-slow", Subject: rules.SubjectOn("etcd backend commits", member), Class: rules.Committing,
			IsDatabase: true, OfLog: true, Aside: true, Waiting: t.Values, Ops: sig.For(BackendCommits, "instance", member),
			Of: []*rules.Signal{BackendCommitTime, BackendCommits}}))...)
	}
	return out
}
