package judge

import (
	"fmt"
	"strings"

	"plimsoll/internal/judge/rules"
)

// signals are all signals of this package.
var signals rules.Group

func signal(name, unit, help string, exprs ...string) *rules.Signal {
	return signals.Add(rules.Signal{Name: rules.SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs})
}

// slowFileWrites sums the buckets of 50 ms and more of the write latency histogram under FTDC's
// names. The buckets are numbered from 2 up to 7.0, and from 3 in 8.x, which has an extra bucket at
// the low end.
func slowFileWrites(first int) string {
	var parts []string
	for i, r := range []string{"50_99ms", "100_249ms", "250_499ms", "500_999ms", "1000ms"} {
		parts = append(parts,
			fmt.Sprintf("irate(mongodb_ss_wt_perf_file_system_write_latency_histogram_bucket_%d_%s[$w])",
				first+i, r))
	}
	return strings.Join(parts, " + ")
}

// sessions are what WiredTiger counts as application threads: every session without
// WT_SESSION_INTERNAL (WT 7.0 evict_lru.c:2409).
const sessions = "reads, writes and mongod's own threads"

// Signals of MongoDB and its storage engine. The alternatives are the names of a counter from 3.2
// to 8.2, newest first.
var (
	WriteWaiting = signal("mongodb_write_waiting:ratio",
		"s/s", "operations in progress: seconds of write latency credited per second",
		`sum(irate(mongodb_ss_opLatencies_latency{op_type="writes"}[$w])) / 1e6`)
	Writes = signal("mongodb_writes:rate", "1/s", "writes completed per second",
		`sum(irate(mongodb_ss_opLatencies_ops{op_type="writes"}[$w]))`)
	WriteLatency = signal("mongodb_write_latency:seconds", "seconds", "mean latency of the writes that ended",
		`sum(irate(mongodb_ss_opLatencies_latency{op_type="writes"}[$w])) / 1e6 / sum(irate(mongodb_ss_opLatencies_ops{op_type="writes"}[$w]))`)
	ReadWaiting = signal("mongodb_read_waiting:ratio",
		"s/s", "operations in progress: seconds of read latency credited per second",
		`sum(irate(mongodb_ss_opLatencies_latency{op_type="reads"}[$w])) / 1e6`)
	Reads = signal("mongodb_reads:rate", "1/s", "reads completed per second",
		`sum(irate(mongodb_ss_opLatencies_ops{op_type="reads"}[$w]))`)
	ReadLatency = signal("mongodb_read_latency:seconds", "seconds", "mean latency of the reads that ended",
		`sum(irate(mongodb_ss_opLatencies_latency{op_type="reads"}[$w])) / 1e6 / sum(irate(mongodb_ss_opLatencies_ops{op_type="reads"}[$w]))`)
	CommandWaiting = signal("mongodb_command_waiting:ratio",
		"s/s", "commands in progress: seconds of command latency credited per second",
		`sum(irate(mongodb_ss_opLatencies_latency{op_type="commands"}[$w])) / 1e6`)
	Commands = signal("mongodb_commands:rate", "1/s", "commands completed per second",
		`sum(irate(mongodb_ss_opLatencies_ops{op_type="commands"}[$w]))`)
	CommandLatency = signal("mongodb_command_latency:seconds",
		"seconds", "mean latency of the commands that ended",
		`sum(irate(mongodb_ss_opLatencies_latency{op_type="commands"}[$w])) / 1e6 / sum(irate(mongodb_ss_opLatencies_ops{op_type="commands"}[$w]))`)
	WriteCounters = signal("mongodb_write_counters:rate",
		"1/s", "inserts, updates and deletes per second (before 3.4 there are no latencies)",
		`sum(irate(mongodb_ss_opcounters{legacy_op_type=~"insert|update|delete"}[$w]))`)
	QueuedWriters = signal("mongodb_queued_writers:count", "", "operations queued for a write lock or ticket",
		`sum(mongodb_ss_globalLock_currentQueue{count_type="writers"})`)
	ActiveWriters = signal("mongodb_active_writers:count", "", "operations that are writing or waiting to write",
		`mongodb_ss_globalLock_activeClients_writers`)
	TicketWait = signal("mongodb_ticket_wait:ratio", "s/s",
		"writes waiting for a ticket: seconds queued credited per second", ticketTime("write", "Queued")...)
	TicketWork = signal("mongodb_ticket_work:ratio", "s/s",
		"writes executing with a ticket: seconds credited per second", ticketTime("write", "Processing")...)
	ReadTicketWait = signal("mongodb_read_ticket_wait:ratio", "s/s",
		"reads waiting for a ticket: seconds queued credited per second", ticketTime("read", "Queued")...)
	ReadTicketWork = signal("mongodb_read_ticket_work:ratio", "s/s",
		"reads executing with a ticket: seconds credited per second", ticketTime("read", "Processing")...)
	FlowControlWait = signal("mongodb_flow_control_wait:ratio",
		"s/s", "writes held back by flow control: seconds credited per second",
		`irate(mongodb_ss_flowControl_timeAcquiringMicros[$w]) / 1e6`)
	FlowControlLagged = signal("mongodb_flow_control_lagged:bool",
		"", "1 while flow control sees a majority lagging",
		`mongodb_ss_flowControl_isLagged`)
	ReplicationWait = signal("mongodb_replication_wait:ratio",
		"s/s", "clients' writes waiting for their write concern: seconds credited per second",
		`irate(mongodb_ss_metrics_getLastError_wtime_totalMillis[$w]) / 1e3`)
	Members = signal("mongodb_members:count", "", "members of the replica set",
		`count(mongodb_rs_members_state)`)
	MemberLag = signals.Add(rules.Signal{Name: rules.SignalPrefix + "mongodb_member_lag:seconds",
		Unit: "seconds", By: []string{"member_idx"},
		Help:  "how far a member's last write is behind the newest write",
		Exprs: []string{`(0 - (mongodb_rs_members_optimeDate - on() group_left() max(mongodb_rs_members_optimeDate))) / 1000`}})
	LockWait = signal("mongodb_lock_wait:ratio",
		"s/s", "reads, writes and mongod's own threads waiting for a lock: seconds credited per second",
		`sum(irate({__name__=~"mongodb_ss_locks_.+_timeAcquiringMicros(_[rwRW])?"}[$w])) / 1e6`)
	CacheMax = signal("wt_cache_max:bytes", "bytes", "configured cache size",
		`mongodb_ss_wt_cache_maximum_bytes_configured`)
	CacheFill = signal("wt_cache_fill:ratio", "ratio", "cache in use (eviction target 0.80, trigger 0.95)",
		`mongodb_ss_wt_cache_bytes_currently_in_the_cache / mongodb_ss_wt_cache_maximum_bytes_configured`,
		`mongostat_used_ratio`)
	DirtyRatio = signal("wt_dirty:ratio",
		"ratio", "dirty part of the cache (eviction target 0.05, trigger 0.20)",
		`mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache / mongodb_ss_wt_cache_maximum_bytes_configured`,
		`mongostat_dirty_ratio`)
	Dirty = signal("wt_dirty:bytes", "bytes", "dirty bytes in the cache",
		`mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache`)
	CacheUpdatesRatio = signal("wt_updates:ratio",
		"ratio", "part of the cache holding updates (target 0.025, trigger 0.10)",
		`mongodb_ss_wt_cache_bytes_allocated_for_updates / mongodb_ss_wt_cache_maximum_bytes_configured`)
	AppEvictions = signal("wt_app_evictions:rate",
		"1/s", "pages evicted per second by "+sessions+" (8.1 and later count attempts and failures)",
		`irate(mongodb_ss_wt_cache_page_evict_attempts_by_application_threads[$w]) - irate(mongodb_ss_wt_cache_page_evict_failures_by_application_threads[$w])`,
		`irate(mongodb_ss_wt_cache_page_evict_attempts_by_application_threads[$w])`,
		`irate(mongodb_ss_wt_cache_pages_evicted_by_application_threads[$w])`)
	AppEvictTime = signal("wt_app_evict_time:ratio",
		"s/s", sessions+" evicting: seconds credited per second",
		`irate(mongodb_ss_wt_cache_application_thread_time_evicting_usecs[$w]) / 1e6`,
		`irate(mongodb_ss_wt_thread_yield_application_thread_time_evicting_usecs[$w]) / 1e6`)
	CacheWait = signal("wt_cache_wait:ratio",
		"s/s", sessions+" waiting for the cache: seconds credited per second",
		`irate(mongodb_ss_wt_thread_yield_application_thread_time_waiting_for_cache_usecs[$w]) / 1e6`,
		`irate(mongodb_ss_wt_cache_application_thread_time_waiting_for_cache_usecs[$w]) / 1e6`)
	PageWait = signal("wt_page_wait:ratio",
		"s/s", sessions+" sleeping until another thread is done with a page: seconds credited per second",
		`irate(mongodb_ss_wt_thread_yield_page_acquire_time_sleeping_usecs[$w]) / 1e6`)
	AppPageReadsTime = signal("wt_app_page_reads_time:ratio",
		"s/s", sessions+" reading pages from disk: seconds credited per second",
		`irate(mongodb_ss_wt_cache_application_threads_page_read_from_disk_to_cache_time_usecs[$w]) / 1e6`)
	AppPageWritesTime = signal("wt_app_page_writes_time:ratio",
		"s/s", sessions+" writing pages to disk: seconds credited per second",
		`irate(mongodb_ss_wt_cache_application_threads_page_write_from_cache_to_disk_time_usecs[$w]) / 1e6`)
	CheckpointRunning = signal("wt_checkpoint_running:bool", "", "above 0 while a checkpoint runs",
		`mongodb_ss_wt_checkpoint_progress_state`,
		`mongodb_ss_wt_txn_transaction_checkpoint_currently_running`)
	CheckpointLast = signal("wt_checkpoint_last:seconds",
		"seconds", "duration of the checkpoint that ended last",
		`mongodb_ss_wt_checkpoint_most_recent_time_msecs / 1000`,
		`mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs / 1000`)
	CheckpointTime = signal("wt_checkpoint_time:ratio",
		"s/s", "checkpointing: seconds credited per second, when a checkpoint ends",
		`irate(mongodb_ss_wt_checkpoint_total_time_msecs[$w]) / 1000`,
		`irate(mongodb_ss_wt_txn_transaction_checkpoint_total_time_msecs[$w]) / 1000`)
	CheckpointHandles = signal("wt_checkpoint_handles:count",
		"", "files that the last checkpoint wrote and fsynced",
		`mongodb_ss_wt_checkpoint_most_recent_handles_applied`,
		`mongodb_ss_wt_txn_transaction_checkpoint_most_recent_handles_applied`)
	CheckpointFsync = signal("wt_checkpoint_fsync:seconds",
		"seconds", "the last checkpoint's fsyncs of its files, from the first to the last",
		`mongodb_ss_wt_checkpoint_fsync_duration_after_allocating_the_transaction_ID_usecs / 1e6`,
		`mongodb_ss_wt_txn_transaction_fsync_duration_for_checkpoint_after_allocating_the_transaction_ID_usecs / 1e6`)
	Fsyncs = signal("wt_fsyncs:rate", "1/s", "fsyncs ended per second, of the journal and of data files",
		`irate(mongodb_ss_wt_connection_total_fsync_I_Os[$w])`)
	DataHandles = signal("wt_data_handles:count", "", "collections and indexes that are open",
		`mongodb_ss_wt_data_handle_connection_data_handles_currently_active`)
	CheckpointWritten = signal("wt_checkpoint_written:bytes",
		"bytes/s", "bytes written for checkpoints per second",
		`irate(mongodb_ss_wt_block_manager_bytes_written_for_checkpoint[$w])`)
	BlocksWritten = signal("wt_blocks_written:bytes", "bytes/s", "bytes written by the block manager per second",
		`irate(mongodb_ss_wt_block_manager_bytes_written[$w])`)
	LogSyncTime = signal("wt_log_sync_time:ratio",
		"s/s", "journal fdatasync: seconds credited per second, when a sync ends",
		`irate(mongodb_ss_wt_log_log_sync_time_duration_usecs[$w]) / 1e6`)
	LogSyncs = signal("wt_log_syncs:rate", "1/s", "journal fdatasyncs ended per second",
		`irate(mongodb_ss_wt_log_log_sync_operations[$w])`)
	LogSync = signal("wt_log_sync:seconds", "seconds", "mean duration of the journal fdatasyncs that ended",
		`irate(mongodb_ss_wt_log_log_sync_time_duration_usecs[$w]) / 1e6 / irate(mongodb_ss_wt_log_log_sync_operations[$w])`)
	LogPayload = signal("wt_log_payload:bytes", "bytes/s", "bytes of changes logged per second",
		`irate(mongodb_ss_wt_log_log_bytes_of_payload_data[$w])`)
	FsyncsInProgress = signal("wt_fsyncs_in_progress:count", "", "fsync calls in progress",
		`mongodb_ss_wt_thread_state_active_filesystem_fsync_calls`)
	WritesInProgress = signal("wt_writes_in_progress:count", "", "file system write calls in progress",
		`mongodb_ss_wt_thread_state_active_filesystem_write_calls`)
	SlowFileWrites = signal("wt_slow_file_writes:rate", "1/s", "file system writes of 50 ms and more per second",
		`sum(irate(mongodb_ss_wt_perf{perf_bucket=~"file system write latency histogram .* - (50-99ms|100-249ms|250-499ms|500-999ms|1000ms.)"}[$w]))`,
		slowFileWrites(3), slowFileWrites(2))
	Inserts = signal("mongodb_inserts:rate", "1/s",
		"inserts per second", `sum(irate(mongodb_ss_opcounters{legacy_op_type="insert"}[$w]))`)
	Updates = signal("mongodb_updates:rate", "1/s",
		"updates per second", `sum(irate(mongodb_ss_opcounters{legacy_op_type="update"}[$w]))`)
	WriteClasses = signals.Add(rules.Signal{Name: rules.SignalPrefix + "mongodb_write_classes:rate", Unit: "1/s",
		By:    []string{"instance", "le"},
		Help:  "writes of MongoDB that took up to le seconds, per second (of a running server; its own capture has sums only)",
		Exprs: []string{`irate(plimsoll_mongodb_latency_seconds_bucket{op_type="writes"}[$w])`}})
	ReadClasses = signals.Add(rules.Signal{Name: rules.SignalPrefix + "mongodb_read_classes:rate", Unit: "1/s",
		By:    []string{"instance", "le"},
		Help:  "reads of MongoDB that took up to le seconds, per second (of a running server; its own capture has sums only)",
		Exprs: []string{`irate(plimsoll_mongodb_latency_seconds_bucket{op_type="reads"}[$w])`}})
)
