package judge

import (
	"strings"

	"plimsoll/internal/judge/rules"
)

// windows is the prefix of the PhysicalDisk performance counters that MongoDB keeps on Windows.
// They are raw: "Disk Writes/sec" counts writes, and "% Disk Write Time" sums the time that writes
// took in units of 100 ns (PERF_PRECISION_100NS_TIMER). They do not include how long a disk was
// busy.
const windows = "mongodb_sys_disks_PhysicalDisk_"

// devices expands the shorthand in the alternatives of a device's signal. On Linux, times are in
// milliseconds. The device's label is device_name.
func devices(exprs ...string) []string {
	short := strings.NewReplacer("[]", "[$w]", "win:", windows)
	for i, x := range exprs {
		exprs[i] = short.Replace(`label_replace(` + x + `, "device", "$1", "device_name", "(.+)")`)
	}
	return exprs
}

// hostSignals maps the signals of a host and its devices to MongoDB's own host metrics
// (systemMetrics in FTDC).
var hostSignals = map[*rules.Signal][]string{
	rules.DiskBusy: devices(
		`clamp_max(irate(mongodb_sys_disks_io_time_ms[]) / 1000, 1)`,
	),
	rules.DiskQueue: devices(
		`irate(mongodb_sys_disks_io_queued_ms[]) / 1000`,
		`(irate(win:Disk_Write_Time[]) + irate(win:Disk_Read_Time[])) / 1e7`,
	),
	rules.DiskWrites: devices(
		`irate(mongodb_sys_disks_writes[])`,
		`irate(win:Disk_Writes_sec[])`,
	),
	rules.DiskReads: devices(
		`irate(mongodb_sys_disks_reads[])`,
		`irate(win:Disk_Reads_sec[])`,
	),
	rules.DiskOps: devices(
		`irate(mongodb_sys_disks_writes[]) + irate(mongodb_sys_disks_reads[])`,
		`irate(win:Disk_Writes_sec[]) + irate(win:Disk_Reads_sec[])`,
	),
	rules.DiskWritten: devices(
		`irate(mongodb_sys_disks_write_sectors[]) * 512`,
		`irate(win:Disk_Write_Bytes_sec[])`,
	),
	rules.DiskMoved: devices(
		`(irate(mongodb_sys_disks_write_sectors[]) + irate(mongodb_sys_disks_read_sectors[])) * 512`,
		`irate(win:Disk_Write_Bytes_sec[]) + irate(win:Disk_Read_Bytes_sec[])`,
	),
	rules.DiskWriteAwait: devices(
		`irate(mongodb_sys_disks_write_time_ms[]) / 1000 / irate(mongodb_sys_disks_writes[])`,
		`irate(win:Disk_Write_Time[]) / 1e7 / irate(win:Disk_Writes_sec[])`,
	),
	rules.DiskReadAwait: devices(
		`irate(mongodb_sys_disks_read_time_ms[]) / 1000 / irate(mongodb_sys_disks_reads[])`,
		`irate(win:Disk_Read_Time[]) / 1e7 / irate(win:Disk_Reads_sec[])`,
	),
	rules.PSIIOFull: {
		`irate(mongodb_sys_pressure_io_full_totalMicros[$w]) / 1e6`,
	},
	rules.PSIIOSome: {
		`irate(mongodb_sys_pressure_io_some_totalMicros[$w]) / 1e6`,
	},
	rules.PSICPUSome: {
		`irate(mongodb_sys_pressure_cpu_some_totalMicros[$w]) / 1e6`,
	},
	rules.PSIMemoryFull: {
		`irate(mongodb_sys_pressure_memory_full_totalMicros[$w]) / 1e6`,
	},
	rules.MemoryDirty: {
		`mongodb_sys_memory_Dirty_kb * 1024`,
	},
	rules.MemoryWriteback: {
		`mongodb_sys_memory_Writeback_kb * 1024`,
	},
	rules.MemoryTotal: {
		`mongodb_sys_memory_MemTotal_kb * 1024`,
	},
	rules.MemoryAvailable: {
		`mongodb_sys_memory_MemAvailable_kb * 1024`,
		`mongodb_sys_memory_Memory_Available_Bytes`,
	},
	rules.SwapIn: {
		`irate(mongodb_sys_vmstat_pswpin[$w])`,
	},
	rules.SwapOut: {
		`irate(mongodb_sys_vmstat_pswpout[$w])`,
	},
	rules.CPUBusy: {
		`(irate(mongodb_sys_cpu_user_ms[$w]) + irate(mongodb_sys_cpu_nice_ms[$w]) + irate(mongodb_sys_cpu_system_ms[$w]) + irate(mongodb_sys_cpu_softirq_ms[$w])) / (irate(mongodb_sys_cpu_user_ms[$w]) + irate(mongodb_sys_cpu_nice_ms[$w]) + irate(mongodb_sys_cpu_system_ms[$w]) + irate(mongodb_sys_cpu_softirq_ms[$w]) + irate(mongodb_sys_cpu_idle_ms[$w]) + irate(mongodb_sys_cpu_iowait_ms[$w]))`,
		// On Windows the raw "% Processor Time" is the time the CPUs were idle
		// (PERF_100NSEC_TIMER_INV).
		`(irate(mongodb_sys_cpu_Processor_User_Time[$w]) + irate(mongodb_sys_cpu_Processor_Privileged_Time[$w])) / (irate(mongodb_sys_cpu_Processor_User_Time[$w]) + irate(mongodb_sys_cpu_Processor_Privileged_Time[$w]) + irate(mongodb_sys_cpu_Processor_Processor_Time[$w]))`,
	},
	rules.CPUIowait: {
		`irate(mongodb_sys_cpu_iowait_ms[$w]) / (irate(mongodb_sys_cpu_user_ms[$w]) + irate(mongodb_sys_cpu_nice_ms[$w]) + irate(mongodb_sys_cpu_system_ms[$w]) + irate(mongodb_sys_cpu_softirq_ms[$w]) + irate(mongodb_sys_cpu_idle_ms[$w]) + irate(mongodb_sys_cpu_iowait_ms[$w]))`,
	},
	rules.ProcsBlocked: {
		`mongodb_sys_cpu_procs_blocked`,
	},
	rules.ProcsRunning: {
		`mongodb_sys_cpu_procs_running`,
	},
	rules.CPUCores: {
		`mongodb_sys_cpu_num_logical_cores`,
		`mongodb_sys_cpu_num_cpus`,
	},
	rules.MountAvailable: {
		`mongodb_sys_mounts_available{mount_point!~"/(dev|run|sys|proc|snap|boot)(/.*)?"}`,
	},
	rules.MountSize: {
		`mongodb_sys_mounts_capacity`,
	},
}
