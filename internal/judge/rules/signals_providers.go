package rules

// Azure Monitor's and Google Cloud Monitoring's figures for disks replace the host's counters as
// CloudWatch's metrics do; the device is then the disk's name.
//
// Azure's names are those of azure-metrics-exporter with Grafana's template,
// azure_{type}_{metric}_{aggregation}_{unit}: some are reported for a disk, others for a machine and each of
// its data disks. Google's are stackdriver_exporter's: counts per minute. Both report one latency for reads
// and writes combined.
func init() {
	const perSecond, bytes,
		minute = "_operations_sec_average_countpersecond", "_bytes_sec_average_bytespersecond", " / $p"
	for _, of := range []string{"disks_composite_disk_", "virtualmachines_data_disk_"} {
		read, write := func(what string) string { return azureDisk(of + "read" + what) },
			func(what string) string { return azureDisk(of + "write" + what) }
		for of, expr := range map[*Signal]string{
			DiskReads: read(perSecond), DiskWrites: write(perSecond), DiskOps: write(perSecond) + " + " +
				read(perSecond),
			DiskWritten: write(bytes), DiskMoved: write(bytes) + " + " + read(bytes),
		} {
			of.Coarse = append(of.Coarse, expr)
		}
	}

	for of, expr := range map[*Signal]string{
		DiskReads: googleDisk("read_ops_count") + minute, DiskWrites: googleDisk("write_ops_count") + minute,
		DiskOps:     "(" + googleDisk("write_ops_count") + " + " + googleDisk("read_ops_count") + ")" + minute,
		DiskWritten: googleDisk("write_bytes_count") + minute,
		DiskMoved:   "(" + googleDisk("write_bytes_count") + " + " + googleDisk("read_bytes_count") + ")" + minute,
	} {
		of.Coarse = append(of.Coarse, expr)
	}

	for _, x := range []struct{ queue, latency string }{
		{azureDisk("virtualmachines_data_disk_queue_depth_average_count"),
			azureDisk("virtualmachines_data_disk_latency_average_milliseconds") + " / 1e3"},
		{googleDisk("average_io_queue_depth"), googleDisk("average_io_latency") + " / 1e6"},
	} {
		DiskQueue.Coarse = append(DiskQueue.Coarse, x.queue)
		// Neither reports busy time, but the mean queue length is an upper bound on the share of time in
		// which the device was busy.
		DiskBusy.Coarse = append(DiskBusy.Coarse, "clamp_max("+x.queue+", 1)")
		DiskWriteAwait.Coarse, DiskReadAwait.Coarse = append(DiskWriteAwait.Coarse, x.latency),
			append(DiskReadAwait.Coarse, x.latency)
	}
}
