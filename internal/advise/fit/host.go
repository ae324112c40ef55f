package fit

import (
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
)

// fact is a setting the sources told, by the first of its names that is there.
func (f *fitting) fact(names ...string) string {
	for _, n := range names {
		if v := f.Facts[n]; v != "" {
			return v
		}
	}
	return ""
}

// number is a fact as a number, NaN if it is none.
func (f *fitting) number(names ...string) float64 {
	x, err := strconv.ParseFloat(f.fact(names...), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// host enters the machine and its kernel's settings.
func (f *fitting) host() {
	if name := f.fact("instance_type"); name != "" {
		if _, err := catalog.Instance(name); err == nil {
			f.add("host.instance", word(name), Measured, "the source tells it; cores, memory and what its volumes share follow")
			f.pageCache()
			return
		}
		f.remark("the source tells of an instance type %q that the catalogue does not know", name)
	}
	cores := f.number("cores")
	if math.IsNaN(cores) {
		cores = f.gauge("cpu_cores:count")
	}
	if cores >= 1 {
		f.add("host.cores", count(cores), Measured, "cores of the host")
	} else {
		f.add("host.cores", count(4), Assumed, "the host's cores; 4 taken").left().measure("nproc")
	}
	memory := f.number("memory_bytes")
	if math.IsNaN(memory) {
		memory = f.gauge("memory_total:bytes")
	}
	if memory > 0 {
		f.add("host.memory", exactly(memory), Measured, "memory of the host")
	} else {
		f.add("host.memory", quantity{"16GiB", float64(16 * units.GiB), "bytes"}, Assumed, "the host's memory; 16 GiB taken").left().measure("free -b")
	}
	f.pageCache()
}

// pageCache enters when the kernel writes back.
func (f *fitting) pageCache() {
	f.add("host.filesystem", word("xfs"), Assumed, "the file system; xfs taken, as MongoDB advises (ext4 costs the same in the model)").left().measure("findmnt")
	const how = "sysctl vm.dirty_background_bytes vm.dirty_background_ratio"
	const said = "the source tells the kernel's setting"
	told := f.fact("vm_dirty_background")
	bytes, share := f.number("vm.dirty_background_bytes"), f.number("vm.dirty_background_ratio")
	switch size, err := units.ParseSize(told); {
	case told != "" && err == nil && size > 0:
		f.add("host.dirty_background_bytes", exactly(float64(size)), Measured, said)
	case strings.HasSuffix(told, "%"):
		if r, err := units.ParseRatio(strings.ReplaceAll(told, " ", "")); err == nil {
			f.add("host.dirty_background_ratio", ratio(float64(r)), Measured, said)
		}
	case bytes > 0:
		f.add("host.dirty_background_bytes", exactly(bytes), Measured, said)
	case share > 0:
		f.add("host.dirty_background_ratio", ratio(share/100), Measured, said)
	default:
		v := f.add("host.dirty_background_ratio", ratio(0.10), Assumed, "from when on the kernel writes its page cache back; its default taken").left().measure(how)
		if most := max0(f.one("memory_dirty:bytes")); most > 0 {
			v.Evidence += "; the page cache held " + units.Bytes(most) + " dirty at most"
		}
	}
	for _, x := range []struct {
		key, fact string
		as        func(float64) quantity
	}{
		{"host.dirty_bytes", "vm.dirty_bytes", exactly},
		{"host.dirty_ratio", "vm.dirty_ratio", func(p float64) quantity { return ratio(p / 100) }},
		{"host.dirty_expire", "vm.dirty_expire_centisecs", func(c float64) quantity { return duration(c / 100) }},
		{"host.dirty_expire", "vm_dirty_expire_seconds", duration},
		{"host.writeback_interval", "vm.dirty_writeback_centisecs", func(c float64) quantity { return duration(c / 100) }},
	} {
		if n := f.number(x.fact); n > 0 {
			f.add(x.key, x.as(n), Measured, said)
		}
	}
}

func max0(values []float64) float64 {
	m := 0.0
	for _, x := range values {
		m = max(m, x)
	}
	return m
}

// seconds is a number of seconds as a Go duration.
func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }
