package linux

import (
	"plimsoll/units"
	"plimsoll/volume"
)

// A Device is a volume as the block layer has it.
type Device struct {
	host   *Host
	name   string
	volume volume.Volume
	stats  DeviceStats
	end    units.Size // where the next file begins
}

// DeviceStats are totals of what was submitted to a device.
type DeviceStats struct {
	Reads, Writes, Flushes  int64
	ReadBytes, WrittenBytes units.Size
}

// Attach gives the host a volume under a name, which is its device label in series.
func (h *Host) Attach(name string, v volume.Volume) *Device {
	d := &Device{host: h, name: name, volume: v}
	h.devices = append(h.devices, d)
	return d
}

// Name is the device's name in scenarios and series.
func (d *Device) Name() string { return d.name }

// Volume is what answers its requests.
func (d *Device) Volume() volume.Volume { return d.volume }

// Stats are the totals so far.
func (d *Device) Stats() DeviceStats { return d.stats }

// Do submits a request now, past the page cache, and tells when it is done.
func (d *Device) Do(r volume.Request) volume.Completion {
	c := d.volume.Submit(d.host.clock.Now(), r)
	d.count(r, c)
	return c
}

func (d *Device) count(r volume.Request, _ volume.Completion) {
	switch r.Op {
	case volume.Read:
		d.stats.Reads++
		d.stats.ReadBytes += r.Length
	case volume.Write:
		d.stats.Writes++
		d.stats.WrittenBytes += r.Length
	case volume.Flush:
		d.stats.Flushes++
	}
}

// Metrics names what Sample gives, in its order.
func (h *Host) Metrics() []Metric {
	var out []Metric
	for _, d := range h.devices {
		device := []string{"device", d.name}
		out = append(
			out,
			Metric{"node_disk_reads_completed_total", device},
			Metric{"node_disk_writes_completed_total", device},
			Metric{"node_disk_read_bytes_total", device},
			Metric{"node_disk_written_bytes_total", device},
		)
	}
	return append(out, Metric{"node_memory_Dirty_bytes", nil})
}

// Sample writes the present value of each of Metrics.
func (h *Host) Sample(values []float64) {
	i := 0
	put := func(x float64) { values[i] = x; i++ }
	for _, d := range h.devices {
		put(float64(d.stats.Reads))
		put(float64(d.stats.Writes))
		put(float64(d.stats.ReadBytes))
		put(float64(d.stats.WrittenBytes))
	}
	put(float64(h.dirty))
}
