package rules

// Signals of benchmark reports (package record/benchmark), and of fio's syncs.
var (
	FioSyncQuantile = core.Add(Signal{Name: SignalPrefix + "fio_sync_latency:seconds", Unit: "seconds",
		Help: "quantiles of a fio job's syncs", By: []string{"job", "quantile"},
		Exprs: []string{`fio_sync_latency_seconds`}})
	BenchSync = core.Add(Signal{Name: SignalPrefix + "bench_sync_latency:mean", Unit: "seconds",
		Help: "mean duration of one small write and its sync, by method", By: []string{"benchmark", "method"},
		Exprs: []string{`bench_sync_latency_mean_seconds`}})
	BenchWrites = core.Add(Signal{Name: SignalPrefix + "bench_writes:rate", Unit: "1/s",
		Help: "writes per second in a benchmark of a whole server", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_writes_per_second`}})
	BenchAsked = core.Add(Signal{Name: SignalPrefix + "bench_writes_asked:rate", Unit: "1/s",
		Help: "writes per second that a benchmark requested", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_writes_asked_per_second`}})
	BenchClients = core.Add(Signal{Name: SignalPrefix + "bench_clients:count", Unit: "",
		Help: "clients of a benchmark", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_clients`}})
	BenchSlowest = core.Add(Signal{Name: SignalPrefix + "bench_write_slowest:seconds", Unit: "seconds",
		Help: "the slowest write of a benchmark", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_write_slowest_seconds`}})
	BenchPassed = core.Add(Signal{Name: SignalPrefix + "bench_passed:bool", Unit: "",
		Help: "1 if a benchmark passed its own criteria", By: []string{"benchmark", "engine"},
		Exprs: []string{`bench_passed`}})
)
