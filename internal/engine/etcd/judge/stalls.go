package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// fsyncFloorS is the latency of a WAL's fdatasync from which it may be a stall: etcd's own
// criterion.
const fsyncFloorS = 0.010

// fsyncCeilingS is the latency from which it always is one: a write waits for half of the sync that is
// under way, on average, and then for its own.
const fsyncCeilingS = rules.StallCeilingS / 1.5

// felt are the signals that stalls reads.
var felt = []*rules.Signal{WALFsyncTime, WALFsyncs, BackendCommitTime, BackendCommits,
	ProposalsPending, ProposalsCommitted, ProposalsApplied, Defragmenting, DefragmentTime}

// commitFloorS is the same of a commit of the backend.
const commitFloorS = 0.025

// waiting finds when proposals waited on a member while few were applied, whatever its disk did: an
// election, a defragmentation, a member without CPU. Many pending proposals that are applied as usual
// are a busy cluster. It returns false if the member reports no pending proposals.
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

	s, ok := rules.ByThroughput(sig.Time, s, pending, waitingLeast)
	if !ok {
		return s, false
	}

	// Pending proposals are counted at one moment. In an interval in which the load paused, a few
	// proposals are applied, and those that happen to be pending are not a queue: by Little's law they
	// wait no longer than usual.
	for k, applied := range s.Ops {
		s.Cells[k] = s.Cells[k] && pending[k] >= rules.StallCeilingS*applied
	}

	// A member that defragments applies nothing, though the cluster may commit.
	held := timeline.Where(pending, func(x float64) bool { return x >= waitingLeast })
	s.Cells = s.Cells.Or(defragmenting(sig, sig.Time, member).And(held)).And(s.Observed)
	return s, true
}

// stalls are those of each member's WAL, of its backend and of its proposals.
func stalls(sig *rules.Signals) []rules.Stall {
	var out []rules.Stall
	for _, t := range sig.Signal(WALFsyncTime) {
		member := t.Labels.Get("instance")
		out = append(out, rules.Found(rules.ByLatencyUpTo(sig.Time, fsyncFloorS, fsyncCeilingS,
			rules.Stall{Rule: "etcd/wal-fsync-slow", Subject: rules.SubjectOn("etcd WAL fdatasync", member),
				Class: rules.Syncing, IsDatabase: true, OfLog: true, Waiting: t.Values,
				Ops:    sig.For(WALFsyncs, "instance", member),
				Of:     []*rules.Signal{WALFsyncTime, WALFsyncs},
				Queued: sig.For(ProposalsPending, "instance", member)}))...)
	}

	for _, t := range sig.Signal(BackendCommitTime) {
		member := t.Labels.Get("instance")
		out = append(out, rules.Found(rules.ByLatency(sig.Time, commitFloorS,
			rules.Stall{Rule: "etcd/backend-commit-slow", Subject: rules.SubjectOn("etcd backend commits", member),
				Class:      rules.Committing,
				IsDatabase: true, OfLog: true, Aside: true, Waiting: t.Values,
				Ops: sig.For(BackendCommits, "instance", member),
				Of:  []*rules.Signal{BackendCommitTime, BackendCommits}}))...)
	}

	for _, t := range sig.Signal(ProposalsPending) {
		out = append(out, rules.Found(waiting(sig, t.Labels.Get("instance")))...)
	}

	return out
}
