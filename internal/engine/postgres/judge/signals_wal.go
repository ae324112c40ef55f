package judge

// Signals of the WAL and of what retains it. In versions 14 to 17 pg_stat_wal has wal_sync and
// wal_sync_time, in milliseconds, with track_wal_io_timing. From 18 on the rows of object "wal" in
// pg_stat_io replace them (release notes of 18), also in milliseconds. fsyncs with wal_sync_method
// open_datasync are not counted. The time includes waits in the kernel and the device.
var (
	WALSyncs = signal("postgres_wal_syncs:rate", "1/s", "WAL fsyncs per second",
		`irate(pg_stat_wal_wal_sync[$w])`,
		`irate(pg_stat_wal_sync_total[$w])`,
		`sum(irate(pg_stat_io_fsync_total{object="wal"}[$w]))`)
	WALSyncTime = signal("postgres_wal_sync:ratio",
		"s/s", "WAL fsync time: seconds per second (track_wal_io_timing)",
		`irate(pg_stat_wal_wal_sync_time[$w]) / 1000`,
		`irate(pg_stat_wal_sync_time_total[$w]) / 1000`,
		`sum(irate(pg_stat_io_fsync_time_total{object="wal"}[$w])) / 1000`)
	WALBuffersFull = signal("postgres_wal_buffers_full:rate",
		"1/s", "WAL writes per second forced by full wal_buffers",
		`irate(pg_stat_wal_wal_buffers_full[$w])`,
		`irate(pg_stat_wal_buffers_full_total[$w])`)
	FullPageImages = signal("postgres_full_page_images:rate",
		"1/s", "full-page images written to the WAL per second",
		`irate(pg_stat_wal_wal_fpi[$w])`,
		`irate(pg_stat_wal_fpi_total[$w])`)
	WALRecords = signal("postgres_wal_records:rate", "1/s", "WAL records per second",
		`irate(pg_stat_wal_wal_records[$w])`,
		`irate(pg_stat_wal_records_total[$w])`)
	WALSize = signal("postgres_wal_size:bytes", "bytes", "size of pg_wal",
		`pg_wal_size_bytes`)
	InactiveSlots = signal("postgres_inactive_slots:count", "", "replication slots without a consumer",
		`count(pg_replication_slots_active) - sum(pg_replication_slots_active)`,
		`count(pg_replication_slot_slot_is_active) - sum(pg_replication_slot_slot_is_active)`,
		`sum(plimsoll_postgres_inactive_slots)`)
	// A slot in use also retains WAL, as much as its consumer lags. That is not a fault, so it is
	// left out.
	SlotKept = signal("postgres_slot_kept:bytes",
		"bytes", "WAL retained by the slot without a consumer that is furthest behind",
		`max(pg_replication_slots_pg_wal_lsn_diff unless on(slot_name) (pg_replication_slots_active == 1)) or 0 * max(pg_replication_slots_pg_wal_lsn_diff)`,
		`max(plimsoll_postgres_slot_kept_bytes)`)
	ArchiveFailed = signal("postgres_archive_failed:rate",
		"1/s", "failed attempts to archive a WAL file per second",
		`irate(pg_stat_archiver_failed_count[$w])`,
		`irate(pg_stat_archiver_failed_count_total[$w])`)
	Archived = signal("postgres_archived:rate", "1/s", "WAL files archived per second",
		`irate(pg_stat_archiver_archived_count[$w])`,
		`irate(pg_stat_archiver_archived_count_total[$w])`)
)
