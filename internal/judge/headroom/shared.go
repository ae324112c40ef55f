package headroom

import (
	"math"
	"regexp"
	"slices"
	"strconv"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// physical matches devices that may be cloud volumes, as opposed to devices built from them.
var physical = regexp.MustCompile(`^(nvme\d+n\d+|xvd[a-z]+|sd[a-z]+|vd[a-z]+)$`)

// local is the model name of instance-store disks, which do not count towards the instance's EBS
// limits (Amazon EC2 User Guide, "NVMe instance store").
const local = "Amazon EC2 NVMe Instance Storage"

// The instance's burst: 30 minutes at least once in 24 hours (Amazon EC2 User Guide, "EBS-optimized
// instances").
const (
	burstS = 30 * 60.0
	everyS = 24 * 3600.0
)

// shared adds the limits of the instance, for all its volumes together.
func (f *finder) shared() {
	kind, from, ok := machineOf(f.Case, f.opt.Known)
	if !ok {
		return
	}

	for _, x := range []struct {
		key, title, unit string
		signal           *rules.Signal
		base, most       float64
	}{
		{"instance_iops", "total IOPS", "1/s", rules.DiskOps, kind.Baseline.IOPS, kind.Maximum.IOPS},
		{"instance_throughput", "total throughput", "bytes/s", rules.DiskMoved, kind.Baseline.Throughput,
			kind.Maximum.Throughput},
	} {
		// All devices together, because the limit is the instance's.
		used := f.together(x.signal)
		if used == nil || x.most <= 0 {
			continue
		}

		r := resource{key: x.key, title: x.title, subject: kind.Name, unit: x.unit, rate: true, used: used,
			limits: []float64{x.most}, from: from,
			text: kind.Name + "'s EBS limit", periodS: f.period(x.signal)}
		if x.base < x.most {
			r.text += ", for 30 minutes a day; sustained, " + rateText(x.base, x.unit)
		}

		f.resources = append(f.resources, r)
		if x.base < x.most {
			f.instanceBurst(r, x.base, x.most)
		}
	}
}

// instanceBurst adds the remaining time above the baseline, as a bucket of operations or bytes.
func (f *finder) instanceBurst(of resource, base, most float64) {
	b := &bucket{capacity: (most - base) * burstS, net: make([]float64, len(of.used))}
	b.refill = b.capacity / (everyS - burstS)

	for k, x := range of.used {
		if b.net[k] = x - base; x < base {
			b.net[k] = -min(b.refill, base-x)
		}
	}

	unit := "operations"
	if of.unit == "bytes/s" {
		unit = "bytes"
	}

	f.bucket(&resource{key: of.key + "_credits", title: of.title + " burst", subject: of.subject, unit: unit,
		from: of.from,
		text: of.subject + " can burst for 30 minutes at least once in 24 hours", then: "the limit falls to " +
			rateText(base, of.unit), periodS: of.periodS}, b)
}

// together sums the use of all cloud volumes; nil if no device is known to be one.
func (f *finder) together(signal *rules.Signal) []float64 {
	var out []float64
	for _, t := range f.Signal(signal) {
		device := t.Labels.Get("device")
		simulated := f.Facts["model."+device] != "" && !physical.MatchString(device)
		if f.Facts["model."+device] == local || !physical.MatchString(device) && !simulated {
			continue
		}

		if out == nil {
			out = timeline.Unknown(len(t.Values))
		}
		timeline.Add(out, t.Values)
	}

	return out
}

// burstBalances adds the credits that the provider reports.
func (f *finder) burstBalances() {
	for _, x := range []struct {
		key, title, label string
		signal            *rules.Signal
	}{
		{"volume_credits", "burst credits", "volume_id", rules.EBSBurstBalance},
		{"instance_iops_credits", "total IOPS burst", "instance_id", rules.InstanceIOBalance},
		{"instance_throughput_credits", "total throughput burst", "instance_id", rules.InstanceByteBalance},
	} {
		for _, t := range f.Signal(x.signal) {
			if f.taken[t.Labels.Get(x.label)] && x.signal == rules.EBSBurstBalance {
				continue
			}

			used := make([]float64, len(t.Values))
			for k, left := range t.Values {
				used[k] = 1 - left
			}

			r := resource{key: x.key, title: x.title, subject: t.Labels.Get(x.label), unit: "ratio", used: used,
				limits: []float64{1}, from: Measured,
				text: "balance reported by the provider", growth: drains, periodS: f.period(x.signal),
				then: "the limit falls to the baseline"}

			f.resources = append(f.resources, r)
		}
	}
}

// fileSystemsMax bounds the file systems that are listed.
const fileSystemsMax = 256

// fileSystems adds the space and inodes of file systems.
func (f *finder) fileSystems() {
	entered := 0
	var seen [][]float64

	sizes := map[string]float64{}
	for _, kind := range []struct {
		key, title, unit, label, then string
		free, size                    *rules.Signal
	}{
		{"filesystem_space", "space", "bytes", "device", "writes fail", rules.FilesystemAvailable,
			rules.FilesystemSize},
		{"filesystem_space", "space", "bytes", "mount_point", "writes fail", rules.MountAvailable, rules.MountSize},
		{"filesystem_inodes", "inodes", "", "device", "no file can be created", rules.FilesystemInodesFree,
			rules.FilesystemInodes},
	} {
		for _, t := range f.Signal(kind.free) {
			on := t.Labels.Get(kind.label)
			size := f.For(kind.size, kind.label, on)
			if size == nil || !(timeline.Max(size) > 0) {
				continue
			}

			// Both figures are sampled, because a file system may be enlarged while it is watched.
			used := make([]float64, len(size))
			for k := range size {
				used[k] = size[k] - t.Values[k]
			}

			// A mount point that has the size of its device, or the same use as one before, is the
			// same file system.
			again := kind.label == "mount_point" &&
				(math.Abs(sizes[device(f.Facts["mount."+on])]/timeline.Max(size)-1) < 0.01 ||
					slices.ContainsFunc(seen, func(s []float64) bool { return same(s, used) }))
			if entered++; entered > fileSystemsMax || !(timeline.Max(used) > 0) || again {
				continue // empty, mounted twice, or reported by two sources
			}

			seen = append(seen, used)
			sizes[on] = timeline.Max(size)
			r := resource{key: kind.key, title: kind.title, subject: on, unit: kind.unit, used: used, limits: size,
				from: Measured,
				text: "size of the file system, without the blocks reserved for root", growth: fills,
				periodS: f.period(kind.free),
				then:    kind.then}

			f.resources = append(f.resources, r)
		}
	}
}

// same reports whether two series are identical, judging by their first, middle and last values.
func same(a, b []float64) bool {
	for _, k := range []int{0, len(a) / 2, len(a) - 1} {
		if a[k] != b[k] && !(math.IsNaN(a[k]) && math.IsNaN(b[k])) {
			return false
		}
	}
	return true
}

// pageCache adds the kernel's limits on dirty pages: where background writeback starts, and where
// writers are throttled (Linux, mm/page-writeback.c: halfway between the two limits).
func (f *finder) pageCache() {
	dirty := f.One(rules.MemoryDirty)
	background, ok := f.threshold("vm.dirty_background_bytes", "vm.dirty_background_ratio")
	most, known := f.threshold("vm.dirty_bytes", "vm.dirty_ratio")
	if dirty == nil || !ok || !known {
		return
	}

	under := f.One(rules.MemoryWriteback)
	used := make([]float64, len(dirty))

	held := make([]float64, len(dirty))
	for k := range used {
		// Pages under writeback count too: the kernel compares the sum with its limits.
		used[k] = dirty[k]
		if under != nil && !math.IsNaN(under[k]) {
			used[k] += under[k]
		}
		// As the kernel does if the background limit is not below the other (domain_dirty_limits).
		if background[k] >= most[k] {
			background[k] = most[k] / 2
		}
		held[k] = (background[k] + most[k]) / 2
	}

	add := func(key, title, text string, limits []float64) {
		f.resources = append(f.resources,
			resource{key: key, title: title, subject: "page cache", unit: "bytes", used: used, limits: limits,
				from: Measured, text: text, periodS: f.period(rules.MemoryDirty)})
	}

	add("dirty_background", "dirty pages, background",
		"vm.dirty_background_bytes or _ratio: background writeback starts here", background)
	add("dirty_throttle", "dirty pages, throttle",
		"halfway between vm.dirty_background and vm.dirty: writers are throttled from here on", held)
}

// threshold returns a limit on dirty bytes for each cell: a setting in bytes, or a share of the
// available memory.
func (f *finder) threshold(inBytes, ratio string) ([]float64, bool) {
	out := make([]float64, f.Grid.N)
	if b, ok := number(f.Facts[inBytes]); ok && b > 0 {
		for k := range out {
			out[k] = b
		}
		return out, true
	}

	share, ok := number(f.Facts[ratio])
	available := f.One(rules.MemoryAvailable)
	if !ok || share <= 0 || available == nil {
		return nil, false
	}

	for k, x := range available {
		out[k] = share / 100 * x
	}

	return out, true
}

// engines adds the databases' own limits.
func (f *finder) engines() {
	for _, e := range f.Pack.Engines() {
		for _, b := range e.Bounds {
			for _, t := range f.Signal(b.Used) {
				r := resource{key: b.Resource, title: b.Title, subject: e.Product, unit: b.Unit, used: t.Values,
					from: Own, text: b.Text,
					then: b.Then, periodS: f.period(b.Used)}
				if b.Unit == "" {
					r.unit = b.Used.Unit
				}

				// Some limits apply to a function of the metric, such as the share of a queue.
				if b.Level != nil {
					r.used = b.Level(&f.Signals, t.Values)
				}

				if b.Fills {
					r.growth = fills
				}

				for _, label := range b.Used.By {
					if v := t.Labels.Get(label); v != "" {
						r.subject += " " + v
					}
				}

				if r.limits = f.bound(b, t); r.limits == nil {
					continue // not measured
				}

				f.resources = append(f.resources, r)
			}
		}
	}
}

// bound returns an engine's limit: a constant, or the series with the same labels as the use.
func (f *finder) bound(b rules.Bound, of timeline.Track) []float64 {
	if b.Fact != nil {
		if x, ok := b.Fact(f.Facts); ok {
			return []float64{x}
		}
	}

	if b.Limit == nil {
		return []float64{b.At}
	}

	return f.SameAs(b.Limit, of.Labels, b.Limit.By...)
}

func number(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}
