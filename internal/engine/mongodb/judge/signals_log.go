package judge

import "plimsoll/internal/judge/rules"

// Signals of mongod's log (package mongodlog). It has operations over slowms only.
var (
	loggedWrites = signals.Logged("mongodb_logged_writes", "mongodb_log_slow_write", "slow writes")
	loggedReads  = signals.Logged("mongodb_logged_reads", "mongodb_log_slow_read", "slow reads")
	loggedScans  = signals.Logged("mongodb_logged_scanning", "mongodb_log_scan",
		"operations that examined far more than they returned")
	loggedStatus = signals.Logged("mongodb_logged_status", "mongodb_log_slow_status",
		"serverStatus calls of over 1 s")
	loggedCheckpoints = signals.Logged("mongodb_logged_checkpoints", "mongodb_log_long_checkpoint",
		"checkpoints of over 20 s")
	LoggedDiskReads = signal("mongodb_logged_disk_reads:ratio",
		"s/s", "time that logged operations read from disk, per second", `irate(mongodb_log_disk_read_seconds_total[$w])`)
	LoggedCacheWaits = signal("mongodb_logged_cache_waits:ratio",
		"s/s", "time that logged operations waited for the cache, per second",
		`irate(mongodb_log_cache_wait_seconds_total[$w])`)
	LoggedLockWaits = signal("mongodb_logged_lock_waits:ratio",
		"s/s", "time that logged operations waited for locks, per second",
		`irate(mongodb_log_lock_wait_seconds_total[$w])`)
	LoggedFlowWaits = signal("mongodb_logged_flow_waits:ratio",
		"s/s", "time that logged operations waited for flow control, per second",
		`irate(mongodb_log_flow_control_seconds_total[$w])`)
	LoggedConcernWaits = signal("mongodb_logged_concern_waits:ratio",
		"s/s", "time that logged operations waited for their write concern, per second",
		`irate(mongodb_log_write_concern_seconds_total[$w])`)
	LoggedScans = signal("mongodb_logged_scans:rate",
		"1/s", "logged operations that scanned a collection, per second", `irate(mongodb_log_collscan_total[$w])`)
	LoggedFlowControl = signal("mongodb_logged_flow_control:rate",
		"1/s", "log lines about engaged flow control per second", `irate(mongodb_log_flow_control_engaged_total[$w])`)
	LoggedStepdowns = signal("mongodb_logged_stepdowns:rate", "1/s", "logged stepdowns per second",
		`irate(mongodb_log_stepdown_total[$w])`)
	LoggedElections = signal("mongodb_logged_elections:rate", "1/s", "logged elections won per second",
		`irate(mongodb_log_election_total[$w])`)
	LoggedCacheFull = signal("mongodb_logged_cache_full:rate", "1/s", "log lines with WT_CACHE_FULL per second",
		`irate(mongodb_log_cache_full_total[$w])`)
	LoggedIndexBuilds = signal("mongodb_logged_index_builds:rate", "1/s", "index builds that ended, as logged, per second",
		`irate(mongodb_log_index_build_total[$w])`)
)

// manyWriting is how many slow writes run at a time in a stall: fewer may be large updates of a few
// clients.
const manyWriting = 4.0

func loggedStalls(sig *rules.Signals) []rules.Stall {
	return rules.Found(sig.StallOf(loggedWrites, manyWriting, rules.Stall{Rule: "mongodb/logged-slow-operations",
		Subject: "MongoDB's logged writes", Class: rules.Writing, Foremost: true}))
}
