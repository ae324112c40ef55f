package rules

// Signals of etcd. A member is told apart by its instance label where several
// are read at once. Histograms' quantiles are over 30 s: at one second there
// are too few observations, and the buckets (1 ms x 2^n) have no edge at 10 ms.
var etcdSignals = []Signal{
	etcd("etcd_wal_fsync_p99:seconds", "seconds", "99th percentile of the WAL's fdatasync over 30 s",
		`histogram_quantile(0.99, sum by (le, instance) (rate(etcd_disk_wal_fsync_duration_seconds_bucket[30s])))`),
	etcd("etcd_wal_fsync:seconds", "seconds", "mean duration of the WAL's fdatasyncs",
		`irate(etcd_disk_wal_fsync_duration_seconds_sum[$w]) / irate(etcd_disk_wal_fsync_duration_seconds_count[$w])`),
	etcd("etcd_wal_fsync_time:ratio", "s/s", "share of the time the WAL was in fdatasync",
		`irate(etcd_disk_wal_fsync_duration_seconds_sum[$w])`),
	etcd("etcd_wal_fsyncs:rate", "1/s", "fdatasyncs of the WAL per second",
		`irate(etcd_disk_wal_fsync_duration_seconds_count[$w])`),
	etcd("etcd_wal_slow_fsyncs:rate", "1/s", "fdatasyncs of the WAL of over 8 ms (the bucket's edge below etcd's criterion of 10 ms) per second",
		`irate(etcd_disk_wal_fsync_duration_seconds_count[$w]) - ignoring(le) irate(etcd_disk_wal_fsync_duration_seconds_bucket{le="0.008"}[$w])`),
	etcd("etcd_backend_commit_p99:seconds", "seconds", "99th percentile of the backend's commits over 30 s",
		`histogram_quantile(0.99, sum by (le, instance) (rate(etcd_disk_backend_commit_duration_seconds_bucket[30s])))`),
	etcd("etcd_backend_commit:seconds", "seconds", "mean duration of the backend's commits",
		`irate(etcd_disk_backend_commit_duration_seconds_sum[$w]) / irate(etcd_disk_backend_commit_duration_seconds_count[$w])`),
	etcd("etcd_backend_slow_commits:rate", "1/s", "commits of the backend of over 16 ms (the bucket's edge below etcd's criterion of 25 ms) per second",
		`irate(etcd_disk_backend_commit_duration_seconds_count[$w]) - ignoring(le) irate(etcd_disk_backend_commit_duration_seconds_bucket{le="0.016"}[$w])`),
	etcd("etcd_backend_commit_time:ratio", "s/s", "share of the time the backend was committing",
		`irate(etcd_disk_backend_commit_duration_seconds_sum[$w])`),
	etcd("etcd_proposals_committed:rate", "1/s", "proposals committed per second",
		`irate(etcd_server_proposals_committed_total[$w])`),
	etcd("etcd_proposals_pending:count", "", "proposals waiting to be committed",
		`etcd_server_proposals_pending`),
	etcd("etcd_slow_applies:rate", "1/s", "applies slower than 100 ms per second",
		`irate(etcd_server_slow_apply_total[$w])`),
	etcd("etcd_heartbeat_failures:rate", "1/s", "heartbeats the leader failed to send in time per second",
		`irate(etcd_server_heartbeat_send_failures_total[$w])`),
	etcd("etcd_leader_changes:rate", "1/s", "leader changes seen per second",
		`irate(etcd_server_leader_changes_seen_total[$w])`),
	etcd("etcd_is_leader:bool", "", "1 on the leader",
		`etcd_server_is_leader`),
}

func etcd(name, unit, help string, exprs ...string) Signal {
	return Signal{Name: SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs, By: []string{"instance"}}
}

// Signals of PostgreSQL: postgres_exporter's names; from version 17 on the checkpointer has a
// view of its own. Older exporters leave out the _total.
var postgresSignals = []Signal{
	pg("postgres_commits:rate", "1/s", "transactions ended per second, over all databases",
		`sum(irate(pg_stat_database_xact_commit[$w])) + sum(irate(pg_stat_database_xact_rollback[$w]))`,
		`sum(irate(pg_stat_database_xact_commit_total[$w])) + sum(irate(pg_stat_database_xact_rollback_total[$w]))`),
	pg("postgres_active:count", "", "sessions executing",
		`sum(pg_stat_activity_count{state="active"})`),
	pg("postgres_oldest_transaction:seconds", "seconds", "age of the oldest transaction that is executing",
		`max(pg_stat_activity_max_tx_duration{state="active"})`),
	pg("postgres_checkpoint_write:ratio", "s/s", "checkpoints writing: seconds credited per second, when a checkpoint ends",
		`irate(pg_stat_checkpointer_write_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_write_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_write_time[$w]) / 1000`),
	pg("postgres_checkpoint_sync:ratio", "s/s", "checkpoints in fsync: seconds credited per second, when a checkpoint ends",
		`irate(pg_stat_checkpointer_sync_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_sync_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_sync_time[$w]) / 1000`),
	pg("postgres_checkpoints_timed:rate", "1/s", "checkpoints by the clock per second",
		`irate(pg_stat_checkpointer_num_timed_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_timed_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_timed[$w])`),
	pg("postgres_checkpoints_requested:rate", "1/s", "checkpoints asked for (max_wal_size reached, or by hand) per second",
		`irate(pg_stat_checkpointer_num_requested_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_req_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_req[$w])`),
	pg("postgres_buffers_checkpoint:rate", "1/s", "8 kB buffers written by checkpoints per second",
		`irate(pg_stat_checkpointer_buffers_written_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_checkpoint_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_checkpoint[$w])`),
	pg("postgres_buffers_backend:rate", "1/s", "8 kB buffers written by backends themselves per second",
		`irate(pg_stat_bgwriter_buffers_backend_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_backend[$w])`),
	pg("postgres_buffers_clean:rate", "1/s", "8 kB buffers written by the background writer per second",
		`irate(pg_stat_bgwriter_buffers_clean_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_clean[$w])`),
	pg("postgres_backend_fsyncs:rate", "1/s", "fsyncs backends had to do themselves per second",
		`irate(pg_stat_bgwriter_buffers_backend_fsync_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_backend_fsync[$w])`),
	pg("postgres_wal:bytes", "bytes/s", "WAL generated per second",
		`irate(pg_stat_wal_wal_bytes[$w])`,
		`irate(pg_stat_wal_bytes_total[$w])`,
		`max(irate(pg_replication_slots_slot_current_wal_lsn[$w]))`,
		`max(irate(pg_replication_slot_slot_current_wal_lsn[$w]))`,
		`max(irate(pg_stat_replication_pg_current_wal_lsn_bytes[$w]))`),
	pg("postgres_checkpoint_completion_target:ratio", "ratio", "checkpoint_completion_target",
		`pg_settings_checkpoint_completion_target`),
	pg("postgres_checkpoint_timeout:seconds", "seconds", "checkpoint_timeout",
		`pg_settings_checkpoint_timeout_seconds`),
	pg("postgres_max_wal_size:bytes", "bytes", "max_wal_size",
		`pg_settings_max_wal_size_bytes`),
	pg("postgres_checkpoint_flush_after:bytes", "bytes", "checkpoint_flush_after",
		`pg_settings_checkpoint_flush_after_bytes`),
}

func pg(name, unit, help string, exprs ...string) Signal {
	return Signal{Name: SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs}
}

// Signals of InterSystems IRIS (/api/monitor/metrics).
var irisSignals = []Signal{
	pg("iris_write_daemon_cycle:seconds", "seconds", "duration of the write daemon's last cycle",
		`max(iris_wd_cycle_time) / 1000`),
	pg("iris_write_daemon_write:seconds", "seconds", "time of its last cycle spent writing databases",
		`max(iris_wd_write_time) / 1000`),
	pg("iris_wij:seconds", "seconds", "time of its last cycle spent writing the WIJ",
		`max(iris_wdwij_time) / 1000`),
	pg("iris_write_daemon_sleep:seconds", "seconds", "time the write daemon slept before its last cycle",
		`max(iris_wd_sleep) / 1000`),
	pg("iris_database_latency:seconds", "seconds", "time of a random read from a database",
		`max(iris_db_latency) / 1000`),
	pg("iris_physical_writes:rate", "1/s", "physical writes per second",
		`max(iris_phys_writes_per_sec)`),
	pg("iris_physical_reads:rate", "1/s", "physical reads per second",
		`max(iris_phys_reads_per_sec)`),
	pg("iris_global_updates:rate", "1/s", "global updates per second",
		`max(iris_glo_update_per_sec)`),
	pg("iris_wij_writes:rate", "1/s", "writes to the WIJ per second",
		`max(iris_wij_writes_per_sec)`),
}
