package kernel

import (
	"strconv"

	"plimsoll/internal/model/volume"
)

// A Metric is a series: an exporter's metric name, and labels as pairs of name and value.
type Metric struct {
	Name   string
	Labels []string
}

// exceeded lists the counters of time over a limit that the EBS CSI driver reads from the volume's
// NVMe log page 0xD0, with the limits they count. While credits are exhausted, the time over the
// baseline counts as exceeded.
var exceeded = []struct {
	name   string
	limits []volume.Limit
}{
	{"aws_ebs_csi_exceeded_iops_seconds_total", []volume.Limit{volume.VolumeIOPS, volume.VolumeCredits}},
	{"aws_ebs_csi_exceeded_tp_seconds_total", []volume.Limit{volume.VolumeThroughput}},
	{"aws_ebs_csi_ec2_exceeded_iops_seconds_total", []volume.Limit{volume.InstanceIOPS, volume.InstanceCredits}},
	{"aws_ebs_csi_ec2_exceeded_tp_seconds_total", []volume.Limit{volume.InstanceThroughput}},
}

// Metrics names the values of Sample, in order: node_exporter's counters of each device, of memory,
// cores and pressure, and the volume's counters as the EBS CSI driver and CloudWatch report them.
func (h *Host) Metrics() []Metric {
	var out []Metric
	for _, d := range h.devices {
		device := []string{"device", d.name}
		for _, name := range []string{
			"reads_completed_total", "writes_completed_total", "read_bytes_total", "written_bytes_total",
			"read_time_seconds_total", "write_time_seconds_total",
			"io_time_seconds_total", "io_time_weighted_seconds_total",
			"io_now", "flush_requests_total", "flush_requests_time_seconds_total",
		} {
			out = append(out, Metric{"node_disk_" + name, device})
		}

		id := []string{"volume_id", d.name}
		for _, x := range exceeded {
			out = append(out, Metric{x.name, id})
		}

		out = append(out, Metric{"aws_ebs_csi_volume_queue_length", id})
		if d.volume.State(h.clock.Now()).HasCredits {
			out = append(out, Metric{"aws_ebs_burst_balance_average", id})
		}
	}

	for _, name := range []string{
		"node_memory_MemTotal_bytes", "node_memory_Dirty_bytes", "node_memory_Writeback_bytes",
		"node_pressure_io_waiting_seconds_total",
	} {
		out = append(out, Metric{name, nil})
	}

	for i := range h.cores {
		for _, mode := range []string{"user", "idle"} {
			out = append(out, Metric{"node_cpu_seconds_total", []string{"cpu", strconv.Itoa(i), "mode", mode}})
		}
	}

	if h.quota.each > 0 {
		for _, name := range quotaMetrics {
			out = append(out, Metric{name, container})
		}
	}

	return out
}

// Sample writes the current value of each of Metrics.
func (h *Host) Sample(values []float64) {
	now := h.clock.Now()
	next := 0
	put := func(x float64) { values[next] = x; next++ }
	seconds := func(ns int64) { put(float64(ns) / 1e9) }

	writeback := 0.0
	for _, device := range h.devices {
		writeback += float64(device.underWriteback(now))
		t := &device.ledger.total
		put(float64(t.done[volume.Read]))
		put(float64(t.done[volume.Write]))
		put(float64(t.bytes[volume.Read]))
		put(float64(t.bytes[volume.Write]))
		seconds(t.took[volume.Read])
		seconds(t.took[volume.Write])
		seconds(t.busy)
		seconds(t.queued)
		put(float64(device.ledger.inflight))
		put(float64(t.flushes))
		seconds(t.flushTook)

		for _, x := range exceeded {
			var ns int64
			for _, l := range x.limits {
				ns += t.held[l]
			}
			seconds(ns)
		}

		put(float64(device.ledger.inflight))
		if s := device.volume.State(now); s.HasCredits {
			put(100 * float64(s.Credits))
		}
	}

	put(float64(h.cfg.Memory))
	put(float64(h.dirty))
	put(writeback)
	seconds(int64(h.waiting.total(now)))

	// With a quota, the container's throttled time decides what the cores show.
	if h.quota.each > 0 {
		h.sampleCores(now, values[next:])
		return
	}

	for c := range h.cores {
		used := h.used[c] - max(h.cores[c].Sub(now), 0)
		put(used.Seconds())
		put(now.Seconds() - used.Seconds())
	}
}

// Held returns the time so far in which a limit held at least one request of the device.
func (d *Device) Held(l volume.Limit) (seconds float64) {
	d.ledger.close(d.host.clock.Now())
	return float64(d.ledger.total.held[l]) / 1e9
}
