package judge

import "plimsoll/internal/judge/rules"

// Signals of delays in a cluster whose disks are fast: the network, the cluster's size, large requests,
// and maintenance. Versions are those whose sources define the metric.
var (
	HasLeader = signal("etcd_has_leader:bool", "", "1 on a member that has a leader",
		`etcd_server_has_leader`)
	ProposalsApplied = signal("etcd_proposals_applied:rate", "1/s", "proposals applied per second",
		`irate(etcd_server_proposals_applied_total[$w])`)
	ProposalsFailed = signal("etcd_proposals_failed:rate", "1/s", "proposals that failed per second",
		`irate(etcd_server_proposals_failed_total[$w])`)
	// The backlog is bounded: at 5,000 etcd answers "too many requests" (v3_server.go,
	// maxGapBetweenApplyAndCommitIndex).
	ApplyBacklog = signal("etcd_apply_backlog:count", "", "proposals committed but not yet applied",
		`etcd_server_proposals_committed_total - etcd_server_proposals_applied_total`)

	// known_peers (3.6) includes the member itself; active_peers (3.4) does not.
	ClusterSize = signal("etcd_cluster_size:count", "", "members of the cluster, as the member sees it",
		`sum by (instance) (etcd_network_known_peers)`,
		`sum by (instance) (etcd_network_active_peers) + 1`)
	PeersLost = signal("etcd_peers_lost:rate", "1/s", "connections to other members lost per second",
		`sum by (instance) (irate(etcd_network_disconnected_peers_total[$w]))`)
	PeerSendFailures = signal("etcd_peer_send_failures:rate",
		"1/s", "messages to other members that could not be sent, per second",
		`sum by (instance) (irate(etcd_network_peer_sent_failures_total[$w]))`)
	PeerRoundTripTo = signals.Add(rules.Signal{Name: rules.SignalPrefix + "etcd_peer_round_trip_to:seconds",
		Unit: "seconds", By: []string{"instance", "To"},
		Help:  "mean round trip to each other member",
		Exprs: []string{`irate(etcd_network_peer_round_trip_time_seconds_sum[$w]) / irate(etcd_network_peer_round_trip_time_seconds_count[$w])`}})

	// The threshold is --warning-apply-duration, 100 ms by default (3.4.0). Slow reads count too.
	SlowApplies = signal("etcd_slow_applies:rate",
		"1/s", "requests that took over 100 ms to apply or to read, per second",
		`irate(etcd_server_slow_apply_total[$w])`)
	RangeTime = signal("etcd_range_time:ratio", "s/s", "ranges being read concurrently, on average (3.6)",
		`sum by (instance) (irate(etcd_server_range_duration_seconds_sum[$w]))`)
	ClientBytesSent = signal("etcd_client_bytes_sent:bytes", "bytes/s", "bytes sent to clients per second",
		`irate(etcd_network_client_grpc_sent_bytes_total[$w])`)

	DatabaseInUse = signal("etcd_database_in_use:bytes",
		"bytes", "used part of the database's file; a defragmentation frees the rest",
		`etcd_mvcc_db_total_size_in_use_in_bytes`)
	// Each member lists the alarms of all members (3.6, apply/metrics.go), once there was one. A live
	// source reads them from a member's status, with 0 while there is none.
	NoSpaceAlarm = signal("etcd_no_space_alarm:bool", "", "1 or more while any member has raised a NOSPACE alarm",
		`max by (instance) (etcd_debugging_server_alarms{alarm_type="NOSPACE"})`,
		`max by (instance) (plimsoll_etcd_alarms{alarm_type="NOSPACE"})`)
	CorruptAlarm = signal("etcd_corrupt_alarm:bool", "", "1 or more while any member has raised a CORRUPT alarm",
		`max by (instance) (etcd_debugging_server_alarms{alarm_type="CORRUPT"})`,
		`max by (instance) (plimsoll_etcd_alarms{alarm_type="CORRUPT"})`)

	// Reported since 3.4.18, 3.5.2 and 3.6.0.
	Defragmenting = signal("etcd_defragmenting:bool", "", "1 while the member defragments",
		`etcd_disk_defrag_inflight`)
	// The histogram is credited when a defragmentation ends (3.4.0).
	DefragmentTime = signal("etcd_defragment_time:ratio",
		"s/s", "duration of completed defragmentations, per second",
		`irate(etcd_disk_backend_defrag_duration_seconds_sum[$w])`,
		`irate(etcd_log_defragmentation_seconds_total[$w])`)

	// This histogram is in milliseconds, unlike the others.
	CompactionPauseTime = signal("etcd_compaction_pause_time:ratio",
		"s/s", "share of the time in which a compaction held the backend's lock and committed",
		`irate(etcd_debugging_mvcc_db_compaction_pause_duration_milliseconds_sum[$w]) / 1000`)
	CompactionPauses = signal("etcd_compaction_pauses:rate",
		"1/s", "compaction batches per second, each with a pause",
		`irate(etcd_debugging_mvcc_db_compaction_pause_duration_milliseconds_count[$w])`)
	CompactionLongPauses = signal("etcd_compaction_long_pauses:rate",
		"1/s", "compaction pauses over 128 ms per second",
		`irate(etcd_debugging_mvcc_db_compaction_pause_duration_milliseconds_count[$w]) - ignoring(le) irate(etcd_debugging_mvcc_db_compaction_pause_duration_milliseconds_bucket{le="128"}[$w])`)
	SnapshotsSending = signal("etcd_snapshots_sending:count",
		"", "snapshots of the database being sent to other members",
		`sum by (instance) (etcd_network_snapshot_send_inflights_total)`)
	SnapshotTime = signal("etcd_snapshot_time:ratio",
		"s/s", "duration of completed backend snapshots, per second",
		`irate(etcd_disk_backend_snapshot_duration_seconds_sum[$w])`)
)
