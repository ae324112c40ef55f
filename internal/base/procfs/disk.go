package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// DiskColumns are the counters of a block device in the kernel's order (Linux,
// Documentation/admin-guide/iostats.rst), with node_exporter's names and the factor from the
// kernel's unit to the metric's. Kernels before 4.18 end after the eleventh (no discards), before
// 5.5 after the fifteenth (no flushes).
var DiskColumns = [17]struct {
	Metric string
	scale  float64
}{
	{"node_disk_reads_completed_total", 1},
	{"node_disk_reads_merged_total", 1},
	{"node_disk_read_bytes_total", SectorBytes},
	{"node_disk_read_time_seconds_total", 1e-3},
	{"node_disk_writes_completed_total", 1},
	{"node_disk_writes_merged_total", 1},
	{"node_disk_written_bytes_total", SectorBytes},
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

// columnsLeast is the number of counters that every kernel since 2.6.25 has.
const columnsLeast = 11

// A Disk is a line of /proc/diskstats.
type Disk struct {
	Numbers string // "259:0"
	Name    string
	Counters
}

// Counters are the counters of a block device, in the order of [DiskColumns].
type Counters struct {
	Raw   [17]uint64
	Known int // how many of them this kernel has
}

// Value is a counter in the unit of its metric.
func (c *Counters) Value(i int) float64 {
	if DiskColumns[i].scale == 1e-3 {
		return float64(c.Raw[i]) / 1000 // division gives the nearest double; multiplying by 1e-3 may not
	}
	return float64(c.Raw[i]) * DiskColumns[i].scale
}

// ParseDisk reads a line of /proc/diskstats. ok is false for an empty line, and for a partition in
// the format of kernels before 2.6.25.
func ParseDisk(line string) (d Disk, ok bool, err error) {
	f := strings.Fields(line)
	switch {
	case len(f) == 0 || len(f) == 3+4:
		return d, false, nil
	case len(f) < 3+columnsLeast:
		return d, false, fmt.Errorf("%d fields: want at least %d", len(f), 3+columnsLeast)
	}
	d.Numbers, d.Name = f[0]+":"+f[1], f[2]
	if err := d.parse(f[3:], 4); err != nil {
		return d, false, err
	}
	return d, true, nil
}

// DiskStat reads /sys/block/NAME/stat of this machine.
func DiskStat(name string) (Counters, error) {
	path := filepath.Join("/sys/block", name, "stat")
	text, err := os.ReadFile(path)
	if err != nil {
		return Counters{}, err
	}
	c, err := ParseDiskStat(string(text))
	if err != nil {
		return Counters{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseDiskStat reads the text of /sys/block/NAME/stat (Linux, Documentation/block/stat.rst).
func ParseDiskStat(text string) (c Counters, err error) {
	f := strings.Fields(text)
	if len(f) < columnsLeast {
		return c, fmt.Errorf("%d fields: want at least %d", len(f), columnsLeast)
	}
	return c, c.parse(f, 1)
}

// parse reads the counters from fields. first is the number of the first field in its line, for
// errors.
func (c *Counters) parse(fields []string, first int) error {
	c.Known = min(len(fields), len(c.Raw))
	for i := range c.Known {
		v, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return fmt.Errorf("field %d is %q: want a count", first+i, fields[i])
		}
		c.Raw[i] = v
	}
	return nil
}
