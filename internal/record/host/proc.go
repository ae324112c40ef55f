package host

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/base/procfs"
)

// partition matches the partitions that node_exporter excludes by default (collector diskstats,
// --collector.diskstats.device-exclude). Their I/O is already counted for the whole device.
var partition = regexp.MustCompile(`^((h|s|v|xv)d[a-z]+|nvme\d+n\d+p|mmcblk\d+p)\d+$`)

// virtual matches devices that exist on most machines without being used.
var virtual = regexp.MustCompile(`^(z?ram|loop|fd|sr|nbd)\d+$`)

// diskstats reads the devices. Loop, ram and zram devices count once they have done I/O, because a
// test database may be on one.
func (s *sampler) diskstats(b []byte) error {
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		d, ok, err := procfs.ParseDisk(line)
		if err != nil {
			return fmt.Errorf("/proc/diskstats line %d: %w", n, err)
		}

		if !ok {
			continue
		}

		// Partitions and unused devices too: cgroups refer to devices by number.
		if len(s.names) < devicesMax {
			s.names[d.Numbers] = d.Name
		}

		// A partition's requests count at its disk as well.
		if partition.MatchString(d.Name) {
			continue
		}

		if virtual.MatchString(d.Name) && !s.active[d.Name] {
			if d.Raw[0]+d.Raw[4] == 0 { // reads and writes
				continue
			}
			s.active[d.Name] = true
		}

		for i := range d.Known {
			s.add(d.Value(i), seriesKey{metric: procfs.DiskColumns[i].Metric, label: "device", value: d.Name})
		}
	}

	return nil
}

// statGauges are the lines of /proc/stat with a single number.
var statGauges = map[string]string{
	"procs_running": "node_procs_running",
	"procs_blocked": "node_procs_blocked",
	"btime":         "node_boot_time_seconds",
	"ctxt":          "node_context_switches_total",
}

func (s *sampler) stat(b []byte) error {
	cores := 0
	err := procfs.Stat(string(b), func(cpu string, ticks []uint64) {
		if cpu == "" {
			return // the sum over all CPUs
		}
		cores++
		for i, t := range ticks {
			s.add(float64(t)/procfs.UserHz,
				seriesKey{"node_cpu_seconds_total", "cpu", cpu, "mode", procfs.CPUModes[i]})
		}
	}, func(name string, value uint64) {
		if metric, ok := statGauges[name]; ok {
			s.add(float64(value), seriesKey{metric: metric})
		}
	})
	if err == nil {
		s.cores = cores
	}

	return err
}

// memory maps the lines of /proc/meminfo about the page cache and available memory to metrics.
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
	wanted := func(name string) bool { return memory[name] != "" }
	return procfs.Meminfo(string(b), wanted, func(name string, bytes int64) {
		if name == "MemTotal" {
			s.memTotal = bytes
		}
		s.add(float64(bytes), seriesKey{metric: memory[name]})
	})
}

// vmstatFields are the lines of /proc/vmstat about writeback, paging and reclaim.
var vmstatFields = map[string]bool{
	"nr_dirty": true, "nr_writeback": true, "nr_dirtied": true, "nr_written": true,
	"nr_dirty_threshold": true, "nr_dirty_background_threshold": true,
	"pgpgin": true, "pgpgout": true, "pswpin": true, "pswpout": true,
	"pgfault": true, "pgmajfault": true, "oom_kill": true,
}

func (s *sampler) vmstat(b []byte) error {
	for name, value := range procfs.Pairs(string(b)) {
		if !vmstatFields[name] {
			continue
		}
		v, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("/proc/vmstat: %s is %q: want a number", name, value)
		}
		s.add(float64(v), seriesKey{metric: "node_vmstat_" + name})
	}
	return nil
}

// exported maps the kinds of pressure to the names in node_exporter and cAdvisor.
var exported = map[string]string{"some": "waiting", "full": "stalled"}

// pressure reads a file of /proc/pressure. For the CPU, node_exporter exports only "some".
func (s *sampler) pressure(resource string, b []byte) error {
	err := procfs.Pressure(string(b), func(kind string, seconds float64) {
		if resource != "cpu" || kind != "full" {
			s.add(seconds, seriesKey{metric: "node_pressure_" + resource + "_" + exported[kind] + "_seconds_total"})
		}
	})
	if err != nil {
		return fmt.Errorf("/proc/pressure/%s: %w", resource, err)
	}
	return nil
}
