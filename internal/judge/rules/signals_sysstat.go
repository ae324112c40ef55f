package rules

// SysstatLatency is the only latency of a device that sar and sysstat before 9.1.5 report: that of
// reads and writes combined. [DiskWriteAwait] and [DiskReadAwait] each use it, and findings say
// that it is combined. Package iostat makes the counters from a log's figures.
var SysstatLatency = core.Add(Signal{Name: SignalPrefix + "sysstat_latency:seconds", Unit: "seconds",
	By:    []string{"device"},
	Help:  "combined latency of reads and writes, as reported by sar",
	Exprs: []string{sysstatLatency}})

const sysstatLatency = "irate(sysstat_disk_request_seconds_total[$w]) / irate(sysstat_disk_requests_total[$w])"

func init() {
	DiskOps.Coarse = append(DiskOps.Coarse, "irate(sysstat_disk_requests_total[$w])")
	DiskMoved.Coarse = append(DiskMoved.Coarse, "irate(sysstat_disk_moved_bytes_total[$w])")
	DiskWriteAwait.Coarse, DiskReadAwait.Coarse = append(DiskWriteAwait.Coarse, sysstatLatency),
		append(DiskReadAwait.Coarse, sysstatLatency)
}
