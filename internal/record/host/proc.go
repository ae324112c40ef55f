package host

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	sectorBytes = 512
	userHz      = 100
	kib         = 1024
)

// diskColumns are the columns of /proc/diskstats after major, minor and name, in the kernel's
// order. Kernels before 4.18 end after the eleventh (discards), before 5.5 after the fifteenth
// (flushes).
var diskColumns = []struct {
	metric string
	scale  float64
}{
	{"node_disk_reads_completed_total", 1},
	{"node_disk_reads_merged_total", 1},
	{"node_disk_read_bytes_total", sectorBytes},
	{"node_disk_read_time_seconds_total", 1e-3},
	{"node_disk_writes_completed_total", 1},
	{"node_disk_writes_merged_total", 1},
	{"node_disk_written_bytes_total", sectorBytes},
	{"node_disk_write_time_seconds_total", 1e-3},
	{"node_disk_io_now", 1},
	{"node_disk_io_time_seconds_total", 1e-3},
	{"node_disk_io_time_weighted_seconds_total", 1e-3},
	{"node_disk_discards_completed_total", 1},
	{"node_disk_discards_merged_total", 1},
	{"node_disk_discarded_sectors_total", 1},
	{"node_disk_discard_time_seconds_total", 1e-3},
	{"node_disk_flush_requests_total", 1},
	{"node_disk_flush_requests_time_seconds_total", 1e-3},
}

// partition matches the partitions that node_exporter leaves out by default (collector diskstats,
// --collector.diskstats.device-exclude). Their I/O is already counted for their device.
var partition = regexp.MustCompile(`^((h|s|v|xv)d[a-z]+|nvme\d+n\d+p|mmcblk\d+p)\d+$`)

// virtual matches devices that exist unused on most machines.
var virtual = regexp.MustCompile(`^(z?ram|loop|fd|sr|nbd)\d+$`)

// diskstats reads the devices. Loop, ram and zram devices count once they have done I/O: a test's
// database may be on one.
func (s *sampler) diskstats(b []byte) error {
	for n, line := range strings.Split(string(b), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 3+11 {
			if len(f) == 7 {
				continue // a partition in the format of kernels 2.6
			}
			return fmt.Errorf("/proc/diskstats line %d has %d fields, not 14 or more", n+1, len(f))
		}
		name := f[2]
		if len(s.names) < devicesMax {
			s.names[f[0]+":"+f[1]] = name
		}
		if partition.MatchString(name) {
			continue
		}
		var values [17]uint64
		known := 0
		for i := range min(len(f)-3, len(values)) {
			v, err := strconv.ParseUint(f[3+i], 10, 64)
			if err != nil {
				return fmt.Errorf("/proc/diskstats line %d: field %d is %q, not a count", n+1, 4+i, f[3+i])
			}
			values[i] = v
			known++
		}
		if virtual.MatchString(name) && !s.active[name] {
			if values[0]+values[4] == 0 {
				continue
			}
			s.active[name] = true
		}
		for i := range known {
			s.add(scaled(values[i], diskColumns[i].scale), seriesKey{metric: diskColumns[i].metric, label: "device", value: name})
		}
	}
	return nil
}

// scaled divides where the scale is a fraction: 1234/1000 is the double nearest to
// 1.234, 1234*0.001 may not be.
func scaled(v uint64, scale float64) float64 {
	if scale == 1e-3 {
		return float64(v) / 1000
	}
	return float64(v) * scale
}

// cpuModes are the columns of /proc/stat's cpu lines. The following guest and guest_nice are
// contained in user and nice.
var cpuModes = []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}

// statGauges are lines of /proc/stat that are one number.
var statGauges = map[string]string{
	"procs_running": "node_procs_running",
	"procs_blocked": "node_procs_blocked",
	"btime":         "node_boot_time_seconds",
	"ctxt":          "node_context_switches_total",
}

func (s *sampler) stat(b []byte) error {
	cores := 0
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if metric, ok := statGauges[f[0]]; ok {
			v, err := strconv.ParseUint(f[1], 10, 64)
			if err != nil {
				return fmt.Errorf("/proc/stat: %s is %q, not a number", f[0], f[1])
			}
			s.add(float64(v), seriesKey{metric: metric})
			continue
		}
		cpu, ok := strings.CutPrefix(f[0], "cpu")
		if !ok || cpu == "" {
			continue // the sum over all CPUs, or a list of interrupts
		}
		cores++
		for i, mode := range cpuModes {
			if i+1 >= len(f) {
				break
			}
			v, err := strconv.ParseUint(f[i+1], 10, 64)
			if err != nil {
				return fmt.Errorf("/proc/stat: %s %s is %q, not a number", f[0], mode, f[i+1])
			}
			s.add(float64(v)/userHz, seriesKey{"node_cpu_seconds_total", "cpu", cpu, "mode", mode})
		}
	}
	s.cores = cores
	return nil
}

// memory lists the lines of /proc/meminfo about the page cache and the available memory.
var memory = map[string]string{
	"MemTotal":     "node_memory_MemTotal_bytes",
	"MemFree":      "node_memory_MemFree_bytes",
	"MemAvailable": "node_memory_MemAvailable_bytes",
	"Buffers":      "node_memory_Buffers_bytes",
	"Cached":       "node_memory_Cached_bytes",
	"Dirty":        "node_memory_Dirty_bytes",
	"Writeback":    "node_memory_Writeback_bytes",
	"SwapTotal":    "node_memory_SwapTotal_bytes",
	"SwapFree":     "node_memory_SwapFree_bytes",
}

func (s *sampler) meminfo(b []byte) error {
	for line := range strings.Lines(string(b)) {
		key, rest, ok := strings.Cut(line, ":")
		metric, wanted := memory[key]
		if !ok || !wanted {
			continue
		}
		v, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err != nil {
			return fmt.Errorf("/proc/meminfo: %s is %q, not a number of kB", key, strings.TrimSpace(rest))
		}
		if key == "MemTotal" {
			s.memTotal = v * kib
		}
		s.add(float64(v)*kib, seriesKey{metric: metric})
	}
	return nil
}

// vmstatFields are the lines of /proc/vmstat about write-back, paging and reclaim.
var vmstatFields = map[string]bool{
	"nr_dirty": true, "nr_writeback": true, "nr_dirtied": true, "nr_written": true,
	"nr_dirty_threshold": true, "nr_dirty_background_threshold": true,
	"pgpgin": true, "pgpgout": true, "pswpin": true, "pswpout": true,
	"pgfault": true, "pgmajfault": true, "oom_kill": true,
}

func (s *sampler) vmstat(b []byte) error {
	for line := range strings.Lines(string(b)) {
		key, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || !vmstatFields[key] {
			continue
		}
		v, err := strconv.ParseUint(rest, 10, 64)
		if err != nil {
			return fmt.Errorf("/proc/vmstat: %s is %q, not a number", key, rest)
		}
		s.add(float64(v), seriesKey{metric: "node_vmstat_" + key})
	}
	return nil
}

// pressure reads a file of /proc/pressure. "some" is node_exporter's waiting, "full" its stalled;
// for the CPU it exports only the first.
func (s *sampler) pressure(resource string, b []byte) error {
	err := s.totals(string(b), func(kind string, seconds float64) {
		if resource != "cpu" || kind != "stalled" {
			s.add(seconds, seriesKey{metric: "node_pressure_" + resource + "_" + kind + "_seconds_total"})
		}
	})
	if err != nil {
		return fmt.Errorf("/proc/pressure/%s: %w", resource, err)
	}
	return nil
}

// totals calls visit for "some", which is waiting, and "full", which is stalled.
func (s *sampler) totals(text string, visit func(kind string, seconds float64)) error {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		kind := map[string]string{"some": "waiting", "full": "stalled"}[f[0]]
		if kind == "" {
			continue
		}
		total, ok := strings.CutPrefix(f[len(f)-1], "total=")
		v, err := strconv.ParseUint(total, 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("%q has no total in microseconds", strings.TrimSpace(line))
		}
		visit(kind, float64(v)/1e6)
	}
	return nil
}
