package judge

// Signals that no rule judges by: what is deployed and what is asked of it, for whoever makes a
// scenario of a recording.
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
	WALBuffers = signal("postgres_wal_buffers:bytes", "bytes", "wal_buffers",
		`pg_settings_wal_buffers_bytes`)
	// commit_delay is in microseconds, and has no unit in pg_settings (guc_tables.c, 9.3 to 18).
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
		"bytes", "WAL after which a checkpoint is requested",
		`pg_settings_max_wal_size_bytes / (1 + pg_settings_checkpoint_completion_target)`)
	UnfrozenAge = signal("postgres_unfrozen_age:count",
		"", "age in transactions of the oldest one that is not frozen",
		`max(pg_database_wraparound_age_datfrozenxid_seconds)`, // it counts transactions, whatever its name says
		`max(plimsoll_postgres_unfrozen_age)`)
	// -1 is vacuum_cost_limit, and -1 of max_slot_wal_keep_size is no bound (13 and later).
	AutovacuumCostLimit = signal("postgres_autovacuum_cost_limit:count",
		"", "cost that autovacuum's workers may run up together before they sleep",
		`(pg_settings_autovacuum_vacuum_cost_limit > 0) or pg_settings_vacuum_cost_limit`)
	MaxSlotKept = signal("postgres_max_slot_kept:bytes", "bytes", "max_slot_wal_keep_size; -1 is no bound",
		`pg_settings_max_slot_wal_keep_size_bytes`)
	FreezeMaxAge = signal("postgres_freeze_max_age:count", "", "autovacuum_freeze_max_age",
		`pg_settings_autovacuum_freeze_max_age`)
)
