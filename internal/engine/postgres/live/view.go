package live

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Versions, as in server_version_num.
const (
	v10 = 100000
	v12 = 120000
	v13 = 130000
	v14 = 140000
	v16 = 160000
	v17 = 170000
	v18 = 180000
)

// A column of a view and the series built from it.
type column struct {
	name   string // or an expression
	metric string
	since  int // the first version that has it; 0: all
	until  int // the first version without it; 0: none
}

// A view is a query in which some columns are labels and the others become series.
type view struct {
	name   string // for messages
	since  int
	until  int
	every  time.Duration // 0: with each sample; otherwise it lists files and runs aside
	labels []string      // columns
	of     []column
	from   string // the clause after the columns
}

func (v *view) in(version int) bool {
	return version >= v.since && (v.until == 0 || version < v.until)
}

// columns returns the columns that a version has.
func (v *view) columns(version int) []column {
	var out []column
	for _, c := range v.of {
		if version >= c.since && (c.until == 0 || version < c.until) {
			out = append(out, c)
		}
	}
	return out
}

// query returns the query for a version.
func (v *view) query(version int) string {
	parts := append([]string(nil), v.labels...)
	for _, c := range v.columns(version) {
		parts = append(parts, c.name)
	}
	return "SELECT " + strings.Join(parts, ", ") + " FROM " + v.from
}

// named builds columns whose series have the same names.
func named(prefix, suffix string, names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{name: n, metric: prefix + n + suffix}
	}
	return out
}

// between limits columns to a range of versions.
func between(since, until int, of []column) []column {
	for i := range of {
		of[i].since, of[i].until = since, until
	}
	return of
}

const (
	// databasesMax is how many databases are read separately; with more, only sums are read.
	databasesMax = 200
)

var databaseColumns = slices.Concat(
	named("pg_stat_database_", "", "numbackends", "xact_commit", "xact_rollback", "blks_read", "blks_hit",
		"tup_returned", "tup_fetched",
		"tup_inserted", "tup_updated", "tup_deleted", "conflicts", "temp_files", "temp_bytes", "deadlocks",
		"blk_read_time", "blk_write_time"),
	between(v12, 0, named("pg_stat_database_", "", "checksum_failures")),
	between(v14, 0, named("pg_stat_database_", "", "session_time", "active_time", "idle_in_transaction_time",
		"sessions", "sessions_abandoned", "sessions_fatal", "sessions_killed")))

// summed replaces columns by their sums, under the same names.
func summed(of []column) []column {
	out := append([]column(nil), of...)
	for i := range out {
		out[i].name = "sum(" + out[i].name + ")"
	}
	return out
}

// viewsOf returns the views to query. If total is true, there are too many databases to read them
// separately.
//
// Sources: the chapter "The Cumulative Statistics System" of the documentation of versions 10 to
// 18; names of series: a running postgres_exporter 0.11.1, and the collectors of later releases for
// pg_stat_io, pg_stat_checkpointer, pg_stat_wal and pg_wal.
func viewsOf(total bool) []view {
	databases := view{name: "pg_stat_database", labels: []string{"datid", "datname"}, of: databaseColumns,
		from: "pg_stat_database WHERE datname IS NOT NULL"}
	sizes := view{name: "pg_database_size", every: time.Minute, labels: []string{"datname"},
		of:   []column{{name: "pg_database_size(oid)", metric: "pg_database_size_bytes"}},
		from: "pg_database WHERE has_database_privilege(oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'usage')"}
	if total {
		databases.labels, databases.of = nil, summed(databaseColumns)
		sizes.labels, sizes.of = nil, summed(sizes.of)
	}

	return []view{
		databases,
		{name: "pg_stat_bgwriter", from: "pg_stat_bgwriter", of: slices.Concat(
			named("pg_stat_bgwriter_", "_total", "buffers_clean", "maxwritten_clean", "buffers_alloc"),
			between(0, v17,
				named("pg_stat_bgwriter_", "_total", "checkpoints_timed", "checkpoints_req",
					"checkpoint_write_time", "checkpoint_sync_time",
					"buffers_checkpoint", "buffers_backend", "buffers_backend_fsync")))},
		{name: "pg_stat_checkpointer", since: v17, from: "pg_stat_checkpointer", of: slices.Concat(
			named("pg_stat_checkpointer_", "_total", "num_timed", "num_requested", "restartpoints_timed",
				"restartpoints_req", "restartpoints_done",
				"write_time", "sync_time", "buffers_written"))},
		{name: "pg_stat_wal", since: v14, from: "pg_stat_wal", of: slices.Concat(
			named("pg_stat_wal_", "", "wal_records", "wal_fpi", "wal_bytes", "wal_buffers_full"),
			between(0, v18, named("pg_stat_wal_", "", "wal_write", "wal_sync", "wal_write_time", "wal_sync_time")))},
		{name: "pg_stat_io", since: v16, from: "pg_stat_io",
			labels: []string{"backend_type", "object", "context"}, of: slices.Concat(
				[]column{
					{name: "reads", metric: "pg_stat_io_reads_total"},
					{name: "read_time", metric: "pg_stat_io_read_time_total"},
					{name: "writes", metric: "pg_stat_io_writes_total"},
					{name: "write_time", metric: "pg_stat_io_writes_time_total"},
					{name: "writebacks", metric: "pg_stat_io_write_back_total"},
					{name: "writeback_time", metric: "pg_stat_io_write_back_time_total"},
					{name: "extends", metric: "pg_stat_io_extends_total"},
					{name: "extend_time", metric: "pg_stat_io_extends_time_total"},
					{name: "fsyncs", metric: "pg_stat_io_fsync_total"},
					{name: "fsync_time", metric: "pg_stat_io_fsync_time_total"},
				},
				named("pg_stat_io_", "_total", "hits", "evictions", "reuses"),
				between(v18, 0, named("pg_stat_io_", "_total", "read_bytes", "write_bytes", "extend_bytes")))},
		{name: "pg_ls_waldir", every: 10 * time.Second,
			from: "pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'", of: []column{
				{name: "count(*)", metric: "pg_wal_segments"},
				{name: "coalesce(sum(size), 0)", metric: "pg_wal_size_bytes"}}},
		{name: "the WAL position", until: v14, from: "(SELECT) AS x",
			of: []column{{metric: "plimsoll_postgres_wal_position_bytes",
				name: "pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, '0/0')"}}},
		{name: "whether it is a standby", from: "(SELECT) AS x",
			of: []column{{metric: "pg_replication_is_replica", name: "pg_is_in_recovery()::int"}}},
		// A primary and its physical standbys have the same one.
		{name: "the system identifier", from: "pg_control_system()", labels: []string{"system_identifier"},
			of: []column{{metric: "plimsoll_postgres_system", name: "1"}}},
		// Reports and dumps. A session that waits for one of them is not a report, however old it is.
		{name: "sessions that execute for long", from: "pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend'" +
			" AND xact_start < now() - interval '5 seconds' AND coalesce(wait_event_type, '') NOT IN ('Lock', 'BufferPin')" +
			" AND coalesce(wait_event, '') <> 'SyncRep' AND coalesce(wait_event, '') NOT LIKE 'WAL%'",
			of: []column{{metric: "plimsoll_postgres_long_sessions", name: "count(*)"}}},
		// The exporter reports one per database, under a name that ends in seconds, which is wrong.
		{name: "the age of unfrozen transactions", from: "pg_database WHERE datallowconn", of: []column{
			{name: "max(age(datfrozenxid))", metric: "plimsoll_postgres_unfrozen_age"}}},
		// A user who may not see a worker's query cannot count them: the result is NULL, not zero.
		{name: "the activity of autovacuum workers",
			from: "pg_stat_activity WHERE backend_type = 'autovacuum worker'",
			of: []column{{metric: "plimsoll_postgres_wraparound_workers",
				name: "CASE WHEN pg_has_role('pg_read_all_stats', 'usage') THEN count(*) FILTER (WHERE query LIKE '%(to prevent wraparound)%') END"}}},
		{name: "pg_stat_archiver", from: "pg_stat_archiver",
			of: named("pg_stat_archiver_", "", "archived_count", "failed_count")},
		// A slot retains WAL from its restart_lsn on, up to the current position or, on a standby,
		// up to the replayed one.
		{name: "pg_replication_slots", from: "pg_replication_slots", of: []column{
			{name: "count(*) FILTER (WHERE NOT active)", metric: "plimsoll_postgres_inactive_slots"},
			{name: "coalesce(max(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn)) FILTER (WHERE NOT active), 0)",
				metric: "plimsoll_postgres_slot_kept_bytes"}}},
		sizes,
	}
}

// activityQuery counts sessions with a database by state, type and wait event; %s is the column for
// the database. The type separates clients from autovacuum, parallel workers and walsenders. Our
// own session is included, like the exporter's own before 0.19.0.
const activityQuery = `SELECT %s, coalesce(state, ''), coalesce(backend_type, ''), coalesce(wait_event_type, ''), coalesce(wait_event, ''), count(*),
 coalesce(max(extract(epoch FROM now() - xact_start)), 0)
 FROM pg_stat_activity WHERE datname IS NOT NULL AND state IS NOT NULL GROUP BY 1, 2, 3, 4, 5`

func activityOf(total bool) string {
	if total {
		return fmt.Sprintf(activityQuery, "''")
	}
	return fmt.Sprintf(activityQuery, "datname")
}
