package judge

import "plimsoll/internal/judge/rules"

// signals are all signals of this package.
var signals rules.Group

func signal(name, unit, help string, exprs ...string) *rules.Signal {
	return signals.Add(rules.Signal{Name: rules.SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs})
}

// Signals of InterSystems IRIS (/api/monitor/metrics).
var (
	WriteDaemonCycle = signal("iris_write_daemon_cycle:seconds",
		"seconds", "duration of the write daemon's last cycle",
		`max(iris_wd_cycle_time) / 1000`)
	WriteDaemonWrite = signal("iris_write_daemon_write:seconds",
		"seconds", "time of its last cycle spent writing databases",
		`max(iris_wd_write_time) / 1000`)
	WIJ = signal("iris_wij:seconds", "seconds", "time of its last cycle spent writing the WIJ",
		`max(iris_wdwij_time) / 1000`)
	WriteDaemonSleep = signal("iris_write_daemon_sleep:seconds",
		"seconds", "time the write daemon slept before its last cycle",
		`max(iris_wd_sleep) / 1000`)
	DatabaseLatency = signal("iris_database_latency:seconds", "seconds", "time of a random read from a database",
		`max(iris_db_latency) / 1000`)
	PhysicalWrites = signal("iris_physical_writes:rate", "1/s", "physical writes per second",
		`max(iris_phys_writes_per_sec)`)
	PhysicalReads = signal("iris_physical_reads:rate", "1/s", "physical reads per second",
		`max(iris_phys_reads_per_sec)`)
	GlobalUpdates = signal("iris_global_updates:rate", "1/s", "global updates per second",
		`max(iris_glo_update_per_sec)`)
	WIJWrites = signal("iris_wij_writes:rate", "1/s", "writes to the WIJ per second",
		`max(iris_wij_writes_per_sec)`)
)
