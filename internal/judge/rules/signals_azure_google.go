package rules

// Signals that only Azure or Google Cloud report for their disks. Both have one latency for reads and
// writes combined; [DiskWriteAwait] and [DiskReadAwait] each use it, and findings say that it is combined.
//
// Azure: azure-metrics-exporter's names; a machine's consumed percentages are per data disk
// (learn.microsoft.com, Disk metrics). Google: stackdriver_exporter's names; throttled_* counts requests
// delayed in a minute because the disk's limit was reached (cloud.google.com, metrics of compute).
var (
	AzureLatency = core.Add(Signal{Name: SignalPrefix + "azure_latency:seconds", Unit: "seconds",
		By: []string{"device"}, Help: "combined latency of reads and writes, as reported by Azure Monitor",
		Exprs: []string{azureDisk("virtualmachines_data_disk_latency_average_milliseconds") + " / 1e3"}})
	GoogleLatency = core.Add(Signal{Name: SignalPrefix + "google_latency:seconds", Unit: "seconds",
		By:    []string{"device"},
		Help:  "combined latency of reads and writes, as reported by Google Cloud Monitoring",
		Exprs: []string{googleDisk("average_io_latency") + " / 1e6"}})

	AzureIOPSConsumed  = azureConsumed("iops", "iops")
	AzureBytesConsumed = azureConsumed("throughput", "bandwidth")

	GoogleOpsThrottled   = googleThrottled("ops", "operations", "1/s")
	GoogleBytesThrottled = googleThrottled("bytes", "bytes", "bytes/s")

	// EBSStalledCheck is 1 for a minute in which a volume completed no requests although some
	// waited.
	EBSStalledCheck = core.Add(Signal{Name: SignalPrefix + "ebs_stalled:ratio", Unit: "ratio",
		By:   []string{"volume_id"},
		Help: "share of the minutes in which EBS's own check found the volume stalled (VolumeStalledIOCheck)",
		Exprs: []string{ofDimension("aws_ebs_volume_stalled_iocheck_maximum", "volume_id", "VolumeId"),
			ofDimension("aws_ebs_volume_stalled_iocheck_average", "volume_id", "VolumeId")},
		Coarse: []string{"clamp_max(" + ofDimension("aws_ebs_volume_stalled_iocheck_sum", "volume_id", "VolumeId") +
			" * 60 / $p, 1)"}})
)

func azureDisk(metric string) string {
	return `label_replace(azure_microsoft_compute_` + metric + `, "device", "$1", "resourceName", "(.+)")`
}

func googleDisk(metric string) string {
	return `label_replace(stackdriver_gce_instance_compute_googleapis_com_instance_disk_` + metric +
		`, "device", "$1", "device_name", "(.+)")`
}

func azureConsumed(name, metric string) *Signal {
	return core.Add(Signal{Name: SignalPrefix + "azure_consumed_" + name + ":ratio", Unit: "ratio",
		By: []string{"device"}, Help: "share of the disk's " + name +
			" limit that was used, as reported by Azure Monitor",
		Exprs: []string{azureDisk("virtualmachines_data_disk_"+metric+
			"_consumed_percentage_average_percent") + " / 100"}})
}

func googleThrottled(name, what, unit string) *Signal {
	return core.Add(Signal{Name: SignalPrefix + "google_throttled_" + name + ":rate", Unit: unit,
		By: []string{"device"}, Help: what +
			" per second that were delayed because the disk's limit was reached, as reported by Google Cloud Monitoring",
		Exprs: []string{"(" + googleDisk("throttled_read_"+name+"_count") + " + " +
			googleDisk("throttled_write_"+name+"_count") + ") / 60"}})
}

// CombinedLatency reports whether a device's latency is known only for reads and writes combined.
func (sig *Signals) CombinedLatency(device string) bool {
	for _, of := range []*Signal{AzureLatency, GoogleLatency, SysstatLatency} {
		if sig.For(of, "device", device) != nil {
			return true
		}
	}
	return false
}
