package host

import "strings"

// unlimitedBytes is the value from which a limit of version 1 means no limit: the kernel writes the
// largest number of pages (PAGE_COUNTER_MAX), in bytes.
const unlimitedBytes = 1 << 62

// bytesV1 returns the memory limit of the group. Without hierarchy, which older kernels allow, the
// limit of a parent does not apply to its children.
func (l level) bytesV1() (float64, bool) {
	v, ok := count(l.file("memory.limit_in_bytes"))
	above := l.id != l.s.group.id
	return v, ok && v < unlimitedBytes && !(above && strings.TrimSpace(l.file("memory.use_hierarchy")) == "0")
}

func (l level) memoryV1() {
	stat := flat(l.file("memory.stat"))

	// The totals include the groups below, like the figures of version 2.
	l.each(stat, 1, map[string]string{
		"total_cache":     "container_memory_cache",
		"total_rss":       "container_memory_rss",
		"total_dirty":     "plimsoll_container_memory_file_dirty_bytes",
		"total_writeback": "plimsoll_container_memory_file_writeback_bytes",
	})

	l.memory("memory.usage_in_bytes", stat["total_inactive_file"])

	if v, ok := count(l.file("memory.limit_in_bytes")); ok && v < unlimitedBytes {
		l.of(v, "container_spec_memory_limit_bytes")
	}

	l.single("memory.failcnt", "container_memory_failcnt")
}

func (l level) cpusV1() (float64, bool) {
	return quota(l.file("cpu.cfs_quota_us"), l.file("cpu.cfs_period_us")) // -1 means no quota
}

func (l level) cpuV1() {
	stat := flat(l.file("cpu.stat"))
	l.each(stat, 1, map[string]string{
		"nr_periods":   "container_cpu_cfs_periods_total",
		"nr_throttled": "container_cpu_cfs_throttled_periods_total",
	})
	l.each(stat, 1e9, map[string]string{"throttled_time": "container_cpu_cfs_throttled_seconds_total"})
	l.single("cpu.cfs_period_us", "container_spec_cpu_period")
	l.single("cpu.cfs_quota_us", "container_spec_cpu_quota") // -1 means no quota
}

func (l level) cpuacctV1() {
	if v, ok := count(l.file("cpuacct.usage")); ok {
		l.of(v/1e9, "container_cpu_usage_seconds_total")
	}
}

// blkioV1 reads the I/O that passed the throttle, and its limits. Version 1 sees only reads and
// direct I/O: writeback from the page cache is not accounted to any group.
func (l level) blkioV1() {
	for _, x := range [][2]string{{"io_serviced", ""}, {"io_service_bytes", "_bytes"}} {
		devices := 0
		for line := range strings.Lines(l.file("blkio.throttle." + x[0])) {
			f := strings.Fields(line) // 8:0 Read 123
			if len(f) != 3 {
				continue
			}
			if devices++; devices > devicesMax {
				break
			}
			kind := map[string]string{"Read": "reads", "Write": "writes"}[f[1]]
			if v, ok := count(f[2]); ok && kind != "" {
				l.of(v, "container_fs_"+kind+x[1]+"_total", "device", l.s.device(f[0]))
			}
		}
	}

	for _, x := range [][2]string{{"read_iops", "reads"}, {"write_iops", "writes"}, {"read_bps", "read_bytes"},
		{"write_bps", "write_bytes"}} {
		devices := 0
		for line := range strings.Lines(l.file("blkio.throttle." + x[0] + "_device")) {
			f := strings.Fields(line) // 8:0 3000
			if devices++; len(f) != 2 || devices > devicesMax {
				continue
			}
			if v, ok := count(f[1]); ok {
				l.of(v, "plimsoll_container_io_limit_"+x[1]+"_per_second", "device", l.s.device(f[0]))
			}
		}
	}
}
