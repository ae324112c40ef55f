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

// A use is a device and the volume that it represents.
type use struct {
	volume, device string
	known          Known
	why            string
}

// A device with less than this share of all bytes and of all requests is not the database's.
const deviceShareMin = 0.05

// A log's device is written about as often as the log is synced, because a sync is one write or a
// few; the data's device is hardly written between checkpoints.
const logWritesMin = 0.8

// useDevices finds which device is which volume of the engine: as the options say, by name if a
// device is named like a volume (in a recording of a simulation or of the lab), else by what it
// does.
func (f *Fitting) useDevices() error {
	busy := f.traffic()
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
		return &MissingError{What: "the device that the " + main + " lies on",
			From: "say which it is: --device " + main + "=NAME, one of " + strings.Join(names(busy), ", ")}
	}

	return nil
}

// NoDevices is the error of a recording without device statistics.
func (f *Fitting) NoDevices() error {
	e := &MissingError{
		What:    "how the volumes were used",
		Metrics: []string{"node_disk_writes_completed_total"},
		From:    "node_exporter gives it, so does S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log on the database's host",
	}
	for _, x := range f.opt.Engines {
		if x.Part.DeviceMetric != "" {
			e.Metrics = append(e.Metrics, x.Part.DeviceMetric)
			e.From += ", and " + x.Part.DeviceMetricFrom
		}
	}
	return e
}

// A flow is how much a device did.
type flow struct {
	device       string
	bytes, ops   float64 // means per second
	bytesOf, ofS []float64
}

func names(flows []flow) []string {
	var out []string
	for _, x := range flows {
		out = append(out, x.device)
	}
	return out
}

// traffic is what every device did, the busiest first, without devices that repeat another one's
// I/O: the parts of a stripe, a partition, a loop device's file system.
func (f *Fitting) traffic() []flow {
	var out []flow
	for _, t := range f.Signal(rules.DiskMoved) {
		dev := t.Labels.Get("device")
		ops := f.For(rules.DiskOps, "device", dev)
		if m := timeline.Mean(t.Values); ops != nil && m > 0 {
			out = append(out, flow{dev, m, timeline.Mean(ops), t.Values, ops})
		}
	}

	slices.SortStableFunc(out, func(a, b flow) int { return cmp.Compare(b.bytes, a.bytes) })
	var kept []flow
	for _, x := range out {
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
				From: "its volumes are called " + strings.Join(f.volumes, ", ")}
		}
		if f.For(rules.DiskOps, "device", dev) == nil {
			return &MissingError{What: fmt.Sprintf("a device %q, given as %s", dev, volume),
				From: "the devices that did anything are " + strings.Join(names(busy), ", ")}
		}
		f.uses = append(f.uses, use{volume, dev, Measured, "given as such"})
	}
	f.inOrder()
	return nil
}

// namedDevices uses devices that are named like the volumes; in a cluster, the leader's.
func (f *Fitting) namedDevices() {
	prefix := ""
	if leader := f.engine.Part.Leader; leader != nil {
		prefix = leader(f) + "/"
	}
	for _, volume := range f.volumes {
		for _, name := range []string{prefix + volume, volume} {
			if f.For(rules.DiskOps, "device", name) != nil {
				f.uses = append(f.uses, use{volume, name, Measured, "called so"})
				break
			}
		}
	}
}

// guessDevices takes the busiest device for the data's, and a second one that is written as often
// as the log is synced for the log's.
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

		if log != main && !taken && syncs > 0 && x.ops >= logWritesMin*syncs && busy[0].ops < logWritesMin*syncs {
			taken = true
			f.uses = append(f.uses, use{log, x.device, Inferred,
				fmt.Sprintf("it was written %s times a second, and the log synced %s times", units.Number(x.ops),
					units.Number(syncs))})
			continue
		}

		f.Remark("device %s moved %s/s as well; its volume cannot be determined, so it is left out: --device VOLUME=%s names it",
			x.device, units.Bytes(x.bytes), x.device)
	}
}

func (f *Fitting) inOrder() {
	slices.SortStableFunc(f.uses, func(a, b use) int {
		return slices.Index(f.volumes, a.volume) - slices.Index(f.volumes, b.volume)
	})
}
