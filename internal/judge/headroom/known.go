package headroom

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// knownVolume is a volume of known type.
type knownVolume struct {
	Volume
	parts float64 // of a stripe
	guess string  // why this device is assumed to be the volume; "" if the user said so
	from  string  // Given or Measured
}

// volumeName is a volume that has no device in the recording, or no known limits.
type volumeName struct{ name, why string }

// orders returns the known volumes by device, and the names without a device or limits.
func orders(c *rules.Case, known Known) (map[string]knownVolume, []volumeName) {
	out := map[string]knownVolume{}
	var lost []volumeName
	for _, name := range slices.Sorted(maps.Keys(known.Volumes)) {
		devices, guess := devicesOf(c, known, name)
		if len(devices) == 0 {
			lost = append(lost, volumeName{name, "no device in the recording is called " + name +
				"; name it with --device " +
				name + "=DEVICE"})
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

// described adds the volumes that sources describe, except those that the user specified. It
// returns those whose limits are unknown nevertheless.
func described(c *rules.Case, known Known, out map[string]knownVolume) (lost []volumeName) {
	if known.Described == nil {
		return nil
	}

	for _, t := range c.Signal(rules.DiskOps) {
		// A device may be described by its name, or by the id of the volume behind it.
		device := t.Labels.Get("device")
		text := c.Facts["volume."+device]
		if id := c.Facts["volume_id."+device]; text == "" && id != "" {
			text = c.Facts["volume."+id]
		}

		// The user's input takes precedence over a provider's description.
		if _, given := out[device]; given || text == "" {
			continue
		}

		offer, err := known.Described(text)
		var o knownVolume
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

// Provisioned returns the devices of known volumes, with their sustained performance.
func Provisioned(c *rules.Case, known Known) map[string]rules.Provision {
	out := map[string]rules.Provision{}
	all, _ := orders(c, known)
	for device, o := range all {
		out[device] = rules.Provision{
			Rate: rules.Rate{IOPS: o.Sustained.IOPS * o.parts, Throughput: o.Sustained.Throughput * o.parts},
			Text: o.Text, Even: o.Credits == 0 && o.Burst == o.Sustained}
	}
	return out
}

// MachineOf returns the machine, as given by the user or the recording; nil if unknown.
func MachineOf(c *rules.Case, known Known) *rules.Machine {
	m, _, ok := machineOf(c, known)
	if !ok {
		return nil
	}
	return &m
}

// devicesOf returns the devices of a volume: the one given, those with its name on each member, the
// one that holds the database's files, or the busiest if the user asked about only one volume.
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

	// With one volume left to match, the busiest device is the likeliest.
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

// mounted returns the device of the file system that contains a path, according to the host's
// mounts; "" if unknown.
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

// device extracts the device from the host's fact about a mount: "ext4 rw,noatime /dev/nvme1n1".
func device(mount string) string {
	fields := strings.Fields(mount)
	if len(fields) < 3 {
		return ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(fields[len(fields)-1], "/dev/"), "mapper/")
}

func orderOf(c *rules.Case, offer Offer, device string) (knownVolume, error) {
	out := knownVolume{parts: 1}
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

// machineOf returns the machine and the source of that information, if it is known.
func machineOf(c *rules.Case, known Known) (rules.Machine, string, bool) {
	if known.Machine == nil {
		return rules.Machine{}, "", false
	}

	if m, ok := known.Machine(""); ok {
		return m, Given, true
	}

	name := c.Facts[rules.FactMachine]
	if name == "" {
		return rules.Machine{}, "", false
	}

	if m, ok := known.Machine(name); ok {
		return m, Measured, true
	}

	// The provider's API may have reported figures that the catalogue lacks.
	limit := func(fact string) float64 {
		x, err := strconv.ParseFloat(c.Facts["instance."+fact], 64)
		if err != nil {
			return 0
		}
		return x
	}

	m := rules.Machine{Name: name, Baseline: rules.Rate{IOPS: limit("iops"), Throughput: limit("throughput")},
		Maximum: rules.Rate{IOPS: limit("burst_iops"), Throughput: limit("burst_throughput")}}
	return m, Measured, m.Baseline.IOPS > 0 && m.Maximum.IOPS > 0
}
