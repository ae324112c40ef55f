package rules

// What a provider reports of its volumes stands in for the host's counters where no source has these.
// The device is then the volume's id.
//
// CloudWatch's names are those of prometheus/cloudwatch_exporter, which YACE writes alike but for
// the labels. Sums are of one minute, in which EBS reports: an exporter must ask for periods of 60 s.
// A burst of some seconds is lost in a minute's mean.
func init() {
	const minute = " / 60"
	volume := func(metric string) string {
		return `label_replace(label_replace(` + metric + `, "device", "$1", "volume_id", "(.+)"), "device", "$1", "dimension_VolumeId", "(.+)")`
	}
	cloudwatch := func(metric string) string { return volume("aws_ebs_volume_" + metric) }
	// The EBS CSI driver's node service reads the volume's own counters (NVMe log page 0xD0).
	driver := func(metric string) string { return volume("irate(aws_ebs_csi_" + metric + "[$w])") }

	DiskWrites.Coarse = []string{driver("write_ops_total"), cloudwatch("write_ops_sum") + minute}
	DiskReads.Coarse = []string{driver("read_ops_total"), cloudwatch("read_ops_sum") + minute}
	DiskOps.Coarse = []string{driver("write_ops_total") + " + " + driver("read_ops_total"), "(" + cloudwatch("write_ops_sum") + " + " + cloudwatch("read_ops_sum") + ")" + minute}
	DiskWritten.Coarse = []string{driver("write_bytes_total"), cloudwatch("write_bytes_sum") + minute}
	DiskMoved.Coarse = []string{driver("write_bytes_total") + " + " + driver("read_bytes_total"), "(" + cloudwatch("write_bytes_sum") + " + " + cloudwatch("read_bytes_sum") + ")" + minute}
	DiskWriteAwait.Coarse = []string{driver("write_seconds_total") + " / " + driver("write_ops_total"), cloudwatch("total_write_time_sum") + " / " + cloudwatch("write_ops_sum")}
	DiskReadAwait.Coarse = []string{driver("read_seconds_total") + " / " + driver("read_ops_total"), cloudwatch("total_read_time_sum") + " / " + cloudwatch("read_ops_sum")}
	DiskQueue.Coarse = []string{volume("aws_ebs_csi_volume_queue_length"), cloudwatch("queue_length_average")}
	DiskBusy.Coarse = []string{"clamp_min(1 - " + cloudwatch("idle_time_sum") + minute + ", 0)"}

	// 1 for each minute in which more was asked for than the limit.
	check := func(metric, label, dimension string) []string {
		var out []string
		for _, statistic := range []string{"_average", "_maximum", "_sum"} {
			x := `label_replace(` + metric + statistic + `, "volume_id", "$1", "dimension_` + dimension + `", "(.+)")`
			if label != "volume_id" {
				x = `label_replace(` + x + `, "volume_id", "$1", "` + label + `", "(.+)")`
			}
			out = append(out, x)
		}
		return out
	}
	EBSVolumeIOPSExceeded.Coarse = check("aws_ebs_volume_iopsexceeded_check", "volume_id", "VolumeId")
	EBSVolumeThroughputExceeded.Coarse = check("aws_ebs_volume_throughput_exceeded_check", "volume_id", "VolumeId")
	EBSInstanceIOPSExceeded.Coarse = check("aws_ec2_instance_ebsiopsexceeded_check", "instance_id", "InstanceId")
	EBSInstanceThroughputExceeded.Coarse = check("aws_ec2_instance_ebsthroughput_exceeded_check", "instance_id", "InstanceId")
}
