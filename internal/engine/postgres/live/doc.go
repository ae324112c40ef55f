// Package live samples a running PostgreSQL over a dedicated connection, under postgres_exporter's
// names.
//
// An exporter is usually scraped every fifteen seconds; live reads the same figures every second.
// It reads all statistics views together, in one message and one transaction, as a user with read
// privileges only. So a stall of eight seconds has eight samples.
//
// # What is read
//
//	each second   pg_stat_database, pg_stat_activity by state, type and wait event, pg_stat_bgwriter,
//	              pg_stat_checkpointer (17 and later), pg_stat_wal (14), pg_stat_io (16),
//	              pg_stat_archiver, pg_replication_slots, the age of unfrozen transactions, and what
//	              autovacuum's workers and the checkpointer do
//	less often    the size of pg_wal (10 s), settings and the
//	              databases' sizes (60 s)
//
// Names are those of postgres_exporter, such as pg_stat_bgwriter_checkpoint_sync_time_total. If its
// releases differ, they are those of Debian 12's release (0.11), plus backend_type, wait_event_type
// and wait_event on pg_stat_activity_count, which 0.17.0 added. The label server is host:port.
// These metrics are not in the exporter:
//
//	plimsoll_postgres_wal_position_bytes       WAL position written or, on a standby, replayed (before 14)
//	plimsoll_postgres_inactive_slots           replication slots without a consumer
//	plimsoll_postgres_slot_kept_bytes          the most WAL that one of them retains
//	plimsoll_postgres_unfrozen_age             age of the oldest unfrozen transaction, in transactions
//	plimsoll_postgres_wraparound_workers       autovacuum workers freezing a table to prevent wraparound
//	plimsoll_postgres_long_sessions            executing client sessions of over 5 s that do not wait for a lock, the WAL or a standby
//	plimsoll_postgres_system                   1, with the system_identifier that a primary and its standbys share
//	plimsoll_postgres_checkpointer_count       1 for the checkpointer's wait event, by wait_event_type and wait_event
//
// A group of pg_stat_activity_count that has become empty is reported as 0, because "no session
// waits for WALSync" is a measurement, too.
//
// # Latency
//
// PostgreSQL counts transactions but not their latency. Little's law gives a mean: executing
// sessions divided by commits per second. pg_stat_database.active_time (14 and later) is exact over
// a minute but late within it: a session adds a statement's time at the first report after the
// statement ends, and reports at most once a second.
//
// pg_stat_statements cannot show it. Its time of a COMMIT ends before the commit: exec_simple_query
// (tcop/postgres.c, 9.4 to 18) calls finish_xact_command after PortalRun, which the extension
// times. On 15.18 a client's COMMIT took 58.2 ms and the statement 0.0015 ms. With
// track_wal_io_timing the server itself times the WAL's fsync: pg_stat_wal.wal_sync_time and
// wal_sync (14 to 17), and pg_stat_io with object wal (18).
//
// # Required privileges
//
// Live opens one read-only connection named plimsoll, with a statement_timeout. The role pg_monitor
// suffices:
//
//	CREATE ROLE plimsoll LOGIN PASSWORD '...' IN ROLE pg_monitor;
//
// Anything that a user with fewer privileges may not see is left out, and a note names it.
// Passwords come from the address, from PGPASSWORD, ~/.pgpass or a service file, or from
// PLIMSOLL_PASSWORD, and are never printed.
package live
