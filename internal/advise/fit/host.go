package fit

import (
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Fact returns a setting from the sources, by the first of its names that exists.
func (f *Fitting) Fact(names ...string) string {
	for _, n := range names {
		if v := f.Facts[n]; v != "" {
			return v
		}
	}
	return ""
}

// Number returns a fact as a number, NaN if it is not one.
func (f *Fitting) Number(names ...string) float64 {
	x, err := strconv.ParseFloat(f.Fact(names...), 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// host adds the machine and its kernel's settings.
func (f *Fitting) host() {
	if name := f.Fact(rules.FactMachine); name != "" {
		if _, err := f.opt.Catalog.Instance(name); err == nil {
			f.Add("host.instance", Word(name),
				Measured, "reported by the source; implies cores, memory and the volumes' shared limits")
			f.pageCache()
			return
		}
		// Fall through to cores and memory: an unknown type has no catalogue entry to derive them
		// from.
		f.Remark("the source reports instance type %q, which is not in the catalogue", name)
	}

	cores := f.Number("cores")

	// Without a fact, count the CPUs that the metrics report.
	if math.IsNaN(cores) {
		cores = f.Gauge(rules.CPUCores)
	}

	if cores >= 1 {
		f.Add("host.cores", Count(cores), Measured, "cores of the host")
	} else {
		f.Add("host.cores", Count(4), Assumed, "cores of the host; 4 assumed").AsDefault().ToKnow("nproc")
	}

	memory := f.Number("memory_bytes")
	if math.IsNaN(memory) {
		memory = f.Gauge(rules.MemoryTotal)
	}

	if memory > 0 {
		f.Add("host.memory", Exactly(memory), Measured, "memory of the host")
	} else {
		f.Add("host.memory", Quantity{"16GiB", float64(16 * units.GiB), "bytes"}, Assumed,
			"memory of the host; 16 GiB assumed").AsDefault().ToKnow("free -b")
	}

	f.pageCache()
}

// pageCache adds the kernel's write-back settings.
func (f *Fitting) pageCache() {
	f.blockLayer()
	const how = "sysctl vm.dirty_background_bytes vm.dirty_background_ratio"
	const said = "the source reports the kernel's setting"
	reported := f.Fact("vm_dirty_background")

	bytes, share := f.Number("vm.dirty_background_bytes"), f.Number("vm.dirty_background_ratio")

	// Prefer bytes to a ratio, like the kernel: setting one clears the other.
	switch size, err := units.ParseSize(reported); {
	case reported != "" && err == nil && size > 0:
		f.Add("host.dirty_background_bytes", Exactly(float64(size)), Measured, said)
	case strings.HasSuffix(reported, "%"):
		if r, err := units.ParseRatio(strings.ReplaceAll(reported, " ", "")); err == nil {
			f.Add("host.dirty_background_ratio", Ratio(float64(r)), Measured, said)
		}
	case bytes > 0:
		f.Add("host.dirty_background_bytes", Exactly(bytes), Measured, said)
	case share > 0:
		f.Add("host.dirty_background_ratio", Ratio(share/100), Measured, said)
	default:
		v := f.Add("host.dirty_background_ratio", Ratio(0.10), Assumed,
			"when the kernel starts to write back its page cache; its default assumed").AsDefault().ToKnow(how)
		if most := timeline.Max(f.One(rules.MemoryDirty)); most > 0 {
			v.Evidence += "; the page cache held at most " + units.Bytes(most) + " of dirty data"
		}
	}

	for _, x := range []struct {
		key, fact string
		as        func(float64) Quantity
	}{
		{"host.dirty_bytes", "vm.dirty_bytes", Exactly},
		{"host.dirty_ratio", "vm.dirty_ratio", func(p float64) Quantity { return Ratio(p / 100) }},
		{"host.dirty_expire", "vm.dirty_expire_centisecs", func(c float64) Quantity { return Duration(c / 100) }},
		{"host.dirty_expire", "vm_dirty_expire_seconds", Duration},
		{"host.writeback_interval", "vm.dirty_writeback_centisecs",
			func(c float64) Quantity { return Duration(c / 100) }},
	} {
		if n := f.Number(x.fact); n > 0 {
			f.Add(x.key, x.as(n), Measured, said)
		}
	}
}

// seconds converts a number of seconds to a Go duration.
func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }
