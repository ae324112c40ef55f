package judge

import "plimsoll/internal/judge/rules"

// criteria are etcd's own (etcd.io, FAQ, "What does the etcd warning ... mean", and the hardware
// page): 99 % of WAL fdatasyncs under 10 ms, 99 % of backend commits under 25 ms.
var criteria = []rules.Criterion{
	{Key: "wal_fsync", What: "the WAL's fdatasync", Calls: "WAL fdatasyncs", Quantile: 0.99,
		LimitS: fsyncCriterionS, SlowS: heartbeat,
		Source: "etcd.io, FAQ", Classes: WALFsyncClasses, Count: WALFsyncs, Took: WALFsyncTime, Sync: true},
	{Key: "backend_commit", What: "the backend's commit", Calls: "backend commits", Quantile: 0.99,
		LimitS: commitCriterionS, SlowS: heartbeat, LongS: longCommit,
		Source: "etcd.io, FAQ", Classes: BackendCommitClasses, Count: BackendCommits, Took: BackendCommitTime},
}

// longCommit is a backend commit, in seconds, that every client notices: writes wait for it, and requests
// often have a timeout of a few seconds. The rule etcd/wal-fsync-tail covers long syncs of the WAL.
const longCommit = 1.0

func missesCriterion() rules.Rule {
	return rules.MissesCriterion("etcd/misses-criterion", "etcd", criteria, map[string]rules.Advice{
		"when": {Summary: "Find out whether it still happens, and when: record the metrics every second for an hour, with the device's (iostat)",
			Expect:    "if all the time: the volume's latency; if only sometimes: another writer at these times",
			TradeOff:  "none",
			NoCommand: "a recording comes first"},
		"latency": {Summary: "If it happens all the time, choose the volume by the latency of one fdatasync, not by IOPS: local NVMe, io2 Block Express; `plimsoll probe` measures a candidate",
			Expect:    "fdatasync takes only as long as the device does",
			TradeOff:  "the volume's price; local NVMe is lost with the instance",
			NoCommand: "changing the kind of volume means adding a new member: plimsoll plan and emit write the steps"},
		"apart": apartAdvice,
	})
}
