package rules

// What only Azure or Google Cloud report of their disks. Both have one latency of reads and writes
// together; [DiskWriteAwait] and [DiskReadAwait] take it for each, and findings name it as what it is.
//
// Azure: azure-metrics-exporter's names; the consumed percentages of a machine are by its data disks
// (learn.microsoft.com, Disk metrics). Google: stackdriver_exporter's names; throttled_* counts what was
// delayed in a minute because the disk's limit was reached (cloud.google.com, metrics of compute).
var (
	AzureLatency = core.Add(Signal{Name: SignalPrefix + "azure_latency:seconds", Unit: "seconds",
		By: []string{"device"}, Help: "latency of reads and writes together, as Azure Monitor reports it",
		Exprs: []string{azureDisk("virtualmachines_data_disk_latency_average_milliseconds") + " / 1e3"}})
	GoogleLatency = core.Add(Signal{Name: SignalPrefix + "google_latency:seconds", Unit: "seconds",
		By: []string{"device"}, Help: "latency of reads and writes together, as Google Cloud Monitoring reports it",
		Exprs: []string{googleDisk("average_io_latency") + " / 1e6"}})

	AzureIOPSConsumed  = azureConsumed("iops", "iops")
	AzureBytesConsumed = azureConsumed("throughput", "bandwidth")

	GoogleOpsThrottled   = googleThrottled("ops", "operations", "1/s")
	GoogleBytesThrottled = googleThrottled("bytes", "bytes", "bytes/s")

	// EBSStalledCheck is 1 of a minute in which a volume completed nothing although requests waited.
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
			" limit that was used, as Azure Monitor reports it",
		Exprs: []string{azureDisk("virtualmachines_data_disk_"+metric+
			"_consumed_percentage_average_percent") + " / 100"}})
}

func googleThrottled(name, what, unit string) *Signal {
	return core.Add(Signal{Name: SignalPrefix + "google_throttled_" + name + ":rate", Unit: unit,
		By: []string{"device"}, Help: what +
			" per second that were delayed because the disk's limit was reached, as Google Cloud Monitoring reports it",
		Exprs: []string{"(" + googleDisk("throttled_read_"+name+"_count") + " + " +
			googleDisk("throttled_write_"+name+"_count") + ") / 60"}})
}

// CombinedLatency reports whether a device's latency is known of reads and writes together only.
func (sig *Signals) CombinedLatency(device string) bool {
	for _, of := range []*Signal{AzureLatency, GoogleLatency, SysstatLatency} {
		if sig.For(of, "device", device) != nil {
			return true
		}
	}
	return false
}
