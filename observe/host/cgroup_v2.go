package host

import "strings"

// unified samples a group of version 2.
func (s *sampler) unified(dir string) {
	stat := flat(s.file(dir, "memory.stat"))
	s.each(stat, 1, map[string]string{
		"file":           "container_memory_cache",
		"anon":           "container_memory_rss",
		"file_dirty":     "plimsoll_container_memory_file_dirty_bytes",
		"file_writeback": "plimsoll_container_memory_file_writeback_bytes",
	})
	if used, ok := count(s.file(dir, "memory.current")); ok {
		s.of(used, "container_memory_usage_bytes")
		s.of(max(0, used-stat["inactive_file"]), "container_memory_working_set_bytes")
	}
	if v, ok := count(s.file(dir, "memory.max")); ok {
		s.of(v, "container_spec_memory_limit_bytes")
	}
	if v, ok := count(s.file(dir, "memory.high")); ok {
		s.of(v, "plimsoll_container_memory_high_bytes")
	}
	events := flat(s.file(dir, "memory.events"))
	for _, e := range []string{"high", "max", "oom", "oom_kill"} {
		if v, ok := events[e]; ok {
			s.of(v, "plimsoll_container_memory_events_total", "event", e)
		}
	}
	s.cpuV2(dir)
	s.ioV2(dir)
	for _, resource := range []string{"cpu", "memory", "io"} {
		if text := s.file(dir, resource+".pressure"); text != "" {
			// A file that is no pressure is left out, as the others here are.
			_ = s.totals(text, func(kind string, seconds float64) {
				s.of(seconds, "container_pressure_"+resource+"_"+kind+"_seconds_total")
			})
		}
	}
}

func (s *sampler) cpuV2(dir string) {
	s.each(flat(s.file(dir, "cpu.stat")), 1e6, map[string]string{
		"usage_usec":     "container_cpu_usage_seconds_total",
		"throttled_usec": "container_cpu_cfs_throttled_seconds_total",
	})
	s.each(flat(s.file(dir, "cpu.stat")), 1, map[string]string{
		"nr_periods":   "container_cpu_cfs_periods_total",
		"nr_throttled": "container_cpu_cfs_throttled_periods_total",
	})
	quota, period, ok := strings.Cut(s.file(dir, "cpu.max"), " ")
	if !ok {
		return
	}
	if v, ok := count(period); ok {
		s.of(v, "container_spec_cpu_period")
	}
	if v, ok := count(quota); ok {
		s.of(v, "container_spec_cpu_quota")
	}
}

// ioV2 takes io.stat and io.max: lines of a device and pairs.
func (s *sampler) ioV2(dir string) {
	s.pairs(s.file(dir, "io.stat"), map[string]string{
		"rios": "container_fs_reads_total", "wios": "container_fs_writes_total",
		"rbytes": "container_fs_reads_bytes_total", "wbytes": "container_fs_writes_bytes_total"})
	s.pairs(s.file(dir, "io.max"), map[string]string{
		"riops": "plimsoll_container_io_limit_reads_per_second", "wiops": "plimsoll_container_io_limit_writes_per_second",
		"rbps": "plimsoll_container_io_limit_read_bytes_per_second", "wbps": "plimsoll_container_io_limit_write_bytes_per_second"})
}

func (s *sampler) pairs(text string, names map[string]string) {
	devices := 0
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if devices++; devices > devicesMax {
			return
		}
		for _, pair := range f[1:] {
			key, value, _ := strings.Cut(pair, "=")
			if v, ok := count(value); ok && names[key] != "" {
				s.of(v, names[key], "device", s.device(f[0]))
			}
		}
	}
}
