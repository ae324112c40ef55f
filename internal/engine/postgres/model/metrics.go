package model

import (
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

// counters are PostgreSQL's statistics since the start.
type counters struct {
	commits, hits, reads                   int64
	inserted, updated                      int64 // rows; history's are inserted
	allocated                              int64
	buffersCheckpoint, buffersClean        int64
	buffersBackend, maxWrittenClean        int64
	checkpointsTimed, checkpointsRequested int64
	checkpointWriteMs, checkpointSyncMs    float64
	walRecords, walImages, walBytes        int64
	walBuffersFull, walWrites, walSyncs    int64
	walSegments                            int64
}

// databaseName is the value of the label datname.
const databaseName = "postgres"

// names returns the metric names of postgres_exporter 0.11 to 0.15 with PostgreSQL 15; the
// pg_stat_wal family is named by custom queries (examples/postgres-checkpoint/queries.yaml).
func (e *Engine) names() []database.Metric {
	out := make([]database.Metric, 0, 48)
	e.each(func(name string, _ float64, labels ...string) {
		out = append(out, database.Metric{Name: name, Labels: labels})
	})
	return out
}

// Metrics describes the values that Sample returns.
func (e *Engine) Metrics() []database.Metric { return e.metrics }

// Sample returns PostgreSQL's statistics as an exporter would report them now.
func (e *Engine) Sample(values []float64) {
	i := 0
	e.each(func(_ string, value float64, _ ...string) {
		values[i] = value
		i++
	})
}

func bool01(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// each calls emit for every series, always in the same order.
func (e *Engine) each(emit func(name string, value float64, labels ...string)) {
	counters := &e.n
	emit("pg_up", 1)
	emit("pg_stat_database_xact_commit", float64(counters.commits), "datname", databaseName)
	emit("pg_stat_database_xact_rollback", 0, "datname", databaseName)
	emit("pg_stat_database_tup_inserted", float64(counters.inserted), "datname", databaseName)
	emit("pg_stat_database_tup_updated", float64(counters.updated), "datname", databaseName)
	emit("pg_stat_database_blks_hit", float64(counters.hits), "datname", databaseName)
	emit("pg_stat_database_blks_read", float64(counters.reads), "datname", databaseName)

	oldest, begun := 0.0, vtime.Never
	for i := range e.ops {
		begun = min(begun, e.ops[i].begun)
	}
	if begun != vtime.Never {
		oldest = e.clock.Now().Sub(begun).Seconds()
	}

	emit("pg_stat_activity_count", float64(e.active), "datname", databaseName, "state", "active")
	emit("pg_stat_activity_max_tx_duration", oldest, "datname", databaseName, "state", "active")
	// The server refuses connections over max_connections, so these are not counted as idle.
	if e.connections > 0 {
		emit("pg_stat_activity_count", float64(max(0, min(e.connections, e.cfg.MaxConnections)-e.active)), "datname",
			databaseName, "state", "idle")
	}

	emit("pg_stat_bgwriter_buffers_alloc_total", float64(counters.allocated))
	emit("pg_stat_bgwriter_buffers_backend_fsync_total", 0) // the checkpointer's queue never overflows here
	emit("pg_stat_bgwriter_buffers_backend_total", float64(counters.buffersBackend))
	emit("pg_stat_bgwriter_buffers_checkpoint_total", float64(counters.buffersCheckpoint))
	emit("pg_stat_bgwriter_buffers_clean_total", float64(counters.buffersClean))
	emit("pg_stat_bgwriter_checkpoint_sync_time_total", counters.checkpointSyncMs)
	emit("pg_stat_bgwriter_checkpoint_write_time_total", counters.checkpointWriteMs)
	emit("pg_stat_bgwriter_checkpoints_req_total", float64(counters.checkpointsRequested))
	emit("pg_stat_bgwriter_checkpoints_timed_total", float64(counters.checkpointsTimed))
	emit("pg_stat_bgwriter_maxwritten_clean_total", float64(counters.maxWrittenClean))
	emit("pg_stat_wal_wal_records", float64(counters.walRecords))
	emit("pg_stat_wal_wal_fpi", float64(counters.walImages))
	emit("pg_stat_wal_wal_bytes", float64(counters.walBytes))
	emit("pg_stat_wal_wal_buffers_full", float64(counters.walBuffersFull))
	emit("pg_stat_wal_wal_write", float64(counters.walWrites))
	emit("pg_stat_wal_wal_sync", float64(counters.walSyncs))
	emit("pg_wal_size_bytes", float64(e.walSize()))
	e.settings(emit)
}

func (e *Engine) settings(f func(name string, value float64, labels ...string)) {
	c := &e.cfg
	f("pg_settings_shared_buffers_bytes", float64(c.SharedBuffers))
	f("pg_settings_checkpoint_timeout_seconds", c.CheckpointTimeout.Std().Seconds())
	f("pg_settings_checkpoint_completion_target", float64(c.CheckpointCompletionTarget))
	f("pg_settings_checkpoint_flush_after_bytes", float64(c.CheckpointFlushAfter))
	f("pg_settings_bgwriter_flush_after_bytes", float64(c.BgwriterFlushAfter))
	f("pg_settings_max_wal_size_bytes", float64(c.MaxWALSize))
	f("pg_settings_min_wal_size_bytes", float64(c.MinWALSize))
	f("pg_settings_full_page_writes", bool01(c.FullPageWrites))
	f("pg_settings_wal_buffers_bytes", float64(c.walBuffers()))
}

// walSize returns the size of the log's folder: the maximum so far, because the server keeps
// unneeded segments for reuse.
func (e *Engine) walSize() int64 { return e.n.walSegments * int64(WALSegment) }

// countSegments counts the segments since the previous checkpoint, at least min_wal_size.
func (e *Engine) countSegments() {
	needed := e.wal.inserted/int64(WALSegment) - e.checkpoint.kept/int64(WALSegment) + 1
	e.n.walSegments = max(e.n.walSegments, needed, int64(e.cfg.MinWALSize/WALSegment))
}

// countRows counts the rows of an acknowledged write.
func (e *Engine) countRows(k workload.Kind) {
	if k == workload.Insert {
		e.n.inserted++
		return
	}
	e.n.updated++
	if e.cfg.HistoryRow > 0 {
		e.n.inserted++
	}
}
