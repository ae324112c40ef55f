package model

import (
	"math"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
)

// counters are the counters of serverStatus since the start.
type counters struct {
	ops, latency           [2]int64 // reads, writes; nanoseconds
	inserts, updates       int64    // acknowledged; a push is an update
	writes                 int64
	readIn, readTime       int64
	written, forCheckpoint int64 // bytes of the block manager
	evicted, appEvicted    int64 // pages
	appTime                int64 // ns
	logBytes, syncs        int64
	syncTime, fsyncs       int64
	paceUntil, rangeAfter  vtime.Instant // of io_capacity
}

// tickets is the number of write tickets of mongod up to 6.0
// (storageEngineConcurrentWriteTransactions, 128).
const tickets = 128

// dirtyMetric is the series of the cache's dirty bytes.
const dirtyMetric = "mongodb_ss_wt_cache_tracked_dirty_bytes_in_the_cache"

// each calls put with the figures of serverStatus, under mongodb_exporter's names.
func (e *Engine) each(put func(name string, value float64, labels ...string)) {
	us := func(ns int64) float64 { return float64(ns / 1000) }
	for kind, name := range []string{"reads", "writes"} {
		put("mongodb_ss_opLatencies_latency", us(e.c.latency[kind]), "op_type", name)
		put("mongodb_ss_opLatencies_ops", float64(e.c.ops[kind]), "op_type", name)
	}

	if e.env.Connections > 0 {
		active := e.inside[0] + e.inside[1]
		// Waiting operations may outnumber the connections of a scenario without a limit.
		put("mongodb_ss_connections", float64(max(active, int64(e.env.Connections))), "conn_type", "current")
		put("mongodb_ss_connections", float64(active), "conn_type", "active")
	}

	put("mongodb_ss_opcounters", float64(e.c.inserts), "legacy_op_type", "insert")
	put("mongodb_ss_opcounters", float64(e.c.updates), "legacy_op_type", "update")
	put("mongodb_ss_opcounters", float64(e.c.ops[0]), "legacy_op_type", "query")
	cache := "mongodb_ss_wt_cache_"
	put(cache+"maximum_bytes_configured", float64(e.cfg.Cache))
	put(cache+"bytes_currently_in_the_cache", float64(e.memory))
	put(dirtyMetric, float64(e.dirtyBytes))
	put(cache+"bytes_allocated_for_updates", float64(e.updates))
	put(cache+"pages_evicted_by_application_threads", float64(e.c.appEvicted))
	put(cache+"pages_read_into_cache", float64(e.c.readIn))
	put(cache+"application_threads_page_read_from_disk_to_cache_time_usecs", us(e.c.readTime))
	put("mongodb_ss_wt_thread_yield_application_thread_time_evicting_usecs", us(e.c.appTime))
	// mongod counts both, and in the model a thread waits for the cache only while it evicts.
	put("mongodb_ss_wt_thread_yield_application_thread_time_waiting_for_cache_usecs", us(e.c.appTime))

	running := 0.0
	if e.checkpoint.running() {
		running = 1
	}

	txn := "mongodb_ss_wt_txn_transaction_checkpoint_"
	put(txn+"currently_running", running)
	put(txn+"most_recent_time_msecs", float64(e.checkpoint.took.Milliseconds()))
	put(txn+"total_time_msecs", float64(e.checkpoint.sum.Milliseconds()))
	put("mongodb_ss_wt_block_manager_bytes_written", float64(e.c.written))
	put("mongodb_ss_wt_block_manager_bytes_written_for_checkpoint", float64(e.c.forCheckpoint))
	put("mongodb_ss_wt_log_log_sync_time_duration_usecs", us(e.c.syncTime))
	put("mongodb_ss_wt_log_log_sync_operations", float64(e.c.syncs))
	put("mongodb_ss_wt_log_log_bytes_of_payload_data", float64(e.c.logBytes))
	put("mongodb_ss_wt_connection_total_fsync_I_Os", float64(e.c.fsyncs+e.c.syncs))

	for kind, name := range []string{"read", "write"} {
		put("mongodb_ss_wt_concurrentTransactions_available", float64(max(tickets-e.inside[kind], 0)),
			"txn_rw_type", name)
		put("mongodb_ss_wt_concurrentTransactions_out", float64(min(e.inside[kind], tickets)), "txn_rw_type", name)
		put("mongodb_ss_wt_concurrentTransactions_totalTickets", tickets, "txn_rw_type", name)
	}
}

// Metrics returns the names of the values in Sample.
func (e *Engine) Metrics() []database.Metric {
	var out []database.Metric
	e.each(func(name string, _ float64, labels ...string) {
		out = append(out, database.Metric{Name: name, Labels: labels})
	})
	return out
}

// Sample returns serverStatus as an exporter would at this moment.
func (e *Engine) Sample(values []float64) {
	i := 0
	e.each(func(_ string, value float64, _ ...string) {
		values[i] = value
		i++
	})
	e.fillMax = max(e.fillMax, float64(e.memory)/float64(e.cfg.Cache))
}

// ResetFigures restarts the figures, at the end of the warm-up.
func (e *Engine) ResetFigures() {
	e.mark, e.since = e.c, e.env.Clock.Now()
	e.fillMax = float64(e.memory) / float64(e.cfg.Cache)
}

// Figures returns the write amplification and the pressure on the cache.
func (e *Engine) Figures() []database.Figure {
	seconds := e.env.Clock.Now().Sub(e.since).Seconds()
	writes := float64(e.c.writes - e.mark.writes)
	per := func(n int64, by float64) float64 {
		if by == 0 {
			return math.NaN()
		}
		return float64(n) / by
	}

	return []database.Figure{
		{Name: "app_evictions_per_second", Value: per(e.c.appEvicted-e.mark.appEvicted, seconds), Unit: "1/s"},
		{Name: "evictions_per_second", Value: per(e.c.evicted-e.mark.evicted, seconds), Unit: "1/s"},
		{Name: "cache_fill_max", Value: e.fillMax, Unit: "ratio"},
		{Name: "written_bytes_per_write", Value: per(e.c.written-e.mark.written, writes), Unit: "bytes"},
		{Name: "journal_bytes_per_write", Value: per(e.c.logBytes-e.mark.logBytes, writes), Unit: "bytes"},
		{Name: "writes_per_journal_sync",
			Value: per(e.c.ops[1]-e.mark.ops[1], float64(e.c.syncs-e.mark.syncs)), Unit: ""},
		{Name: "pages_read_per_second", Value: per(e.c.readIn-e.mark.readIn, seconds), Unit: "1/s"},
	}
}
