package rules

import "slices"

// Signals of containers, under cAdvisor's names (its docs/storage/prometheus.md): from a kubelet's
// /metrics/cadvisor, a cAdvisor, or the host source's own cgroup. A container is identified by
// whichever of these labels it has: pod and container, name (Docker), and id (the cgroup's path).
// Metrics that cAdvisor lacks, such as io.max, come only from the host source.
var (
	ContainerCPUThrottled = container("container_cpu_throttled:ratio",
		"ratio", "share of the quota's periods in which the container was throttled",
		`irate(container_cpu_cfs_throttled_periods_total[$w]) / irate(container_cpu_cfs_periods_total[$w])`)
	ContainerCPUThrottledTime = container("container_cpu_throttled_time:ratio",
		"s/s", "CPU seconds per second for which the container was throttled, summed over CPUs",
		`irate(container_cpu_cfs_throttled_seconds_total[$w])`)
	ContainerCPUUsed = container("container_cpu_used:count", "", "CPUs that the container used",
		`sum by (namespace, pod, container, name, id) (irate(container_cpu_usage_seconds_total[$w]))`)
	ContainerCPUQuota = container("container_cpu_quota:count", "", "CPUs that the container may use",
		`container_spec_cpu_quota / container_spec_cpu_period`)
	ContainerMemoryLimit = container("container_memory_limit:bytes", "bytes", "the container's memory limit",
		`container_spec_memory_limit_bytes > 0`)
	ContainerMemoryUsed = container("container_memory_used:bytes",
		"bytes", "memory of the container, including page cache",
		`container_memory_usage_bytes`)
	ContainerMemoryDirty = container("container_memory_dirty:bytes",
		"bytes", "page cache of the container waiting to be written back",
		`plimsoll_container_memory_file_dirty_bytes`)
	ContainerMemoryReclaims = container("container_memory_reclaims:rate",
		"1/s", "times per second that the container hit memory.high or memory.max",
		`sum by (namespace, pod, container, name, id) (irate(plimsoll_container_memory_events_total{event=~"high|max"}[$w]))`,
		`irate(container_memory_failcnt[$w])`)
	ContainerPSIMemoryFull = container("container_psi_memory_full:ratio",
		"ratio", "share of the time in which all of the container's tasks waited for memory",
		`irate(container_pressure_memory_stalled_seconds_total[$w])`)
	ContainerPSIIOFull = container("container_psi_io_full:ratio",
		"ratio", "share of the time in which all of the container's tasks waited for I/O",
		`irate(container_pressure_io_stalled_seconds_total[$w])`)
	ContainerWrites = containerDevice("container_writes:rate", "1/s",
		"writes of the container per second", "container_fs_writes_total")
	ContainerReads = containerDevice("container_reads:rate", "1/s",
		"reads of the container per second", "container_fs_reads_total")
	ContainerWritten = containerDevice("container_written:bytes", "bytes/s",
		"bytes that the container wrote per second", "container_fs_writes_bytes_total")
	ContainerRead = containerDevice("container_read:bytes", "bytes/s",
		"bytes that the container read per second", "container_fs_reads_bytes_total")
	ContainerWritesLimit = containerLimit("container_writes_limit:rate", "1/s",
		"writes per second that the container may make", "plimsoll_container_io_limit_writes_per_second")
	ContainerReadsLimit = containerLimit("container_reads_limit:rate", "1/s",
		"reads per second that the container may make", "plimsoll_container_io_limit_reads_per_second")
	ContainerWrittenLimit = containerLimit("container_written_limit:bytes", "bytes/s",
		"bytes per second that the container may write", "plimsoll_container_io_limit_write_bytes_per_second")
	ContainerReadLimit = containerLimit("container_read_limit:bytes", "bytes/s",
		"bytes per second that the container may read", "plimsoll_container_io_limit_read_bytes_per_second")
)

func container(name, unit, help string, exprs ...string) *Signal {
	return core.Add(ofContainer(name, unit, help, exprs...))
}

func ofContainer(name, unit, help string, exprs ...string) Signal {
	return Signal{Name: SignalPrefix + name, Unit: unit, Help: help, Exprs: exprs, By: containerLabels}
}

func containerDevice(name, unit, help, metric string) *Signal {
	return core.Add(ofDevice(ofContainer(name, unit, help, "irate("+metric+"[$w])")))
}

func containerLimit(name, unit, help, metric string) *Signal {
	return core.Add(ofDevice(ofContainer(name, unit, help, metric)))
}

// ofDevice gives a container's device the node's name: cAdvisor writes /dev/sda for node_exporter's
// sda.
func ofDevice(s Signal) Signal {
	s.By = append(slices.Clip(s.By), "device")
	for i, x := range s.Exprs {
		s.Exprs[i] = `label_replace(` + x + `, "device", "$1", "device", "/dev/(.+)")`
	}
	return s
}
