package host

import "strings"

// unlimitedBytes is from where a limit of version 1 is none: the kernel writes the largest number of pages (PAGE_COUNTER_MAX), in bytes.
const unlimitedBytes = 1 << 62

func (s *sampler) memoryV1(dir string) {
	stat := flat(s.file(dir, "memory.stat"))
	// The totals are those with the groups below it, as version 2 counts.
	s.each(stat, 1, map[string]string{
		"total_cache":     "container_memory_cache",
		"total_rss":       "container_memory_rss",
		"total_dirty":     "plimsoll_container_memory_file_dirty_bytes",
		"total_writeback": "plimsoll_container_memory_file_writeback_bytes",
	})
	if used, ok := count(s.file(dir, "memory.usage_in_bytes")); ok {
		s.of(used, "container_memory_usage_bytes")
		s.of(max(0, used-stat["total_inactive_file"]), "container_memory_working_set_bytes")
	}
	if v, ok := count(s.file(dir, "memory.limit_in_bytes")); ok && v < unlimitedBytes {
		s.of(v, "container_spec_memory_limit_bytes")
	}
	if v, ok := count(s.file(dir, "memory.failcnt")); ok {
		s.of(v, "container_memory_failcnt")
	}
}

func (s *sampler) cpuV1(dir string) {
	stat := flat(s.file(dir, "cpu.stat"))
	s.each(stat, 1, map[string]string{
		"nr_periods":   "container_cpu_cfs_periods_total",
		"nr_throttled": "container_cpu_cfs_throttled_periods_total",
	})
	s.each(stat, 1e9, map[string]string{"throttled_time": "container_cpu_cfs_throttled_seconds_total"})
	if v, ok := count(s.file(dir, "cpu.cfs_period_us")); ok {
		s.of(v, "container_spec_cpu_period")
	}
	if v, ok := count(s.file(dir, "cpu.cfs_quota_us")); ok { // -1: none
		s.of(v, "container_spec_cpu_quota")
	}
}

func (s *sampler) cpuacctV1(dir string) {
	if v, ok := count(s.file(dir, "cpuacct.usage")); ok {
		s.of(v/1e9, "container_cpu_usage_seconds_total")
	}
}

// blkioV1 takes what passes the throttle, and its limits. Version 1 sees direct I/O and reads only: what the page cache writes back is
// nobody's.
func (s *sampler) blkioV1(dir string) {
	for _, x := range [][2]string{{"io_serviced", ""}, {"io_service_bytes", "_bytes"}} {
		devices := 0
		for line := range strings.Lines(s.file(dir, "blkio.throttle."+x[0])) {
			f := strings.Fields(line) // 8:0 Read 123
			if len(f) != 3 {
				continue
			}
			if devices++; devices > devicesMax {
				break
			}
			kind := map[string]string{"Read": "reads", "Write": "writes"}[f[1]]
			if v, ok := count(f[2]); ok && kind != "" {
				s.of(v, "container_fs_"+kind+x[1]+"_total", "device", s.device(f[0]))
			}
		}
	}
	for _, x := range [][2]string{{"read_iops", "reads"}, {"write_iops", "writes"}, {"read_bps", "read_bytes"}, {"write_bps", "write_bytes"}} {
		devices := 0
		for line := range strings.Lines(s.file(dir, "blkio.throttle."+x[0]+"_device")) {
			f := strings.Fields(line) // 8:0 3000
			if devices++; len(f) != 2 || devices > devicesMax {
				continue
			}
			if v, ok := count(f[1]); ok {
				s.of(v, "plimsoll_container_io_limit_"+x[1]+"_per_second", "device", s.device(f[0]))
			}
		}
	}
}
