package judge

import "strings"

// lockWait is the waiting for a kind of lock, in all modes. A mode that nobody waited for has no
// metric; and rates of metrics of several names must not meet in one vector without a label that
// tells them apart, for a rate has no name. Hence one pattern for each name.
func lockWait(of string) string {
	var modes []string
	for _, mode := range []string{"r", "w", "R", "W"} {
		modes = append(modes, `label_replace(irate({__name__=~"mongodb_ss_locks_`+of+`_timeAcquiringMicros_`+mode+`"}[$w]), "mode", "`+mode+`", "", "")`)
	}
	return "sum(" + strings.Join(modes, " or ") + ") / 1e6"
}

// Signals of what a server does around its storage engine: locks, connections, scans, and pages that
// operations read themselves.
var (
	GlobalLockWait = signal("mongodb_global_lock_wait:ratio", "s/s", "operations waiting for the global lock: seconds credited per second",
		lockWait("Global"))
	DatabaseLockWait = signal("mongodb_database_lock_wait:ratio", "s/s", "operations waiting for a database's lock: seconds credited per second",
		lockWait("Database"))
	CollectionLockWait = signal("mongodb_collection_lock_wait:ratio", "s/s", "operations waiting for a collection's lock: seconds credited per second",
		lockWait("Collection"))
	QueuedReaders = signal("mongodb_queued_readers:count", "", "operations queued for a read lock or ticket",
		`sum(mongodb_ss_globalLock_currentQueue{count_type="readers"})`)
	FsyncCommands = signal("mongodb_fsync_commands:rate", "1/s", "fsync commands per second (fsyncLock is one)",
		`irate(mongodb_ss_metrics_commands_fsync_total[$w])`)
	SchemaCommands = signal("mongodb_schema_commands:rate", "1/s", "commands per second that change collections or indexes",
		`sum(irate({__name__=~"mongodb_ss_metrics_commands_(create|createIndexes|collMod|drop|dropDatabase|dropIndexes|renameCollection|convertToCapped|compact)_total"}[$w]))`)
	OpenTransactions = signal("mongodb_open_transactions:count", "", "transactions open",
		`mongodb_ss_transactions_currentOpen`)
	ActiveConnections = signal("mongodb_active_connections:count", "", "clients' connections with an operation in progress",
		`sum(mongodb_ss_connections{conn_type="active"})`)
	Connections = signal("mongodb_connections:count", "", "clients' connections",
		`sum(mongodb_ss_connections{conn_type="current"})`)
	CollectionScans = signal("mongodb_collection_scans:rate", "1/s", "queries per second that read a whole collection",
		`irate(mongodb_ss_metrics_queryExecutor_collectionScans_total[$w])`)
	ScannedObjects = signal("mongodb_scanned_objects:rate", "1/s", "documents examined by queries per second",
		`irate(mongodb_ss_metrics_queryExecutor_scannedObjects[$w])`)
	ReturnedObjects = signal("mongodb_returned_objects:rate", "1/s", "documents returned, updated or deleted per second",
		`sum(irate(mongodb_ss_metrics_document{doc_op_type=~"returned|updated|deleted"}[$w]))`)
	CacheRead = signal("wt_cache_read:bytes", "bytes/s", "bytes read into the cache per second",
		`irate(mongodb_ss_wt_cache_bytes_read_into_cache[$w])`)
	AppPageReads = signal("wt_app_page_reads:rate", "1/s", "pages that application threads read from disk per second",
		`irate(mongodb_ss_wt_cache_application_threads_page_read_from_disk_to_cache_count[$w])`)
)
