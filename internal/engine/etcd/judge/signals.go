package judge

import "plimsoll/internal/judge/rules"

// signals are all signals of this package.
var signals rules.Group

func signal(name, unit, help string, exprs ...string) *rules.Signal {
	return signals.Add(rules.Signal{Name: rules.SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs,
		By: []string{"instance"}})
}

// Signals of etcd. The instance label distinguishes members if several are read. Quantiles of
// histograms cover 30 s: one second has too few observations, and the buckets (1 ms x 2^n) have no
// boundary at 10 ms. etcd 2.3 called its histogram etcd_wal_fsync_durations_seconds
// (wal/metrics.go); 3.0.0 renamed it and added the backend's.
var (
	WALFsyncP99 = signal("etcd_wal_fsync_p99:seconds",
		"seconds", "99th percentile of the WAL's fdatasync over 30 s",
		`histogram_quantile(0.99, sum by (le, instance) (rate(etcd_disk_wal_fsync_duration_seconds_bucket[30s])))`,
		`histogram_quantile(0.99, sum by (le, instance) (rate(etcd_wal_fsync_durations_seconds_bucket[30s])))`)
	WALFsync = signal("etcd_wal_fsync:seconds", "seconds", "mean duration of the WAL's fdatasyncs",
		`irate(etcd_disk_wal_fsync_duration_seconds_sum[$w]) / irate(etcd_disk_wal_fsync_duration_seconds_count[$w])`,
		`irate(etcd_wal_fsync_durations_seconds_sum[$w]) / irate(etcd_wal_fsync_durations_seconds_count[$w])`)
	WALFsyncTime = signal("etcd_wal_fsync_time:ratio", "s/s", "share of the time the WAL was in fdatasync",
		`irate(etcd_disk_wal_fsync_duration_seconds_sum[$w])`,
		`irate(etcd_wal_fsync_durations_seconds_sum[$w])`)
	WALFsyncs = signal("etcd_wal_fsyncs:rate", "1/s", "WAL fdatasyncs per second",
		`irate(etcd_disk_wal_fsync_duration_seconds_count[$w])`,
		`irate(etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"}[$w])`,
		`irate(etcd_wal_fsync_durations_seconds_count[$w])`)
	WALSlowFsyncs = signal("etcd_wal_slow_fsyncs:rate",
		"1/s", "WAL fdatasyncs over 8 ms (the bucket boundary below etcd's criterion of 10 ms) per second",
		`irate(etcd_disk_wal_fsync_duration_seconds_count[$w]) - ignoring(le) irate(etcd_disk_wal_fsync_duration_seconds_bucket{le="0.008"}[$w])`,
		`irate(etcd_wal_fsync_durations_seconds_count[$w]) - ignoring(le) irate(etcd_wal_fsync_durations_seconds_bucket{le="0.008"}[$w])`)
	WALLateFsyncs = signal("etcd_wal_late_fsyncs:rate",
		"1/s", "WAL fdatasyncs over 128 ms (the bucket boundary above the heartbeat interval of 100 ms) per second",
		`irate(etcd_disk_wal_fsync_duration_seconds_count[$w]) - ignoring(le) irate(etcd_disk_wal_fsync_duration_seconds_bucket{le="0.128"}[$w])`,
		`irate(etcd_wal_fsync_durations_seconds_count[$w]) - ignoring(le) irate(etcd_wal_fsync_durations_seconds_bucket{le="0.128"}[$w])`)
	BackendCommitP99 = signal("etcd_backend_commit_p99:seconds",
		"seconds", "99th percentile of the backend's commits over 30 s",
		`histogram_quantile(0.99, sum by (le, instance) (rate(etcd_disk_backend_commit_duration_seconds_bucket[30s])))`)
	BackendCommit = signal("etcd_backend_commit:seconds", "seconds", "mean duration of the backend's commits",
		`irate(etcd_disk_backend_commit_duration_seconds_sum[$w]) / irate(etcd_disk_backend_commit_duration_seconds_count[$w])`)
	BackendSlowCommits = signal("etcd_backend_slow_commits:rate",
		"1/s", "backend commits over 16 ms (the bucket boundary below etcd's criterion of 25 ms) per second",
		`irate(etcd_disk_backend_commit_duration_seconds_count[$w]) - ignoring(le) irate(etcd_disk_backend_commit_duration_seconds_bucket{le="0.016"}[$w])`)
	BackendCommitTime = signal("etcd_backend_commit_time:ratio",
		"s/s", "share of the time the backend was committing",
		`irate(etcd_disk_backend_commit_duration_seconds_sum[$w])`)
	BackendCommits = signal("etcd_backend_commits:rate", "1/s", "backend commits per second",
		`irate(etcd_disk_backend_commit_duration_seconds_count[$w])`,
		`irate(etcd_disk_backend_commit_duration_seconds_bucket{le="+Inf"}[$w])`)
	ProposalsCommitted = signal("etcd_proposals_committed:rate", "1/s", "proposals committed per second",
		`irate(etcd_server_proposals_committed_total[$w])`)
	ProposalsPending = signal("etcd_proposals_pending:count", "", "proposals waiting to be committed",
		`etcd_server_proposals_pending`)
	HeartbeatFailures = signal("etcd_heartbeat_failures:rate",
		"1/s", "heartbeats the leader failed to send in time per second",
		`irate(etcd_server_heartbeat_send_failures_total[$w])`)
	LeaderChangesSeen = signal("etcd_leader_changes_seen:count",
		"", "leader changes seen since the process started, including the first leader",
		`etcd_server_leader_changes_seen_total`)
	LeaderChanges = signal("etcd_leader_changes:rate", "1/s", "leader changes seen per second",
		`irate(etcd_server_leader_changes_seen_total[$w])`)
	IsLeader = signal("etcd_is_leader:bool", "", "1 on the leader",
		`etcd_server_is_leader`)
	WALFsyncClasses = signals.Add(rules.Signal{Name: rules.SignalPrefix + "etcd_wal_fsync_classes:rate",
		Unit: "1/s", By: []string{"instance", "le"},
		Help: "WAL fdatasyncs that took up to le seconds, per second",
		Exprs: []string{`irate(etcd_disk_wal_fsync_duration_seconds_bucket[$w])`,
			`irate(etcd_wal_fsync_durations_seconds_bucket[$w])`}})
	BackendCommitClasses = signals.Add(rules.Signal{Name: rules.SignalPrefix +
		"etcd_backend_commit_classes:rate", Unit: "1/s", By: []string{"instance", "le"},
		Help:  "backend commits that took up to le seconds, per second",
		Exprs: []string{`irate(etcd_disk_backend_commit_duration_seconds_bucket[$w])`}})
)
