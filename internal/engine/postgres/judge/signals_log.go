package judge

import "plimsoll/internal/judge/rules"

// Signals from PostgreSQL's log (package pglog). What is logged depends on settings, and only slow
// statements are in the log.
var (
	loggedCommits = signals.Logged("postgres_logged_commits", "postgres_log_slow_commit",
		"commits of 100 ms and more")
	loggedWrites = signals.Logged("postgres_logged_writes", "postgres_log_slow_write",
		"writing statements of 100 ms and more")
	loggedStatements = signals.Logged("postgres_logged_statements", "postgres_log_slow_statement",
		"other statements of 100 ms and more")
	loggedLocks = signals.Logged("postgres_logged_locks", "postgres_log_lock_wait",
		"waits for locks of over deadlock_timeout")
	loggedAutovacuums = signals.Logged("postgres_logged_autovacuums", "postgres_log_autovacuum",
		"runs of autovacuum")
	loggedCheckpointRuns = signals.Logged("postgres_logged_checkpoints", "postgres_log_checkpoint",
		"checkpoints and restartpoints")
	loggedFileSyncs = signals.Logged("postgres_logged_file_syncs", "postgres_log_checkpoint_file_sync",
		"slowest syncs of one file in each checkpoint")
	LoggedFiles = signal("postgres_logged_files:rate", "1/s", "files synced by logged checkpoints per second",
		`irate(postgres_log_checkpoint_files_total[$w])`)
	LoggedLines = signal("postgres_logged_lines:rate", "1/s", "log lines per second that may be about an event",
		`irate(postgres_log_line_total[$w])`)
	LoggedTempBytes = signal("postgres_logged_temp:bytes", "bytes/s", "bytes of logged temporary files per second",
		`irate(postgres_log_temporary_file_bytes_total[$w])`)
	LoggedNoSpace = signal("postgres_logged_no_space:rate", "1/s", "log lines per second about a full disk",
		`irate(postgres_log_no_space_total[$w])`)
	LoggedFsyncFailures = signal("postgres_logged_fsync_failures:rate", "1/s",
		"logged failures of fsync per second",
		`irate(postgres_log_fsync_failure_total[$w])`)
	LoggedArchiveFailures = signal("postgres_logged_archive_failures:rate",
		"1/s", "logged failures of archive_command per second", `irate(postgres_log_archive_failure_total[$w])`)
	LoggedReplicationTimeouts = signal("postgres_logged_replication_timeouts:rate",
		"1/s", "logged replication timeouts per second", `irate(postgres_log_replication_timeout_total[$w])`)
	LoggedCrashes = signal("postgres_logged_crashes:rate",
		"1/s", "log lines per second about a crash or an unclean start", `irate(postgres_log_crash_total[$w])`)
)

// manyWriting is how many slow writes run at a time in a stall: fewer may be long statements of a few
// clients.
const manyWriting = 4.0

// loggedStalls finds the stalls in a log. A COMMIT has nothing to do but to wait for its WAL.
func loggedStalls(sig *rules.Signals) []rules.Stall {
	commits := rules.Found(sig.StallOf(loggedCommits, 0.5, rules.Stall{Rule: "postgres/logged-slow-statements",
		Subject: "PostgreSQL's logged commits", Class: rules.Committing}))
	return append(commits, rules.Found(sig.StallOf(loggedWrites, manyWriting, rules.Stall{
		Rule: "postgres/logged-slow-statements", Subject: "PostgreSQL's logged writes", Class: rules.Writing,
		Aside: true}))...)
}
