package judge

// Signals that describe the deployment and its load. No rule uses them; `fit` needs them to build a
// scenario from a recording.
var (
	RowsInserted = signal("postgres_rows_inserted:rate", "1/s", "rows inserted per second, over all databases",
		`sum(irate(pg_stat_database_tup_inserted[$w]))`,
		`sum(irate(pg_stat_database_tup_inserted_total[$w]))`)
	RowsUpdated = signal("postgres_rows_updated:rate", "1/s", "rows updated per second, over all databases",
		`sum(irate(pg_stat_database_tup_updated[$w]))`,
		`sum(irate(pg_stat_database_tup_updated_total[$w]))`)
	RowsDeleted = signal("postgres_rows_deleted:rate", "1/s", "rows deleted per second, over all databases",
		`sum(irate(pg_stat_database_tup_deleted[$w]))`,
		`sum(irate(pg_stat_database_tup_deleted_total[$w]))`)
	SharedBuffers = signal("postgres_shared_buffers:bytes", "bytes", "shared_buffers",
		`pg_settings_shared_buffers_bytes`)
	MinWALSize = signal("postgres_min_wal_size:bytes", "bytes", "min_wal_size",
		`pg_settings_min_wal_size_bytes`)
	WALSegment = signal("postgres_wal_segment:bytes", "bytes", "wal_segment_size",
		`pg_settings_wal_segment_size_bytes`)
	WALBuffers = signal("postgres_wal_buffers:bytes", "bytes", "wal_buffers",
		`pg_settings_wal_buffers_bytes`)
	// commit_delay is in microseconds, although pg_settings gives no unit (guc_tables.c, 9.3 to
	// 18).
	CommitDelay = signal("postgres_commit_delay:seconds", "seconds", "commit_delay",
		`pg_settings_commit_delay / 1e6`)
	BgwriterFlushAfter = signal("postgres_bgwriter_flush_after:bytes", "bytes", "bgwriter_flush_after",
		`pg_settings_bgwriter_flush_after_bytes`)
	FullPageWrites = signal("postgres_full_page_writes:bool", "", "1 with full_page_writes",
		`pg_settings_full_page_writes`)
	MaxConnections = signal("postgres_max_connections:count", "", "max_connections",
		`pg_settings_max_connections`)
	Database = signal("postgres_database:bytes", "bytes", "size of all databases",
		`sum(pg_database_size_bytes)`)
	WALToCheckpoint = signal("postgres_wal_to_checkpoint:bytes",
		"bytes", "amount of WAL that triggers a checkpoint",
		`pg_settings_max_wal_size_bytes / (1 + pg_settings_checkpoint_completion_target)`)
	UnfrozenAge = signal("postgres_unfrozen_age:count",
		"", "age of the oldest unfrozen transaction, in transactions",
		`max(pg_database_wraparound_age_datfrozenxid_seconds)`, // counts transactions, despite its name
		`max(plimsoll_postgres_unfrozen_age)`)
	// -1 means that vacuum_cost_limit applies. A max_slot_wal_keep_size of -1 means no limit (13
	// and later).
	AutovacuumCostLimit = signal("postgres_autovacuum_cost_limit:count",
		"", "combined cost at which autovacuum workers sleep",
		`(pg_settings_autovacuum_vacuum_cost_limit > 0) or pg_settings_vacuum_cost_limit`)
	MaxSlotKept = signal("postgres_max_slot_kept:bytes", "bytes", "max_slot_wal_keep_size; -1 means no limit",
		`pg_settings_max_slot_wal_keep_size_bytes`)
	FreezeMaxAge = signal("postgres_freeze_max_age:count", "", "autovacuum_freeze_max_age",
		`pg_settings_autovacuum_freeze_max_age`)
)
