package rules

// Signals of a fio job: its own report, and its latency log.
var (
	FioWrite = core.Add(Signal{Name: SignalPrefix + "fio_write:rate", Unit: "1/s",
		Help: "writes per second of a fio job", By: []string{"job"},
		Exprs: []string{`fio_write_iops`}})
	FioIodepth = core.Add(Signal{Name: SignalPrefix + "fio_iodepth:count", Unit: "",
		Help: "queue depth of a fio job, over its processes", By: []string{"job"},
		Exprs: []string{`fio_job_iodepth`}})
	FioWriteLatency = core.Add(Signal{Name: SignalPrefix + "fio_write_latency:mean", Unit: "seconds",
		Help: "mean latency of a fio job's writes", By: []string{"job"},
		Exprs: []string{`fio_write_latency_mean_seconds`}})
	FioSyncLatency = core.Add(Signal{Name: SignalPrefix + "fio_sync_latency:mean", Unit: "seconds",
		Help: "mean latency of a fio job's syncs", By: []string{"job"},
		Exprs: []string{`fio_sync_latency_mean_seconds`}})
)
