package judge

import "plimsoll/internal/judge/rules"

// signals are all signals of this package.
var signals rules.Group

func signal(name, unit, help string, exprs ...string) *rules.Signal {
	return signals.Add(rules.Signal{Name: rules.SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs})
}

// Signals of PostgreSQL, under postgres_exporter's names. From version 17 on the checkpointer has a
// separate view. Older exporters omit the suffix _total. The log's figures (package pglog) come last;
// of the requested checkpoints they include only those that the WAL requested.
var (
	Commits = signal("postgres_commits:rate", "1/s", "transactions ended per second, over all databases",
		`sum(irate(pg_stat_database_xact_commit[$w])) + sum(irate(pg_stat_database_xact_rollback[$w]))`,
		`sum(irate(pg_stat_database_xact_commit_total[$w])) + sum(irate(pg_stat_database_xact_rollback_total[$w]))`)
	CheckpointWrite = signal("postgres_checkpoint_write:ratio",
		"s/s", "checkpoint write time: seconds per second, credited when a checkpoint ends",
		`irate(pg_stat_checkpointer_write_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_write_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_write_time[$w]) / 1000`,
		`irate(postgres_log_checkpoint_write_seconds_total[$w])`)
	CheckpointSync = signal("postgres_checkpoint_sync:ratio",
		"s/s", "checkpoint fsync time: seconds per second, credited when a checkpoint ends",
		`irate(pg_stat_checkpointer_sync_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_sync_time_total[$w]) / 1000`,
		`irate(pg_stat_bgwriter_checkpoint_sync_time[$w]) / 1000`,
		`irate(postgres_log_checkpoint_sync_seconds_total[$w])`)
	CheckpointsTimed = signal("postgres_checkpoints_timed:rate",
		"1/s", "checkpoints triggered by checkpoint_timeout per second",
		`irate(pg_stat_checkpointer_num_timed_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_timed_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_timed[$w])`,
		`irate(postgres_log_checkpoints_timed_total[$w])`)
	CheckpointsRequested = signal("postgres_checkpoints_requested:rate",
		"1/s", "checkpoints requested (max_wal_size reached, or manually) per second",
		`irate(pg_stat_checkpointer_num_requested_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_req_total[$w])`,
		`irate(pg_stat_bgwriter_checkpoints_req[$w])`,
		`irate(postgres_log_checkpoints_wal_total[$w])`)
	BuffersCheckpoint = signal("postgres_buffers_checkpoint:rate",
		"1/s", "8 kB buffers written by checkpoints per second",
		`irate(pg_stat_checkpointer_buffers_written_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_checkpoint_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_checkpoint[$w])`,
		`irate(postgres_log_checkpoint_buffers_total[$w])`)
	// pg_stat_io (16 and later) takes precedence over pg_stat_bgwriter's column, which also counts
	// blocks that extend files and those that COPY, CREATE TABLE AS and VACUUM write through their
	// ring buffers. Context "normal" is what a query evicts from shared_buffers (PostgreSQL 16
	// documentation, 28.2.13).
	BuffersBackend = signal("postgres_buffers_backend:rate",
		"1/s", "8 kB buffers written by backends themselves per second; from 16 on without ring buffers and file extension",
		`sum(irate(pg_stat_io_writes_total{backend_type="client backend",object="relation",context="normal"}[$w]))`,
		`irate(pg_stat_bgwriter_buffers_backend_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_backend[$w])`)
	BuffersClean = signal("postgres_buffers_clean:rate",
		"1/s", "8 kB buffers written by the background writer per second",
		`irate(pg_stat_bgwriter_buffers_clean_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_clean[$w])`)
	BackendFsyncs = signal("postgres_backend_fsyncs:rate",
		"1/s", "fsyncs by backends per second",
		`sum(irate(pg_stat_io_fsync_total{backend_type="client backend",object="relation",context="normal"}[$w]))`,
		`irate(pg_stat_bgwriter_buffers_backend_fsync_total[$w])`,
		`irate(pg_stat_bgwriter_buffers_backend_fsync[$w])`)
	// From 18 on one operation can cover several blocks, and bytes are counted (release notes of
	// 18).
	AutovacuumMoved = signal("postgres_autovacuum_moved:bytes",
		"bytes/s", "bytes autovacuum workers read from and wrote to files per second (16 and later)",
		`sum(irate(pg_stat_io_read_bytes_total{backend_type="autovacuum worker"}[$w])) + sum(irate(pg_stat_io_write_bytes_total{backend_type="autovacuum worker"}[$w]))`,
		`8192 * (sum(irate(pg_stat_io_reads_total{backend_type="autovacuum worker"}[$w])) + sum(irate(pg_stat_io_writes_total{backend_type="autovacuum worker"}[$w])))`)
	TempWritten = signal("postgres_temp:bytes",
		"bytes/s", "temporary files written by queries, credited when a file is closed",
		`sum(irate(pg_stat_database_temp_bytes[$w]))`,
		`sum(irate(pg_stat_database_temp_bytes_total[$w]))`)
	WALGenerated = signal("postgres_wal:bytes", "bytes/s", "WAL generated per second",
		`irate(pg_stat_wal_wal_bytes[$w])`,
		`irate(pg_stat_wal_bytes_total[$w])`,
		`irate(plimsoll_postgres_wal_position_bytes[$w])`,
		`max(irate(pg_replication_slots_slot_current_wal_lsn[$w]))`,
		`max(irate(pg_replication_slot_slot_current_wal_lsn[$w]))`,
		`max(irate(pg_stat_replication_pg_current_wal_lsn_bytes[$w]))`)
	CheckpointCompletionTarget = signal("postgres_checkpoint_completion_target:ratio",
		"ratio", "checkpoint_completion_target",
		`pg_settings_checkpoint_completion_target`)
	CheckpointTimeout = signal("postgres_checkpoint_timeout:seconds", "seconds", "checkpoint_timeout",
		`pg_settings_checkpoint_timeout_seconds`)
	MaxWALSize = signal("postgres_max_wal_size:bytes", "bytes", "max_wal_size",
		`pg_settings_max_wal_size_bytes`)
	CheckpointFlushAfter = signal("postgres_checkpoint_flush_after:bytes", "bytes", "checkpoint_flush_after",
		`pg_settings_checkpoint_flush_after_bytes`)
)
