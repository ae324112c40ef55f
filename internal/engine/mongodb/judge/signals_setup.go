package judge

// Signals that no rule uses. They describe the deployment and its workload, for building a scenario
// from a recording, and the use of its limits.
var (
	Deletes = signal("mongodb_deletes:rate", "1/s", "deletes per second",
		`sum(irate(mongodb_ss_opcounters{legacy_op_type="delete"}[$w]))`)
	Queries = signal("mongodb_queries:rate", "1/s", "queries and fetches of further batches per second",
		`sum(irate(mongodb_ss_opcounters{legacy_op_type=~"query|getmore"}[$w]))`)
	PagesRead = signal("wt_pages_read:rate", "1/s", "pages read into the cache per second",
		`irate(mongodb_ss_wt_cache_pages_read_into_cache[$w])`)
	CacheUpdates = signal("wt_updates:bytes", "bytes", "changes in the cache that are not yet in a page's image",
		`mongodb_ss_wt_cache_bytes_allocated_for_updates`)
	SessionWrites = signal("mongodb_session_writes:rate",
		"1/s", "writes to config.transactions per second: one for each retryable write",
		`irate(mongodb_ss_transactions_transactionsCollectionWriteCount[$w])`)
	OplogPages = signal("mongodb_oplog_pages:rate",
		"1/s", "pages of the oplog written from the cache per second",
		`irate(mongodb_oplog_stats_wt_cache_pages_written_from_cache[$w])`)
	OplogCompressor = signal("mongodb_oplog_compressor:rate",
		"1/s", "pages of the oplog handed to a compressor per second",
		`irate(mongodb_oplog_stats_wt_compression_compressed_pages_written[$w]) + irate(mongodb_oplog_stats_wt_compression_page_written_failed_to_compress[$w]) + irate(mongodb_oplog_stats_wt_compression_page_written_was_too_small_to_compress[$w])`,
		`irate(mongodb_oplog_stats_wt_compression_pages_written_to_disk[$w]) + irate(mongodb_oplog_stats_wt_compression_page_written_to_disk_failed_to_compress[$w]) + irate(mongodb_oplog_stats_wt_compression_page_written_to_disk_was_too_small_to_compress[$w])`)
)
