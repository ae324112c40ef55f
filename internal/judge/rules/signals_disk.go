package rules

import "strings"

// device writes the alternatives of a per-device signal: node_exporter's metrics, and
// those of MongoDB's own host metrics (systemMetrics in FTDC), whose times are in
// milliseconds on Linux and whose label is device_name.
func device(node string, ftdc ...string) []string {
	out := []string{node}
	for _, x := range ftdc {
		out = append(out, `label_replace(`+x+`, "device", "$1", "device_name", "(.+)")`)
	}
	return out
}

// win stands for the performance counters that MongoDB on Windows keeps of a PhysicalDisk. They
// are raw: "Disk Writes/sec" counts writes, and "% Disk Write Time" sums up the times writes
// took in units of 100 ns (PERF_PRECISION_100NS_TIMER). How long a disk was busy is not among them.
const win = "mongodb_sys_disks_PhysicalDisk_"

func diskSignal(name, unit, help, node string, ftdc ...string) Signal {
	exprs := device(node, ftdc...)
	for i, x := range exprs {
		exprs[i] = strings.NewReplacer("[]", "[$w]", "win:", win).Replace(x)
	}
	return Signal{Name: SignalPrefix + name, Unit: unit, Help: help, By: []string{"device"}, Exprs: exprs}
}

// Signals of block devices. Sectors in /proc/diskstats are 512 bytes whatever
// the device's own (kernel: Documentation/admin-guide/iostats.rst).
var diskSignals = []Signal{
	diskSignal("disk_busy:ratio", "ratio", "share of the time in which the device had I/O in flight",
		// A guest's clock that was set back makes more of it than there was.
		`clamp_max(irate(node_disk_io_time_seconds_total[]), 1)`,
		`clamp_max(irate(mongodb_sys_disks_io_time_ms[]) / 1000, 1)`),
	diskSignal("disk_queue:requests", "", "mean number of requests in flight or queued",
		`irate(node_disk_io_time_weighted_seconds_total[])`,
		`irate(mongodb_sys_disks_io_queued_ms[]) / 1000`,
		`(irate(win:Disk_Write_Time[]) + irate(win:Disk_Read_Time[])) / 1e7`),
	diskSignal("disk_writes:rate", "1/s", "write requests completed per second",
		`irate(node_disk_writes_completed_total[])`,
		`irate(mongodb_sys_disks_writes[])`,
		`irate(win:Disk_Writes_sec[])`),
	diskSignal("disk_reads:rate", "1/s", "read requests completed per second",
		`irate(node_disk_reads_completed_total[])`,
		`irate(mongodb_sys_disks_reads[])`,
		`irate(win:Disk_Reads_sec[])`),
	diskSignal("disk_ops:rate", "1/s", "reads and writes completed per second",
		`irate(node_disk_writes_completed_total[]) + irate(node_disk_reads_completed_total[])`,
		`irate(mongodb_sys_disks_writes[]) + irate(mongodb_sys_disks_reads[])`,
		`irate(win:Disk_Writes_sec[]) + irate(win:Disk_Reads_sec[])`),
	diskSignal("disk_written:bytes", "bytes/s", "bytes written per second",
		`irate(node_disk_written_bytes_total[])`,
		`irate(mongodb_sys_disks_write_sectors[]) * 512`,
		`irate(win:Disk_Write_Bytes_sec[])`),
	diskSignal("disk_moved:bytes", "bytes/s", "bytes read and written per second",
		`irate(node_disk_written_bytes_total[]) + irate(node_disk_read_bytes_total[])`,
		`(irate(mongodb_sys_disks_write_sectors[]) + irate(mongodb_sys_disks_read_sectors[])) * 512`,
		`irate(win:Disk_Write_Bytes_sec[]) + irate(win:Disk_Read_Bytes_sec[])`),
	diskSignal("disk_write_await:seconds", "seconds", "mean time of a write from its queueing to its completion",
		`irate(node_disk_write_time_seconds_total[]) / irate(node_disk_writes_completed_total[])`,
		`irate(mongodb_sys_disks_write_time_ms[]) / 1000 / irate(mongodb_sys_disks_writes[])`,
		`irate(win:Disk_Write_Time[]) / 1e7 / irate(win:Disk_Writes_sec[])`),
	diskSignal("disk_read_await:seconds", "seconds", "mean time of a read from its queueing to its completion",
		`irate(node_disk_read_time_seconds_total[]) / irate(node_disk_reads_completed_total[])`,
		`irate(mongodb_sys_disks_read_time_ms[]) / 1000 / irate(mongodb_sys_disks_reads[])`,
		`irate(win:Disk_Read_Time[]) / 1e7 / irate(win:Disk_Reads_sec[])`),
	{Name: SignalPrefix + "disk_flush_await:seconds", Unit: "seconds", By: []string{"device"},
		Help: "mean time of a flush request",
		Exprs: []string{
			`irate(node_disk_flush_requests_time_seconds_total[$w]) / irate(node_disk_flush_requests_total[$w])`,
		}},
	{Name: SignalPrefix + "disk_flushes:rate", Unit: "1/s", By: []string{"device"},
		Help:  "flush requests per second",
		Exprs: []string{`irate(node_disk_flush_requests_total[$w])`}},

	// Amazon's own account, from the volume's NVMe log page 0xD0.
	ebsSignal("ebs_volume_iops_exceeded:ratio", "share of the time the volume's IOPS limit was exceeded", "aws_ebs_csi_exceeded_iops_seconds_total"),
	ebsSignal("ebs_volume_throughput_exceeded:ratio", "share of the time the volume's throughput limit was exceeded", "aws_ebs_csi_exceeded_tp_seconds_total"),
	ebsSignal("ebs_instance_iops_exceeded:ratio", "share of the time the instance's IOPS limit was exceeded", "aws_ebs_csi_ec2_exceeded_iops_seconds_total"),
	ebsSignal("ebs_instance_throughput_exceeded:ratio", "share of the time the instance's throughput limit was exceeded", "aws_ebs_csi_ec2_exceeded_tp_seconds_total"),
	{Name: SignalPrefix + "ebs_burst_balance:ratio", Unit: "ratio", By: []string{"volume_id"},
		Help:  "burst credits left, as CloudWatch's BurstBalance tells",
		Exprs: []string{`aws_ebs_burst_balance_average / 100`}},
}

func ebsSignal(name, help, metric string) Signal {
	return Signal{Name: SignalPrefix + name, Unit: "ratio", Help: help, By: []string{"volume_id"},
		Exprs: []string{"irate(" + metric + "[$w])"}}
}

// Signals of the host.
var hostSignals = []Signal{
	hostSignal("psi_io_full:ratio", "ratio", "share of the time in which all runnable tasks waited for I/O",
		`irate(node_pressure_io_stalled_seconds_total[$w])`,
		`irate(mongodb_sys_pressure_io_full_totalMicros[$w]) / 1e6`),
	hostSignal("psi_io_some:ratio", "ratio", "share of the time in which some task waited for I/O",
		`irate(node_pressure_io_waiting_seconds_total[$w])`,
		`irate(mongodb_sys_pressure_io_some_totalMicros[$w]) / 1e6`),
	hostSignal("psi_cpu_some:ratio", "ratio", "share of the time in which some task waited for a CPU",
		`irate(node_pressure_cpu_waiting_seconds_total[$w])`,
		`irate(mongodb_sys_pressure_cpu_some_totalMicros[$w]) / 1e6`),
	hostSignal("psi_memory_full:ratio", "ratio", "share of the time in which all runnable tasks waited for memory",
		`irate(node_pressure_memory_stalled_seconds_total[$w])`,
		`irate(mongodb_sys_pressure_memory_full_totalMicros[$w]) / 1e6`),
	hostSignal("memory_dirty:bytes", "bytes", "page cache waiting to be written back",
		`node_memory_Dirty_bytes`,
		`mongodb_sys_memory_Dirty_kb * 1024`),
	hostSignal("memory_writeback:bytes", "bytes", "page cache being written back now",
		`node_memory_Writeback_bytes`,
		`mongodb_sys_memory_Writeback_kb * 1024`),
	hostSignal("memory_total:bytes", "bytes", "the host's memory",
		`node_memory_MemTotal_bytes`,
		`mongodb_sys_memory_MemTotal_kb * 1024`),
	hostSignal("memory_available:bytes", "bytes", "memory that can be had without swapping",
		`node_memory_MemAvailable_bytes`,
		`mongodb_sys_memory_MemAvailable_kb * 1024`,
		`mongodb_sys_memory_Memory_Available_Bytes`),
	hostSignal("swap_out:rate", "1/s", "pages swapped out per second",
		`irate(node_vmstat_pswpout[$w])`,
		`irate(mongodb_sys_vmstat_pswpout[$w])`),
	hostSignal("cpu_busy:ratio", "ratio", "share of all CPUs' time not idle and not waiting for I/O",
		`1 - sum(irate(node_cpu_seconds_total{mode=~"idle|iowait"}[$w])) / sum(irate(node_cpu_seconds_total[$w]))`,
		`(irate(mongodb_sys_cpu_user_ms[$w]) + irate(mongodb_sys_cpu_nice_ms[$w]) + irate(mongodb_sys_cpu_system_ms[$w]) + irate(mongodb_sys_cpu_softirq_ms[$w])) / (irate(mongodb_sys_cpu_user_ms[$w]) + irate(mongodb_sys_cpu_nice_ms[$w]) + irate(mongodb_sys_cpu_system_ms[$w]) + irate(mongodb_sys_cpu_softirq_ms[$w]) + irate(mongodb_sys_cpu_idle_ms[$w]) + irate(mongodb_sys_cpu_iowait_ms[$w]))`,
		// On Windows the raw "% Processor Time" is the time the CPUs were idle (PERF_100NSEC_TIMER_INV).
		`(irate(mongodb_sys_cpu_Processor_User_Time[$w]) + irate(mongodb_sys_cpu_Processor_Privileged_Time[$w])) / (irate(mongodb_sys_cpu_Processor_User_Time[$w]) + irate(mongodb_sys_cpu_Processor_Privileged_Time[$w]) + irate(mongodb_sys_cpu_Processor_Processor_Time[$w]))`),
	hostSignal("cpu_iowait:ratio", "ratio", "share of all CPUs' time idle with I/O outstanding",
		`sum(irate(node_cpu_seconds_total{mode="iowait"}[$w])) / sum(irate(node_cpu_seconds_total[$w]))`,
		`irate(mongodb_sys_cpu_iowait_ms[$w]) / (irate(mongodb_sys_cpu_user_ms[$w]) + irate(mongodb_sys_cpu_nice_ms[$w]) + irate(mongodb_sys_cpu_system_ms[$w]) + irate(mongodb_sys_cpu_softirq_ms[$w]) + irate(mongodb_sys_cpu_idle_ms[$w]) + irate(mongodb_sys_cpu_iowait_ms[$w]))`),
	hostSignal("procs_blocked:count", "", "tasks blocked on I/O",
		`node_procs_blocked`, `mongodb_sys_cpu_procs_blocked`),
	hostSignal("procs_running:count", "", "tasks running or waiting for a CPU",
		`node_procs_running`, `mongodb_sys_cpu_procs_running`),
	hostSignal("cpu_cores:count", "", "CPUs of the host",
		`count(node_cpu_seconds_total{mode="idle",cpu!="all"})`, `mongodb_sys_cpu_num_logical_cores`, `mongodb_sys_cpu_num_cpus`),
}

func hostSignal(name, unit, help string, exprs ...string) Signal {
	return Signal{Name: SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs}
}

// Signals of a fio job: its own report, and its latency log.
var fioSignals = []Signal{
	{Name: SignalPrefix + "fio_write:rate", Unit: "1/s", Help: "writes per second of a fio job", By: []string{"job"},
		Exprs: []string{`fio_write_iops`}},
	{Name: SignalPrefix + "fio_iodepth:count", Unit: "", Help: "queue depth of a fio job, over its processes", By: []string{"job"},
		Exprs: []string{`fio_job_iodepth`}},
	{Name: SignalPrefix + "fio_write_latency:mean", Unit: "seconds", Help: "mean latency of a fio job's writes", By: []string{"job"},
		Exprs: []string{`fio_write_latency_mean_seconds`}},
	{Name: SignalPrefix + "fio_sync_latency:mean", Unit: "seconds", Help: "mean latency of a fio job's syncs", By: []string{"job"},
		Exprs: []string{`fio_sync_latency_mean_seconds`}},
}
