package judge

// Signals that no rule judges by: what is deployed and what is asked of it, for whoever makes a
// scenario of a recording.
var (
	Deletes = signal("mongodb_deletes:rate", "1/s", "deletes per second",
		`sum(irate(mongodb_ss_opcounters{legacy_op_type="delete"}[$w]))`)
	Queries = signal("mongodb_queries:rate", "1/s", "queries and fetches of further batches per second",
		`sum(irate(mongodb_ss_opcounters{legacy_op_type=~"query|getmore"}[$w]))`)
	PagesRead = signal("wt_pages_read:rate", "1/s", "pages read into the cache per second",
		`irate(mongodb_ss_wt_cache_pages_read_into_cache[$w])`)
	CacheUpdates = signal("wt_updates:bytes", "bytes", "changes in the cache that are not on a page's image yet",
		`mongodb_ss_wt_cache_bytes_allocated_for_updates`)
)
