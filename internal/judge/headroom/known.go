package headroom

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// An ordered is a volume of a known type.
type ordered struct {
	Volume
	parts float64 // of a stripe
	guess string  // why this device is taken for the volume; "" if it is given
	from  string  // Given or Measured
}

// A volumeName is a name of an order that has no device here.
type volumeName struct{ name, why string }

// orders are the known volumes by device, and the names without one.
func orders(c *rules.Case, known Known) (map[string]ordered, []volumeName) {
	out := map[string]ordered{}
	var lost []volumeName
	for _, name := range slices.Sorted(maps.Keys(known.Volumes)) {
		devices, guess := devicesOf(c, known, name)
		if len(devices) == 0 {
			lost = append(lost, volumeName{name, "no device of the recording is called " + name + "; --device " +
				name + "=DEVICE names it"})
			continue
		}

		for _, on := range devices {
			o, err := orderOf(c, known.Volumes[name], on)
			if err != nil {
				lost = append(lost, volumeName{on, err.Error()})
				continue
			}
			o.guess, o.from = guess, Given
			out[on] = o
		}
	}

	return out, append(lost, described(c, known, out)...)
}

// described adds the volumes that sources describe, except those that a user did, and returns those
// whose limits are not known all the same.
func described(c *rules.Case, known Known, out map[string]ordered) (lost []volumeName) {
	if known.Described == nil {
		return nil
	}

	for _, t := range c.Signal(rules.DiskOps) {
		device := t.Labels.Get("device")
		text := c.Facts["volume."+device]
		if id := c.Facts["volume_id."+device]; text == "" && id != "" {
			text = c.Facts["volume."+id]
		}

		if _, given := out[device]; given || text == "" {
			continue
		}

		offer, err := known.Described(text)
		var o ordered
		if err == nil {
			o, err = orderOf(c, offer, device)
		}

		if err != nil {
			lost = append(lost, volumeName{device, "its provider describes it as " + text + ": " + err.Error()})
			continue
		}

		o.from = Measured
		out[device] = o
	}

	return lost
}

// Provisioned are the devices whose volumes a user named, with what these give always.
func Provisioned(c *rules.Case, known Known) map[string]rules.Provision {
	out := map[string]rules.Provision{}
	all, _ := orders(c, known)
	for device, o := range all {
		out[device] = rules.Provision{IOPS: o.Sustained.IOPS * o.parts,
			Throughput: o.Sustained.Throughput * o.parts, Text: o.Text, Even: o.Credits == 0 && o.Burst == o.Sustained}
	}
	return out
}

// MachineOf is the machine's type, by the user or by the recording; nil if it is not known.
func MachineOf(c *rules.Case, known Known) *rules.Machine {
	m, _, ok := machineOf(c, known)
	if !ok {
		return nil
	}
	return &rules.Machine{Name: m.Name,
		Baseline: rules.Provision{IOPS: m.Baseline.IOPS, Throughput: m.Baseline.Throughput},
		Maximum:  rules.Provision{IOPS: m.Maximum.IOPS, Throughput: m.Maximum.Throughput}}
}

// devicesOf are the devices of a volume: the one that is given, those that are called so on each
// member, the one that holds the database's files, or the busiest if nothing else is asked about.
func devicesOf(c *rules.Case, known Known, name string) (devices []string, guess string) {
	if d, ok := known.Devices[name]; ok {
		return []string{d}, ""
	}

	for _, t := range c.Signal(rules.DiskOps) {
		d := t.Labels.Get("device")
		if d == strings.TrimPrefix(name, "/dev/") || strings.HasSuffix(d, "/"+name) {
			devices = append(devices, d)
		}
	}

	if len(devices) > 0 {
		return devices, ""
	}

	if d := mounted(c, c.Facts["dbpath"]); d != "" && len(known.Volumes) == 1 {
		return []string{d}, "the database's files are on it"
	}

	if len(known.Volumes)-len(known.Devices) == 1 {
		most := 0.0
		for _, t := range c.Signal(rules.DiskOps) {
			if sum := timeline.Sum(t.Values); sum > most {
				devices, most = []string{t.Labels.Get("device")}, sum
			}
		}
		return devices, "it is the busiest device"
	}

	return nil, ""
}

// mounted is the device of the file system that holds a path, by what the host told of its mounts;
// "" if it did not.
func mounted(c *rules.Case, path string) string {
	best, on := "", ""
	for name, text := range c.Facts {
		at, ok := strings.CutPrefix(name, "mount.")
		from := device(text)
		if !ok || from == "" || len(at) <= len(best) || path == "" {
			continue
		}
		if path == at || at == "/" || strings.HasPrefix(path, at+"/") {
			best, on = at, from
		}
	}

	if c.For(rules.DiskOps, "device", on) == nil {
		return ""
	}

	return on
}

// device is what a mount is of, by the host's fact about it: "ext4 rw,noatime /dev/nvme1n1".
func device(mount string) string {
	fields := strings.Fields(mount)
	if len(fields) < 3 {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(fields[len(fields)-1], "/dev/"), "mapper/")
}

// orderOf is what is known of a device.
func orderOf(c *rules.Case, offer Offer, device string) (ordered, error) {
	out := ordered{parts: 1}
	if n, err := strconv.Atoi(c.Facts["parts."+device]); err == nil && n > 1 {
		out.parts = float64(n)
	}
	size, err := strconv.ParseInt(c.Facts["size."+device], 10, 64)
	if err != nil || size < 0 {
		size = 0
	}
	out.Volume, err = offer(int64(float64(size) / out.parts))
	return out, err
}

// machineOf is the machine, if it is known, and where from.
func machineOf(c *rules.Case, known Known) (Machine, string, bool) {
	if known.Machine == nil {
		return Machine{}, "", false
	}

	if m, ok := known.Machine(""); ok {
		return m, Given, true
	}

	name := c.Facts[rules.FactMachine]
	if name == "" {
		return Machine{}, "", false
	}

	if m, ok := known.Machine(name); ok {
		return m, Measured, true
	}

	// Its provider's API may have said what the catalogue lacks.
	limit := func(fact string) float64 {
		x, err := strconv.ParseFloat(c.Facts["instance."+fact], 64)
		if err != nil {
			return 0
		}
		return x
	}

	m := Machine{Name: name, Baseline: Rate{limit("iops"), limit("throughput")},
		Maximum: Rate{limit("burst_iops"), limit("burst_throughput")}}
	return m, Measured, m.Baseline.IOPS > 0 && m.Maximum.IOPS > 0
}
