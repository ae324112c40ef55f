package rules

// SysstatLatency is what sar and sysstat before 9.1.5 know of a device's latency: that of reads and writes
// together. [DiskWriteAwait] and [DiskReadAwait] take it for each, and findings name it as what it is.
// The counters are made of a log's figures: see package iostat.
var SysstatLatency = core.Add(Signal{Name: SignalPrefix + "sysstat_latency:seconds", Unit: "seconds",
	By:    []string{"device"},
	Help:  "latency of reads and writes together, as sar reports it",
	Exprs: []string{sysstatLatency}})

const sysstatLatency = "irate(sysstat_disk_request_seconds_total[$w]) / irate(sysstat_disk_requests_total[$w])"

func init() {
	DiskOps.Coarse = append(DiskOps.Coarse, "irate(sysstat_disk_requests_total[$w])")
	DiskMoved.Coarse = append(DiskMoved.Coarse, "irate(sysstat_disk_moved_bytes_total[$w])")
	DiskWriteAwait.Coarse, DiskReadAwait.Coarse = append(DiskWriteAwait.Coarse, sysstatLatency),
		append(DiskReadAwait.Coarse, sysstatLatency)
}
