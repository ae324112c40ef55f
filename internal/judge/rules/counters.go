package rules

// counters are the devices' counters.
var counters = []Counter{
	{Metric: "node_disk_io_time_seconds_total", Name: "plimsoll_device_busy_seconds_total", Label: "device",
		As: "device", Scale: 1,
		Help: "Time during which a device had requests in flight."},
	{Metric: "node_disk_written_bytes_total", Name: "plimsoll_device_written_bytes_total", Label: "device",
		As: "device", Scale: 1,
		Help: "Bytes written to a device."},
	{Metric: "node_disk_writes_completed_total", Name: "plimsoll_device_writes_total", Label: "device",
		As: "device", Scale: 1,
		Help: "Writes that a device completed."},
	{Metric: "node_disk_write_time_seconds_total", Name: "plimsoll_device_write_seconds_total", Label: "device",
		As: "device", Scale: 1,
		Help: "Total time that a device's writes took."},
}

// Counters returns the metrics that are exported unchanged.
func (p *Pack) Counters() []Counter {
	out := counters[:len(counters):len(counters)]
	for _, e := range p.engines {
		out = append(out, e.Counters...)
	}
	return out
}
