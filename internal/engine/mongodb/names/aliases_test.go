package names_test

// An alias is a metric name and the versions of MongoDB that use it.
type alias struct {
	Metric string
	// Since and Until are the first and the last version ("3.2", "7.0"); an empty Until is open.
	Since, Until string
}

// An idea is a quantity that rules use, whatever a version of MongoDB calls it.
type idea struct {
	Name  string // "checkpoint running"
	Unit  string // of the value: "us", "ms", "bytes", "count", "bool"
	Names []alias
}

// Versions of MongoDB in which names changed.
const (
	v32 = "3.2"
	v34 = "3.4"
	v36 = "3.6"
	v40 = "4.0"
	v42 = "4.2"
	v44 = "4.4"
	v70 = "7.0"
	v80 = "8.0"
	v82 = "8.2"
)

func always(metric string) []alias         { return []alias{{metric, v32, ""}} }
func since(version, metric string) []alias { return []alias{{metric, version, ""}} }

// renamed returns the names of a metric that was renamed in 8.0.
func renamed(now, was string) []alias {
	return []alias{{now, v80, ""}, {was, v32, v70}}
}

// aliases are the ideas and their names, newest first. If a version has no name for an idea, the
// idea cannot be measured there; it is not zero.
//
// The names come from captures of 3.2 to 8.2 and from WiredTiger's statistics of each version
// (src/third_party/wiredtiger/dist/stat_data.py). Release candidates of 7.0 name ticket queues as
// 8.0 does.
var aliases = []idea{
	// 8.x reports the checkpoint's progress state, which is above 0 while one runs.
	{"checkpoint running", "bool",
		renamed(
			"mongodb_ss_wt_checkpoint_progress_state", "mongodb_ss_wt_txn_transaction_checkpoint_currently_running")},
	{"checkpoint most recent time", "ms",
		renamed(
			"mongodb_ss_wt_checkpoint_most_recent_time_msecs", "mongodb_ss_wt_txn_transaction_checkpoint_most_recent_time_msecs")},
	{"checkpoint total time", "ms",
		renamed(
			"mongodb_ss_wt_checkpoint_total_time_msecs", "mongodb_ss_wt_txn_transaction_checkpoint_total_time_msecs")},
	{"checkpoints", "count",
		renamed(
			"mongodb_ss_wt_checkpoint_total_succeed_number_of_checkpoints", "mongodb_ss_wt_txn_transaction_checkpoints")},
	{"checkpoint fsync time", "us", []alias{
		{"mongodb_ss_wt_checkpoint_fsync_duration_after_allocating_the_transaction_ID_usecs", v80, ""},
		{"mongodb_ss_wt_txn_transaction_fsync_duration_for_checkpoint_after_allocating_the_transaction_ID_usecs",
			v32, v70},
	}},
	{"bytes written for checkpoints", "bytes",
		since(v34, "mongodb_ss_wt_block_manager_bytes_written_for_checkpoint")},

	{"application evictions", "count", []alias{
		{"mongodb_ss_wt_cache_page_evict_attempts_by_application_threads", v82, ""},
		{"mongodb_ss_wt_cache_pages_evicted_by_application_threads", v32, v80},
	}},
	{"application eviction failures", "count",
		since(v82, "mongodb_ss_wt_cache_page_evict_failures_by_application_threads")},
	{"application time evicting", "us", []alias{
		{"mongodb_ss_wt_cache_application_thread_time_evicting_usecs", v80, ""},
		{"mongodb_ss_wt_thread_yield_application_thread_time_evicting_usecs", v34, v70},
	}},
	{"application time waiting for cache", "us",
		since(v34, "mongodb_ss_wt_thread_yield_application_thread_time_waiting_for_cache_usecs")},

	// From 8.0 on these are in queues.execution; the exporter keeps the old names.
	{"tickets available", "count", always("mongodb_ss_wt_concurrentTransactions_available")},
	{"tickets out", "count", always("mongodb_ss_wt_concurrentTransactions_out")},
	{"tickets", "count", always("mongodb_ss_wt_concurrentTransactions_totalTickets")},
	{"write ticket queued time", "us", []alias{
		{"mongodb_ss_wt_concurrentTransactions_write_normalPriority_totalTimeQueuedMicros", v80, ""},
		{"mongodb_ss_wt_concurrentTransactions_write_totalTimeQueuedMicros", v70, v70},
	}},
	{"read ticket queued time", "us", []alias{
		{"mongodb_ss_wt_concurrentTransactions_read_normalPriority_totalTimeQueuedMicros", v80, ""},
		{"mongodb_ss_wt_concurrentTransactions_read_totalTimeQueuedMicros", v70, v70},
	}},
	{"write ticket processing time", "us", []alias{
		{"mongodb_ss_wt_concurrentTransactions_write_normalPriority_totalTimeProcessingMicros", v80, ""},
		{"mongodb_ss_wt_concurrentTransactions_write_totalTimeProcessingMicros", v70, v70},
	}},
	{"read ticket processing time", "us", []alias{
		{"mongodb_ss_wt_concurrentTransactions_read_normalPriority_totalTimeProcessingMicros", v80, ""},
		{"mongodb_ss_wt_concurrentTransactions_read_totalTimeProcessingMicros", v70, v70},
	}},
	{"writes queued for a ticket", "count", []alias{
		{"mongodb_ss_wt_concurrentTransactions_write_normalPriority_queueLength", v80, ""},
		{"mongodb_ss_wt_concurrentTransactions_write_queueLength", v70, v70},
	}},

	{"journal sync time", "us", always("mongodb_ss_wt_log_log_sync_time_duration_usecs")},
	{"journal syncs", "count", always("mongodb_ss_wt_log_log_sync_operations")},
	{"journal bytes", "bytes", always("mongodb_ss_wt_log_log_bytes_written")},

	{"cache max", "bytes", always("mongodb_ss_wt_cache_maximum_bytes_configured")},
	{"cache used", "bytes", always("mongodb_ss_wt_cache_bytes_currently_in_the_cache")},
	{"cache dirty", "bytes", always("mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache")},
	{"cache updates", "bytes", since(v44, "mongodb_ss_wt_cache_bytes_allocated_for_updates")},
	// Old versions of documents that no longer fit in the cache. The lookaside table became the
	// history store.
	{"history store inserts", "count", []alias{
		{"mongodb_ss_wt_cache_history_store_table_insert_calls", v44, ""},
		{"mongodb_ss_wt_cache_cache_overflow_table_insert_calls", v40, v42},
		{"mongodb_ss_wt_cache_lookaside_table_insert_calls", v32, v36},
	}},
	{"history store on disk", "bytes", since(v44, "mongodb_ss_wt_cache_history_store_table_on_disk_size")},

	{"operation latency", "us", since(v34, "mongodb_ss_opLatencies_latency")},
	{"operations", "count", since(v34, "mongodb_ss_opLatencies_ops")},
	{"flow control wait", "us", since(v42, "mongodb_ss_flowControl_timeAcquiringMicros")},
	{"flow control lagged", "bool", since(v42, "mongodb_ss_flowControl_isLagged")},

	{"disk busy time", "ms", since(v34, "mongodb_sys_disks_io_time_ms")},
	{"disk queue time", "ms", since(v34, "mongodb_sys_disks_io_queued_ms")},
	{"disk writes", "count", since(v34, "mongodb_sys_disks_writes")},
	{"disk write sectors", "count", since(v34, "mongodb_sys_disks_write_sectors")},
	{"disk write time", "ms", since(v34, "mongodb_sys_disks_write_time_ms")},
	// The kernel has reported pressure since 4.20, and the server has passed it on since 7.0.
	{"pressure io some", "us", since(v70, "mongodb_sys_pressure_io_some_totalMicros")},
	{"pressure io full", "us", since(v70, "mongodb_sys_pressure_io_full_totalMicros")},
}
