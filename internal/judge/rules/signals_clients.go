package rules

func client(name, unit, help string, exprs ...string) *Signal {
	return core.Add(Signal{Name: SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs})
}

// Signals of the clients' load and latencies, as counted on the client side, and of distributions in
// histogram classes. Each class is a separate series, so that classes can be summed over many
// seconds before a percentile is computed.
var (
	ClientWrites = client("client_writes:rate",
		"1/s", "writes answered per second, as the load generator counted them",
		`sum(irate(plimsoll_client_operations_total{kind="write"}[$w]))`)
	ClientWriteLatency = client("client_write_latency:seconds",
		"seconds", "mean latency of the writes answered, from their intended starts",
		`sum(irate(plimsoll_client_latency_seconds_total{kind="write"}[$w])) / sum(irate(plimsoll_client_operations_total{kind="write"}[$w]))`)
	ClientReads = client("client_reads:rate",
		"1/s", "reads answered per second, as the load generator counted them",
		`sum(irate(plimsoll_client_operations_total{kind="read"}[$w]))`)
	ClientReadLatency = client("client_read_latency:seconds",
		"seconds", "mean latency of the reads answered, from their intended starts",
		`sum(irate(plimsoll_client_latency_seconds_total{kind="read"}[$w])) / sum(irate(plimsoll_client_operations_total{kind="read"}[$w]))`)
	ClientWriteClasses = core.Add(Signal{Name: SignalPrefix + "client_write_classes:rate", Unit: "1/s",
		By:    []string{"le"},
		Help:  "writes answered within le seconds of their intended starts, per second",
		Exprs: []string{`irate(plimsoll_client_latency_seconds_bucket{kind="write"}[$w])`}})
	ClientReadClasses = core.Add(Signal{Name: SignalPrefix + "client_read_classes:rate", Unit: "1/s",
		By:    []string{"le"},
		Help:  "reads answered within le seconds of their intended starts, per second",
		Exprs: []string{`irate(plimsoll_client_latency_seconds_bucket{kind="read"}[$w])`}})
)
