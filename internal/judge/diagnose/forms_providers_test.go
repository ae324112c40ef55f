package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
)

// azure writes a data disk as azure-metrics-exporter does with Grafana's template, by the minute. A
// disk's own metrics have no latency and no queue; the machine's do.
func (w *written) azure(name string, of func(s float64) did) *written {
	for metric, x := range map[string]func(d did) float64{
		"disks_composite_disk_read_operations_sec_average_countpersecond":  func(d did) float64 { return d.reads },
		"disks_composite_disk_write_operations_sec_average_countpersecond": func(d did) float64 { return d.writes },
		"disks_composite_disk_read_bytes_sec_average_bytespersecond":       func(d did) float64 { return d.reads * d.readKiB * 1024 },
		"disks_composite_disk_write_bytes_sec_average_bytespersecond":      func(d did) float64 { return d.writes * d.writeKiB * 1024 },
	} {
		w.gauge(func(s float64) float64 { return x(of(s)) }, "azure_microsoft_compute_"+metric, "resourceName", name, "job", "azure")
	}
	w.gauge(func(s float64) float64 { return of(s).queue() }, "azure_microsoft_compute_virtualmachines_data_disk_queue_depth_average_count", "device", name)
	return w.gauge(func(s float64) float64 { return 1e3 * of(s).writeS }, "azure_microsoft_compute_virtualmachines_data_disk_latency_average_milliseconds", "device", name)
}

// google writes a disk as stackdriver_exporter does, by the minute.
func (w *written) google(name string, of func(s float64) did) *written {
	for metric, x := range map[string]func(d did) float64{
		"read_ops_count": func(d did) float64 { return 60 * d.reads }, "write_ops_count": func(d did) float64 { return 60 * d.writes },
		"read_bytes_count": func(d did) float64 { return 60 * d.reads * d.readKiB * 1024 }, "write_bytes_count": func(d did) float64 { return 60 * d.writes * d.writeKiB * 1024 },
		"average_io_queue_depth": did.queue, "average_io_latency": func(d did) float64 { return 1e6 * d.writeS },
	} {
		w.gauge(func(s float64) float64 { return x(of(s)) }, "stackdriver_gce_instance_compute_googleapis_com_instance_disk_"+metric, "device_name", name, "unit", "1")
	}
	return w
}

// A disk that stays at its limit is not reported as calm, whichever provider's metrics describe it.
func TestCapByProviders(t *testing.T) {
	at := capped(4200, 3000, 0.0008, 16, 0.3)
	for form, r := range map[string]*diagnose.Report{
		"Azure":  forms(t, time.Minute, time.Hour).azure("data-1", at).diagnose(diagnose.Options{}),
		"Google": forms(t, time.Minute, time.Hour).google("db-data", at).diagnose(diagnose.Options{}),
	} {
		t.Run(form, func(t *testing.T) {
			show(t, form, r)
			if foundAnywhere(r, "disk/iops-capped") == nil || strings.HasPrefix(r.Verdict, "No stall") {
				t.Errorf("the cap is not named: %s", r.Verdict)
			}
		})
	}
}
