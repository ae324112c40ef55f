package fit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A use is the assignment of a device to a volume.
type use struct {
	volume, device string
	known          Known
	why            string
}

// deviceShareMin is the minimum share of all bytes or of all requests for a device to count as one of the
// database's devices.
const deviceShareMin = 0.05

// logWritesMin is the minimum ratio of a log device's writes to the log's syncs. A sync causes one write
// or a few, so the rates are similar; the data device is hardly written between checkpoints.
const logWritesMin = 0.8

// useDevices assigns devices to the engine's volumes: as the options specify, by name if a device is named
// like a volume (in a recording of a simulation or of the lab), or otherwise by their I/O.
func (f *Fitting) useDevices() error {
	busy := f.traffic()

	// Explicit assignments replace guessing entirely.
	if len(f.opt.Devices) > 0 {
		if err := f.givenDevices(busy); err != nil {
			return err
		}
	} else if f.namedDevices(); len(f.uses) == 0 {
		f.guessDevices(busy)
	}

	if len(f.uses) == 0 {
		return f.NoDevices()
	}

	main := f.volumes[0]
	if needs(f.engine.Traits, main) && !slices.ContainsFunc(f.uses,
		func(u use) bool { return u.volume == main }) {
		return &MissingError{What: "the device of the volume " + main,
			From: "specify it: --device " + main + "=NAME, one of " + strings.Join(names(busy), ", ")}
	}

	return nil
}

// NoDevices returns the error for a recording without device statistics.
func (f *Fitting) NoDevices() error {
	e := &MissingError{
		What:    "how the volumes were used",
		Metrics: []string{"node_disk_writes_completed_total"},
		From:    "use node_exporter, or S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log on the database's host",
	}
	for _, x := range f.opt.Engines {
		if x.Part.DeviceMetric != "" {
			e.Metrics = append(e.Metrics, x.Part.DeviceMetric)
			e.From += ", or " + x.Part.DeviceMetricFrom
		}
	}
	return e
}

// A flow is the I/O of a device.
type flow struct {
	device     string
	bytes, ops float64 // means per second
	bytesOf    []float64
}

func names(flows []flow) []string {
	var out []string
	for _, x := range flows {
		out = append(out, x.device)
	}
	return out
}

// traffic returns the I/O of every device, the busiest first, without devices that repeat another one's
// I/O: a partition, a loop device's file system.
func (f *Fitting) traffic() []flow {
	var out []flow
	for _, t := range f.Signal(rules.DiskMoved) {
		dev := t.Labels.Get("device")
		ops := f.For(rules.DiskOps, "device", dev)
		if m := timeline.Mean(t.Values); ops != nil && m > 0 {
			out = append(out, flow{dev, m, timeline.Mean(ops), t.Values})
		}
	}

	slices.SortStableFunc(out, func(a, b flow) int { return cmp.Compare(b.bytes, a.bytes) })
	var kept []flow
	for _, x := range out {
		// The same total and the same course over time mean that one device repeats the other's
		// I/O.
		again := slices.ContainsFunc(kept, func(k flow) bool {
			const same, alike = 0.02, 0.98
			return math.Abs(x.bytes-k.bytes) <= same*k.bytes && timeline.Correlation(x.bytesOf, k.bytesOf) >= alike
		})
		if !again {
			kept = append(kept, x)
		}
	}

	return kept
}

func (f *Fitting) givenDevices(busy []flow) error {
	for _, volume := range slices.Sorted(maps.Keys(f.opt.Devices)) {
		dev := f.opt.Devices[volume]
		if !slices.Contains(f.volumes, volume) {
			return &MissingError{What: fmt.Sprintf("a volume %q of %s", volume, f.engine.Key),
				From: "its volumes are " + strings.Join(f.volumes, ", ")}
		}
		if f.For(rules.DiskOps, "device", dev) == nil {
			return &MissingError{What: fmt.Sprintf("a device %q, given as %s", dev, volume),
				From: "the active devices are " + strings.Join(names(busy), ", ")}
		}
		f.uses = append(f.uses, use{volume, dev, Measured, "as specified"})
	}
	f.inOrder()
	return nil
}

// namedDevices assigns devices that are named like the volumes; in a cluster, the leader's.
func (f *Fitting) namedDevices() {
	prefix := ""
	if leader := f.engine.Part.Leader; leader != nil {
		prefix = leader(f) + "/"
	}
	for _, volume := range f.volumes {
		for _, name := range []string{prefix + volume, volume} {
			if f.For(rules.DiskOps, "device", name) != nil {
				f.uses = append(f.uses, use{volume, name, Measured, "it has the volume's name"})
				break
			}
		}
	}
}

// guessDevices assigns the busiest device to the data, and another one that is written about as often as
// the log is synced to the log.
func (f *Fitting) guessDevices(busy []flow) {
	if len(busy) == 0 {
		return
	}

	var bytes, ops float64
	for _, x := range busy {
		bytes, ops = bytes+x.bytes, ops+x.ops
	}

	main := f.volumes[0]
	f.uses = append(f.uses, use{main, busy[0].device, Inferred,
		fmt.Sprintf("it moved %s of all bytes", units.Percent(busy[0].bytes/bytes))})
	log := f.volumes[len(f.volumes)-1]
	syncs := f.syncs()

	taken := false
	for _, x := range busy[1:] {
		if x.bytes < deviceShareMin*bytes && x.ops < deviceShareMin*ops {
			continue
		}

		// If the busiest device is written that often too, the log may be on it, and another device
		// proves nothing.
		if log != main && !taken && syncs > 0 && x.ops >= logWritesMin*syncs && busy[0].ops < logWritesMin*syncs {
			taken = true
			f.uses = append(f.uses, use{log, x.device, Inferred,
				fmt.Sprintf("it was written %s times per second, and the log was synced %s times", units.Number(x.ops),
					units.Number(syncs))})
			continue
		}

		f.Remark("device %s also moved %s/s, but cannot be assigned to a volume, so it is ignored: use --device VOLUME=%s to assign it",
			x.device, units.Bytes(x.bytes), x.device)
	}
}

func (f *Fitting) inOrder() {
	slices.SortStableFunc(f.uses, func(a, b use) int {
		return slices.Index(f.volumes, a.volume) - slices.Index(f.volumes, b.volume)
	})
}
