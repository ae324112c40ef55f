// Package live samples a running PostgreSQL over a connection of its own, under postgres_exporter's
// names.
//
// The idea is that what an exporter would show once in fifteen seconds is asked for each second, as
// one question: all statistics views together, in one message and one transaction, by a user that
// may look and nothing else. A stall of eight seconds then has eight samples.
//
// # What is asked
//
//	each second   pg_stat_database, pg_stat_activity by state and wait event, pg_stat_bgwriter,
//	              pg_stat_checkpointer (17 and later), pg_stat_wal (14), pg_stat_io (16), and
//	              what the checkpointer waits for, and the COMMITs in pg_stat_statements where that is installed and small
//	now and then  the size of pg_wal (10 s), settings and the databases' sizes (60 s)
//
// Names are those of postgres_exporter, as pg_stat_bgwriter_checkpoint_sync_time_total; where its
// releases differ, those of the release that Debian 12 has (0.11), with the later ones'
// wait_event_type and wait_event on pg_stat_activity_count. The label server is host:port. What it
// has no name for:
//
//	plimsoll_postgres_wal_position_bytes       how far WAL was written or, on a standby, replayed (before 14)
//	plimsoll_postgres_commits_total            COMMIT statements ended, by datname and queryid (pg_stat_statements)
//	plimsoll_postgres_commit_seconds_total     the time they took
//	plimsoll_postgres_checkpointer_count       1 for what the checkpointer waits for, by wait_event_type and wait_event
//
// A group of pg_stat_activity_count that was there once is 0 when it is there no longer: nobody
// waiting for WALSync is a measurement.
//
// # What tells latency
//
// PostgreSQL counts transactions but no latency of theirs. Little's law gives a mean: sessions
// executing over commits a second. pg_stat_database.active_time (14 and later) is exact over a
// minute and late within it: a session adds a statement's time at the first report after the
// statement has ended, and reports at most once a second. COMMIT statements in pg_stat_statements
// are exact and prompt, and are the very wait for the WAL's flush; but only commits that were asked
// for by a COMMIT are there: the commit of a single statement outside of BEGIN ends after the
// statement is counted.
//
// # What it asks of the server
//
// One connection named plimsoll, read only, with a statement_timeout. The role pg_monitor suffices:
//
//	CREATE ROLE plimsoll LOGIN PASSWORD '...' IN ROLE pg_monitor;
//
// What a lesser user may not see is left out, and a note names it. Passwords come from the address,
// from PGPASSWORD, ~/.pgpass or a service file, or from PLIMSOLL_PASSWORD, and appear in no text.
package live
