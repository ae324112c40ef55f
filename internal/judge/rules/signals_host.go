package rules

func host(name, unit, help string, exprs ...string) *Signal {
	return core.Add(Signal{Name: SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs})
}

// Signals of the host.
var (
	PSIIOFull = host("psi_io_full:ratio",
		"ratio", "share of the time in which all runnable tasks waited for I/O",
		`irate(node_pressure_io_stalled_seconds_total[$w])`)
	PSIIOSome = host("psi_io_some:ratio", "ratio", "share of the time in which some task waited for I/O",
		`irate(node_pressure_io_waiting_seconds_total[$w])`)
	PSICPUSome = host("psi_cpu_some:ratio", "ratio", "share of the time in which some task waited for a CPU",
		`irate(node_pressure_cpu_waiting_seconds_total[$w])`)
	PSIMemoryFull = host("psi_memory_full:ratio",
		"ratio", "share of the time in which all runnable tasks waited for memory",
		`irate(node_pressure_memory_stalled_seconds_total[$w])`)
	MemoryDirty = host("memory_dirty:bytes", "bytes", "page cache waiting to be written back",
		`node_memory_Dirty_bytes`)
	MemoryWriteback = host("memory_writeback:bytes", "bytes", "page cache being written back now",
		`node_memory_Writeback_bytes`)
	MemoryTotal = host("memory_total:bytes", "bytes", "the host's memory",
		`node_memory_MemTotal_bytes`)
	MemoryAvailable = host("memory_available:bytes", "bytes", "memory available without swapping",
		`node_memory_MemAvailable_bytes`)
	SwapIn = host("swap_in:rate", "1/s", "pages swapped in per second",
		`irate(node_vmstat_pswpin[$w])`)
	SwapOut = host("swap_out:rate", "1/s", "pages swapped out per second",
		`irate(node_vmstat_pswpout[$w])`)
	CPUBusy = host("cpu_busy:ratio",
		"ratio", "share of all CPUs' time not idle, not waiting for I/O and not withheld by a hypervisor",
		`1 - sum(irate(node_cpu_seconds_total{mode=~"idle|iowait|steal"}[$w])) / sum(irate(node_cpu_seconds_total[$w]))`)
	CPUStolen = host("cpu_stolen:ratio",
		"ratio", "share of all CPUs' time that a hypervisor withheld while they had work",
		`sum(irate(node_cpu_seconds_total{mode="steal"}[$w])) / sum(irate(node_cpu_seconds_total[$w]))`)
	CPUCredits = host("cpu_credits:count",
		"", "remaining CPU credits of a burstable instance, as reported by CloudWatch's CPUCreditBalance",
		`min(aws_ec2_cpucredit_balance_minimum)`, `min(aws_ec2_cpucredit_balance_average)`,
		`min(aws_rds_cpucredit_balance_minimum)`, `min(aws_rds_cpucredit_balance_average)`)
	CPUIowait = host("cpu_iowait:ratio", "ratio", "share of all CPUs' time idle with I/O outstanding",
		`sum(irate(node_cpu_seconds_total{mode="iowait"}[$w])) / sum(irate(node_cpu_seconds_total[$w]))`)
	ProcsBlocked = host("procs_blocked:count", "", "tasks blocked on I/O",
		`node_procs_blocked`)
	ProcsRunning = host("procs_running:count", "", "tasks running or waiting for a CPU",
		`node_procs_running`)
	CPUCores = host("cpu_cores:count", "", "CPUs of the host",
		`count(node_cpu_seconds_total{mode="idle",cpu!="all"})`)
)
