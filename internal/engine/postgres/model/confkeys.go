package model

import "plimsoll/internal/model/scenario"

// configKeys are postgresql.conf's settings whose names or units differ from the scenario's. The units of
// bare numbers are those of pg_settings (PostgreSQL 15).
var configKeys = []scenario.ConfigKey{
	{Name: "shared_buffers", Key: "shared_buffers", Times: 8, Unit: "KiB"},
	{Name: "wal_buffers", Key: "wal_buffers", Times: 8, Unit: "KiB"},
	{Name: "checkpoint_flush_after", Key: "checkpoint_flush_after", Times: 8, Unit: "KiB"},
	{Name: "bgwriter_flush_after", Key: "bgwriter_flush_after", Times: 8, Unit: "KiB"},
	{Name: "backend_flush_after", Key: "backend_flush_after", Times: 8, Unit: "KiB"},
	{Name: "max_wal_size", Key: "max_wal_size", Unit: "MiB"},
	{Name: "min_wal_size", Key: "min_wal_size", Unit: "MiB"},
	{Name: "checkpoint_timeout", Key: "checkpoint_timeout", Unit: "s"},
	{Name: "wal_writer_delay", Key: "wal_writer_delay", Unit: "ms"},
	{Name: "bgwriter_delay", Key: "bgwriter_delay", Unit: "ms"},
	{Name: "commit_delay", Key: "commit_delay", Unit: "us"},
	// The model has no queries, planner, vacuum, archive or log file.
	{Name: "effective_cache_size"}, {Name: "work_mem"}, {Name: "maintenance_work_mem"}, {Name: "huge_pages"},
	{Name: "wal_level"}, {Name: "wal_compression"}, {Name: "wal_sync_method"}, {Name: "wal_keep_size"},
	{Name: "max_wal_senders"}, {Name: "archive_mode"}, {Name: "archive_command"}, {Name: "random_page_cost"},
	{Name: "seq_page_cost"}, {Name: "effective_io_concurrency"}, {Name: "default_statistics_target"},
	{Name: "autovacuum"}, {Name: "max_worker_processes"}, {Name: "max_parallel_workers"},
	{Name: "max_parallel_workers_per_gather"}, {Name: "max_parallel_maintenance_workers"},
	{Name: "listen_addresses"}, {Name: "port"}, {Name: "log_checkpoints"}, {Name: "log_min_duration_statement"},
	{Name: "shared_preload_libraries"}, {Name: "track_io_timing"},
}
