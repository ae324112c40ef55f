package judge

// connections counts connections except those on which a hello waits. Versions before 4.4 do not
// report these and have none; 0 times the count stands in for them.
func connections(kind string) string {
	of := `mongodb_ss_connections{conn_type="` + kind + `"}`
	return `clamp_min(sum(` + of + `) - sum(mongodb_ss_connections{conn_type="awaitingTopologyChanges"} or ` +
		of + ` * 0), 0)`
}

// Signals of the server around its storage engine: locks, connections, scans, and pages that
// operations read themselves.
var (
	QueuedReaders = signal("mongodb_queued_readers:count", "", "operations queued for a read lock or ticket",
		`sum(mongodb_ss_globalLock_currentQueue{count_type="readers"})`)
	FsyncCommands = signal("mongodb_fsync_commands:rate", "1/s", "fsync commands per second (fsyncLock is one)",
		`irate(mongodb_ss_metrics_commands_fsync_total[$w])`)
	SchemaCommands = signal("mongodb_schema_commands:rate",
		"1/s", "commands per second that change collections or indexes",
		`sum(irate({__name__=~"mongodb_ss_metrics_commands_(create|createIndexes|collMod|drop|dropDatabase|dropIndexes|renameCollection|convertToCapped|compact)_total"}[$w]))`)
	OpenTransactions = signal("mongodb_open_transactions:count", "", "transactions open",
		`mongodb_ss_transactions_currentOpen`)
	// Since 4.4, drivers and members keep connections on which a hello waits up to ten seconds for
	// a topology change. connections.active counts them although nothing runs there.
	ActiveConnections = signal("mongodb_active_connections:count",
		"", "clients' connections with an operation in progress, without hellos that wait for a change of the topology",
		connections("active"))
	Connections = signal("mongodb_connections:count",
		"", "clients' connections, without hellos that wait for a change of the topology",
		connections("current"))
	// connections.active also counts getMores that wait for new data (change streams, members that
	// tail the oplog). opLatencies pauses its clock in both waits, so by Little's law it counts the
	// operations that are really in progress.
	OperationsInProgress = signal("mongodb_operations_in_progress:ratio",
		"s/s", "operations in progress, from the latencies of reads, writes and commands that ended",
		`sum(irate(mongodb_ss_opLatencies_latency{op_type=~"reads|writes|commands"}[$w])) / 1e6`)
	PreparedTransactions = signal("mongodb_prepared_transactions:count", "", "transactions prepared",
		`mongodb_ss_transactions_currentPrepared`)
	// Tailable cursors are excluded: change streams and members scan the oplog with them, since it
	// has no index.
	CollectionScans = signal("mongodb_collection_scans:rate",
		"1/s", "queries per second that read a whole collection, without tailable cursors (4.4 and later)",
		`irate(mongodb_ss_metrics_queryExecutor_collectionScans_nonTailable[$w])`)
	ScannedObjects = signal("mongodb_scanned_objects:rate", "1/s", "documents examined by queries per second",
		`irate(mongodb_ss_metrics_queryExecutor_scannedObjects[$w])`)
	ReturnedObjects = signal("mongodb_returned_objects:rate",
		"1/s", "documents returned, updated or deleted per second",
		`sum(irate(mongodb_ss_metrics_document{doc_op_type=~"returned|updated|deleted"}[$w]))`)
	CacheRead = signal("wt_cache_read:bytes", "bytes/s", "bytes read into the cache per second",
		`irate(mongodb_ss_wt_cache_bytes_read_into_cache[$w])`)
	AppPageReads = signal("wt_app_page_reads:rate",
		"1/s", "pages read from disk per second by "+sessions,
		`irate(mongodb_ss_wt_cache_application_threads_page_read_from_disk_to_cache_count[$w])`)
)
