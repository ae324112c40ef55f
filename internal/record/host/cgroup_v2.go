package host

import (
	"math"
	"strings"

	"plimsoll/internal/base/procfs"
)

// unified samples a group of version 2, and for each resource the level with the lowest limit.
func unified(levels []level) {
	withBinding(levels, level.bytesV2, level.memoryV2)
	withBinding(levels, level.cpusV2, level.cpuV2)
	ioV2(levels)
}

// bytesV2 returns the memory limit of the group: above memory.high its threads are put to sleep, at
// memory.max they wait.
func (l level) bytesV2() (least float64, ok bool) {
	least = math.Inf(1)
	for _, name := range []string{"memory.max", "memory.high"} {
		if v, limited := count(l.file(name)); limited && v < least {
			least, ok = v, true
		}
	}
	return least, ok
}

func (l level) memoryV2() {
	stat := flat(l.file("memory.stat"))
	l.each(stat, 1, map[string]string{
		"file":           "container_memory_cache",
		"anon":           "container_memory_rss",
		"file_dirty":     "plimsoll_container_memory_file_dirty_bytes",
		"file_writeback": "plimsoll_container_memory_file_writeback_bytes",
	})

	l.memory("memory.current", stat["inactive_file"])
	l.single("memory.max", "container_spec_memory_limit_bytes")
	l.single("memory.high", "plimsoll_container_memory_high_bytes")

	events := flat(l.file("memory.events"))
	for _, e := range []string{"high", "max", "oom", "oom_kill"} {
		if v, ok := events[e]; ok {
			l.of(v, "plimsoll_container_memory_events_total", "event", e)
		}
	}

	l.pressure("memory")
}

// pressure reads how long the group waited for a resource. Like other files here, it is skipped if
// it cannot be parsed.
func (l level) pressure(resource string) {
	if text := l.file(resource + ".pressure"); text != "" {
		_ = procfs.Pressure(text, func(kind string, seconds float64) {
			l.of(seconds, "container_pressure_"+resource+"_"+exported[kind]+"_seconds_total")
		})
	}
}

func (l level) cpusV2() (float64, bool) {
	q, period, _ := strings.Cut(l.file("cpu.max"), " ")
	return quota(q, period)
}

func (l level) cpuV2() {
	l.pressure("cpu")
	l.each(flat(l.file("cpu.stat")), 1e6, map[string]string{
		"usage_usec":     "container_cpu_usage_seconds_total",
		"throttled_usec": "container_cpu_cfs_throttled_seconds_total",
	})

	l.each(flat(l.file("cpu.stat")), 1, map[string]string{
		"nr_periods":   "container_cpu_cfs_periods_total",
		"nr_throttled": "container_cpu_cfs_throttled_periods_total",
	})

	quota, period, ok := strings.Cut(l.file("cpu.max"), " ")
	if !ok {
		return
	}

	if v, ok := count(period); ok {
		l.of(v, "container_spec_cpu_period")
	}

	if v, ok := count(quota); ok {
		l.of(v, "container_spec_cpu_quota")
	}
}

// ioMax maps the limits in a line of io.max to metrics.
var ioMax = map[string]string{
	"riops": "plimsoll_container_io_limit_reads_per_second",
	"wiops": "plimsoll_container_io_limit_writes_per_second",
	"rbps":  "plimsoll_container_io_limit_read_bytes_per_second",
	"wbps":  "plimsoll_container_io_limit_write_bytes_per_second"}

var ioStat = map[string]string{
	"rios": "container_fs_reads_total", "wios": "container_fs_writes_total",
	"rbytes": "container_fs_reads_bytes_total", "wbytes": "container_fs_writes_bytes_total"}

// ioV2 reads io.stat and io.max. For each device and kind, it reports the io.max of the level with
// the lowest limit; of a parent, it reports only the devices that such a limit applies to.
func ioV2(levels []level) {
	type limit struct{ device, key string }
	type place struct {
		at    int
		value float64
	}

	binding := map[limit]place{}
	// Limits of all levels apply, so only the tightest one can hold requests back.
	for i, l := range levels {
		visit(l.file("io.max"), func(device, key string, v float64) {
			k := limit{device, key}
			if b, ok := binding[k]; ioMax[key] != "" && (!ok || v < b.value) {
				binding[k] = place{i, v}
			}
		})
	}

	for i, l := range levels {
		// The first level, the group itself, is always reported. A parent's I/O includes that of
		// its other children.
		limited := map[string]bool{}
		visit(l.file("io.max"), func(device, key string, v float64) {
			if b, ok := binding[limit{device, key}]; ok && b.at == i {
				limited[device] = true
				l.of(v, ioMax[key], "device", l.s.device(device))
			}
		})

		if i > 0 && len(limited) == 0 {
			continue
		}

		visit(l.file("io.stat"), func(device, key string, v float64) {
			if name := ioStat[key]; name != "" && (i == 0 || limited[device]) {
				l.of(v, name, "device", l.s.device(device))
			}
		})

		l.pressure("io")
	}
}

// visit parses lines of a device and key=value pairs. It skips values that are "max".
func visit(text string, emit func(device, key string, v float64)) {
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
			if v, ok := count(value); ok {
				emit(f[0], key, v)
			}
		}
	}
}
