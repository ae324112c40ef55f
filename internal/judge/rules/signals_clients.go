package rules

// Signals of what clients asked and felt, as whoever asked counted it, and of distributions that are kept in classes:
// each class is a series of its own, so that those of many seconds can be summed before a percentile is taken.
var clientSignals = []Signal{
	client("client_writes:rate", "1/s", "writes answered per second, as the driver counted them",
		`sum(irate(plimsoll_client_operations_total{kind="write"}[$w]))`),
	client("client_write_latency:seconds", "seconds", "mean latency of the writes answered, from their intended starts",
		`sum(irate(plimsoll_client_latency_seconds_total{kind="write"}[$w])) / sum(irate(plimsoll_client_operations_total{kind="write"}[$w]))`),
	client("client_reads:rate", "1/s", "reads answered per second, as the driver counted them",
		`sum(irate(plimsoll_client_operations_total{kind="read"}[$w]))`),
	client("client_read_latency:seconds", "seconds", "mean latency of the reads answered, from their intended starts",
		`sum(irate(plimsoll_client_latency_seconds_total{kind="read"}[$w])) / sum(irate(plimsoll_client_operations_total{kind="read"}[$w]))`),
	{Name: SignalPrefix + "client_write_classes:rate", Unit: "1/s", By: []string{"le"},
		Help:  "writes answered within le seconds of their intended starts, per second",
		Exprs: []string{`irate(plimsoll_client_latency_seconds_bucket{kind="write"}[$w])`}},
	{Name: SignalPrefix + "client_read_classes:rate", Unit: "1/s", By: []string{"le"},
		Help:  "reads answered within le seconds of their intended starts, per second",
		Exprs: []string{`irate(plimsoll_client_latency_seconds_bucket{kind="read"}[$w])`}},
	client("mongodb_inserts:rate", "1/s", "inserts per second", `sum(irate(mongodb_ss_opcounters{legacy_op_type="insert"}[$w]))`),
	client("mongodb_updates:rate", "1/s", "updates per second", `sum(irate(mongodb_ss_opcounters{legacy_op_type="update"}[$w]))`),
	{Name: SignalPrefix + "mongodb_write_classes:rate", Unit: "1/s", By: []string{"instance", "le"},
		Help:  "writes of MongoDB that took up to le seconds, per second (of a running server; its own capture has sums only)",
		Exprs: []string{`irate(plimsoll_mongodb_latency_seconds_bucket{op_type="writes"}[$w])`}},
	{Name: SignalPrefix + "mongodb_read_classes:rate", Unit: "1/s", By: []string{"instance", "le"},
		Help:  "reads of MongoDB that took up to le seconds, per second (of a running server; its own capture has sums only)",
		Exprs: []string{`irate(plimsoll_mongodb_latency_seconds_bucket{op_type="reads"}[$w])`}},
	{Name: SignalPrefix + "etcd_wal_fsync_classes:rate", Unit: "1/s", By: []string{"instance", "le"},
		Help:  "fdatasyncs of the WAL that took up to le seconds, per second",
		Exprs: []string{`irate(etcd_disk_wal_fsync_duration_seconds_bucket[$w])`}},
	{Name: SignalPrefix + "etcd_backend_commit_classes:rate", Unit: "1/s", By: []string{"instance", "le"},
		Help:  "commits of the backend that took up to le seconds, per second",
		Exprs: []string{`irate(etcd_disk_backend_commit_duration_seconds_bucket[$w])`}},
}

func client(name, unit, help string, exprs ...string) Signal {
	return Signal{Name: SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs}
}
