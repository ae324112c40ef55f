package judge

import "plimsoll/internal/judge/rules"

// Signals of etcd's log (package etcdlog). The log has only slow calls, by fixed thresholds.
var (
	loggedSyncs = signals.Logged("etcd_logged_syncs", "etcd_log_slow_fdatasync",
		"WAL fdatasyncs of over 1 s", "instance")
	loggedWrites = signals.Logged("etcd_logged_writes", "etcd_log_slow_write",
		"requests that took over 100 ms to apply", "instance")
	loggedRanges = signals.Logged("etcd_logged_ranges", "etcd_log_slow_range",
		"read-only requests of over 100 ms", "instance")
	loggedHeartbeats = signals.Logged("etcd_logged_heartbeats", "etcd_log_late_heartbeat",
		"heartbeats that were sent late", "instance")
	loggedCompactions = signals.Logged("etcd_logged_compactions", "etcd_log_compaction",
		"compactions", "instance")
	LoggedLeaderChanges = signal("etcd_logged_leader_changes:rate", "1/s",
		"logged changes of the leader per second",
		`irate(etcd_log_leader_change_total[$w])`)
	LoggedLeaderLosses = signal("etcd_logged_leader_losses:rate",
		"1/s", "logged losses of the leader per second", `irate(etcd_log_leader_lost_total[$w])`)
	LoggedElections = signal("etcd_logged_elections:rate",
		"1/s", "elections that the member started, as logged, per second", `irate(etcd_log_election_total[$w])`)
	LoggedNoSpace = signal("etcd_logged_no_space:rate",
		"1/s", "log lines about the alarm NOSPACE per second", `irate(etcd_log_no_space_total[$w])`)
)

// loggedStalls finds the stalls in a log, unless the metrics show stalls of that length: they have the
// quick calls too.
func loggedStalls(sig *rules.Signals) []rules.Stall {
	var out []rules.Stall
	if !sig.Covers(WALFsyncTime) {
		out = append(out, rules.Found(sig.StallOf(loggedSyncs, 0.5, rules.Stall{Rule: "etcd/logged-slow-syncs",
			Subject: "etcd's logged WAL fdatasyncs", Class: rules.Syncing, OfLog: true}))...)
	}
	if !sig.Covers(ProposalsPending) {
		out = append(out, rules.Found(sig.StallOf(loggedWrites, 1, rules.Stall{Rule: "etcd/logged-slow-requests",
			Subject: "etcd's logged writes", Class: rules.Writing, Aside: true}))...)
	}
	return out
}
