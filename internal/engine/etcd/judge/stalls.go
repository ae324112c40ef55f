package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// fsyncCeilingS is the fdatasync latency above which the WAL is always stalled. A write waits on
// average for half of the sync in progress and then for its own: 1.5 syncs.
const fsyncCeilingS = rules.StallCeilingS / 1.5

// felt lists the signals used to detect stalls.
var felt = []*rules.Signal{WALFsyncTime, WALFsyncs, BackendCommitTime, BackendCommits,
	ProposalsPending, ProposalsCommitted, ProposalsApplied, Defragmenting, DefragmentTime,
	loggedSyncs.Running, loggedSyncs.Count, loggedSyncs.Longest, loggedWrites.Running, loggedWrites.Count,
	loggedWrites.Longest}

// waiting finds the time in which proposals waited on a member while few were applied, whatever the
// disk did: an election, a defragmentation, a member without CPU. Many pending proposals that are
// applied at the usual rate only mean a busy cluster. It is not ok if the member does not report
// pending proposals.
func waiting(sig *rules.Signals, member string) (rules.Stall, bool) {
	s := rules.Stall{Rule: "etcd/proposals-waiting", Subject: rules.SubjectOn("etcd proposals", member),
		Class: rules.Writing, IsDatabase: true, Aside: true,
		Of: []*rules.Signal{ProposalsPending, ProposalsApplied}}
	pending := sig.For(ProposalsPending, "instance", member)

	for _, done := range []*rules.Signal{ProposalsApplied, ProposalsCommitted} {
		if s.Ops == nil {
			s.Ops = sig.For(done, "instance", member)
		}
	}

	if pending == nil || s.Ops == nil {
		return s, false
	}

	s, ok := rules.ByThroughput(sig.Time, s, queue(pending, s.Ops), minPending)
	if !ok {
		return s, false
	}

	// A defragmenting member applies nothing, although the cluster may keep committing.
	held := timeline.Where(pending, func(x float64) bool { return x >= minPending })
	s.Cells = s.Cells.Or(defragmenting(sig, sig.Time, member).And(held)).And(s.Observed)
	return s, true
}

// queue returns the pending proposals of each cell that wait longer than usual, and 0 for a cell whose
// proposals do not. Pending proposals are counted at one instant. While the load pauses, only a few
// proposals are applied, and those that happen to be pending are not a queue: by Little's law they wait
// for pending / applied seconds.
//
// It decides before [rules.ByThroughput] joins stalled cells, because a cell in which a backlog drains
// passes no such test: many proposals are applied there.
func queue(pending, applied []float64) []float64 {
	out := make([]float64, len(pending))
	for k, x := range pending {
		if x >= rules.StallCeilingS*applied[k] {
			out[k] = x
		}
	}
	return out
}

// stalls finds the stalls of each member's WAL, backend and proposals.
func stalls(sig *rules.Signals) []rules.Stall {
	var out []rules.Stall
	for _, t := range sig.Signal(WALFsyncTime) {
		member := t.Labels.Get("instance")
		out = append(out, rules.Found(rules.ByLatencyUpTo(sig.Time, fsyncCriterionS, fsyncCeilingS,
			rules.Stall{Rule: "etcd/wal-fsync-slow", Subject: rules.SubjectOn("etcd WAL fdatasync", member),
				Class: rules.Syncing, IsDatabase: true, OfLog: true, Waiting: t.Values,
				Ops:    sig.For(WALFsyncs, "instance", member),
				Of:     []*rules.Signal{WALFsyncTime, WALFsyncs},
				Queued: sig.For(ProposalsPending, "instance", member)}))...)
	}

	for _, t := range sig.Signal(BackendCommitTime) {
		member := t.Labels.Get("instance")
		out = append(out, rules.Found(rules.ByLatency(sig.Time, commitCriterionS,
			rules.Stall{Rule: "etcd/backend-commit-slow", Subject: rules.SubjectOn("etcd backend commits", member),
				Class:      rules.Committing,
				IsDatabase: true, OfLog: true, Aside: true, Waiting: t.Values,
				Ops: sig.For(BackendCommits, "instance", member),
				Of:  []*rules.Signal{BackendCommitTime, BackendCommits}}))...)
	}

	for _, t := range sig.Signal(ProposalsPending) {
		out = append(out, rules.Found(waiting(sig, t.Labels.Get("instance")))...)
	}

	return append(out, loggedStalls(sig)...)
}
