package rules

import "strings"

// If no source has the host's counters, a provider's figures for its volumes replace them. The
// device is then the volume's ID.
//
// CloudWatch's names are those of prometheus/cloudwatch_exporter; YACE writes the same names with
// other labels. The period of their sums follows from the figures ([ProviderSums]): at least a
// minute, which is how often EBS reports. A burst of a few seconds disappears in a minute's mean.
//
// Amazon RDS shows no volumes, only instances: rates and means of their storage, by the names of
// prometheus/cloudwatch_exporter and YACE. The device is then the instance's identifier.
//
// The counters of a volume's NVMe log page 0xD0 have three names: the EBS CSI driver's, the
// CloudWatch agent's (its receiver awsebsnvme, as an OpenTelemetry exporter for Prometheus writes
// it, with or without _total) and Container Insights' (prefixed with node_).
func init() {
	const minute = " / $p"
	volume := func(metric string) string {
		return `label_replace(label_replace(label_replace(` + metric +
			`, "device", "$1", "volume_id", "(.+)"), "device", "$1", "dimension_VolumeId", "(.+)"), "device", "$1", "VolumeId", "(.+)")`
	}

	cloudwatch := func(metric string) string { return volume("aws_ebs_volume_" + metric) }
	for _, naming := range pageNames {
		page := func(counter string) string { return volume("irate(" + naming.of(counter) + "[$w])") }
		ops, moved := page(naming.writes)+" + "+page(naming.reads), page(naming.writeBytes)+" + "+page(naming.readBytes)

		// Mean requests in flight, by Little's law: seconds waited per second.
		inFlight := "(" + page(naming.writeTime) + " + " + page(naming.readTime) + ")" + naming.perSecond
		for _, x := range []struct {
			of   *Signal
			expr string
		}{
			{DiskWrites, page(naming.writes)}, {DiskReads, page(naming.reads)}, {DiskOps, ops},
			{DiskWritten, page(naming.writeBytes)}, {DiskMoved, moved},
			{DiskWriteAwait, page(naming.writeTime) + " / " + page(naming.writes) + naming.perSecond},
			{DiskReadAwait, page(naming.readTime) + " / " + page(naming.reads) + naming.perSecond},
			{DiskQueue, inFlight}, {DiskBusy, "clamp_max(" + inFlight + ", 1)"},
		} {
			x.of.Coarse = append(x.of.Coarse, x.expr)
		}

		if naming.perSecond == "" {
			continue // the signals already read the CSI driver's counters
		}

		for of, counter := range map[*Signal]string{
			EBSVolumeIOPSExceeded:         "volume_performance_exceeded_iops",
			EBSVolumeThroughputExceeded:   "volume_performance_exceeded_tp",
			EBSInstanceIOPSExceeded:       "ec2_instance_performance_exceeded_iops",
			EBSInstanceThroughputExceeded: "ec2_instance_performance_exceeded_tp",
		} {
			of.Exprs = append(of.Exprs, `label_replace(irate(`+naming.of(counter)+
				`[$w]), "volume_id", "$1", "VolumeId", "(.+)")`+naming.perSecond)
		}
	}

	for of, expr := range map[*Signal]string{
		DiskWrites: cloudwatch("write_ops_sum") + minute, DiskReads: cloudwatch("read_ops_sum") + minute,
		DiskOps:     "(" + cloudwatch("write_ops_sum") + " + " + cloudwatch("read_ops_sum") + ")" + minute,
		DiskWritten: cloudwatch("write_bytes_sum") + minute, DiskMoved: "(" + cloudwatch("write_bytes_sum") +
			" + " + cloudwatch("read_bytes_sum") + ")" + minute,
		DiskWriteAwait: cloudwatch("total_write_time_sum") + " / " + cloudwatch("write_ops_sum"),
		DiskReadAwait:  cloudwatch("total_read_time_sum") + " / " + cloudwatch("read_ops_sum"),
		DiskQueue:      cloudwatch("queue_length_average"), DiskBusy: "clamp_min(1 - " +
			cloudwatch("idle_time_sum") + minute + ", 0)",
	} {
		of.Coarse = append(of.Coarse, expr)
	}

	// An alternative is read if all of its metrics exist, so instances without a log volume have their own.
	for _, volumes := range []func(metrics ...string) string{rdsVolumes, rdsStorage} {
		for of, expr := range map[*Signal]string{
			DiskWrites: volumes("write_iops"), DiskReads: volumes("read_iops"),
			DiskOps:     volumes("write_iops", "read_iops"),
			DiskWritten: volumes("write_throughput"), DiskMoved: volumes("write_throughput", "read_throughput"),
			DiskWriteAwait: volumes("write_latency"), DiskReadAwait: volumes("read_latency"),
			DiskQueue: volumes("disk_queue_depth"),
			// RDS does not report idle time, but the device was busy for at most the mean queue.
			DiskBusy: "clamp_max(" + volumes("disk_queue_depth") + ", 1)",
		} {
			of.Coarse = append(of.Coarse, expr)
		}
	}

	addParts(cloudwatch)

	CPUBusy.Coarse = []string{"max(aws_rds_cpuutilization_average) / 100", "max(aws_ec2_cpuutilization_average) / 100"}
	for _, statistic := range []string{"average", "minimum"} {
		EBSBurstBalance.Exprs = append(EBSBurstBalance.Exprs,
			`label_replace(label_replace(aws_rds_burst_balance_`+statistic+
				`, "volume_id", "$1", "dbinstance_identifier", "(.+)"), "volume_id", "$1", "dimension_DBInstanceIdentifier", "(.+)") / 100`)
	}

	// The checks are 1 for each minute in which demand exceeded the limit.
	check := func(metric, label, dimension string) []string {
		var out []string

		// A sum counts the minutes over the limit in its period; the other statistics are their share.
		for _, statistic := range []string{"_average", "_maximum", "_sum"} {
			of := metric + statistic
			if statistic == "_sum" {
				of = "clamp_max(" + of + " * 60 / $p, 1)"
			}
			x := `label_replace(` + of + `, "volume_id", "$1", "dimension_` + dimension + `", "(.+)")`
			if label != "volume_id" {
				x = `label_replace(` + x + `, "volume_id", "$1", "` + label + `", "(.+)")`
			}
			out = append(out, x)
		}

		return out
	}

	EBSVolumeIOPSExceeded.Coarse = check("aws_ebs_volume_iopsexceeded_check", "volume_id", "VolumeId")
	EBSVolumeThroughputExceeded.Coarse = check("aws_ebs_volume_throughput_exceeded_check",
		"volume_id", "VolumeId")
	EBSInstanceIOPSExceeded.Coarse = check("aws_ec2_instance_ebsiopsexceeded_check", "instance_id", "InstanceId")
	EBSInstanceThroughputExceeded.Coarse = check("aws_ec2_instance_ebsthroughput_exceeded_check",
		"instance_id", "InstanceId")
}

// addParts adds what a saved answer of CloudWatch often has: writes and the queue alone. Then writes
// are all requests that are known, and a queue of one or more means that the device was never idle.
func addParts(cloudwatch func(metric string) string) {
	for _, kind := range []string{"write", "read"} {
		DiskOps.Coarse = append(DiskOps.Coarse, cloudwatch(kind+"_ops_sum")+" / $p", rds(kind+"_iops"))
		DiskMoved.Coarse = append(DiskMoved.Coarse, cloudwatch(kind+"_bytes_sum")+" / $p", rds(kind+"_throughput"))
	}
	DiskBusy.Coarse = append(DiskBusy.Coarse, "clamp_max("+cloudwatch("queue_length_average")+", 1)")
}

// ProviderSums are the CloudWatch metrics from which the period of its sums is derived: the seconds
// of requests, the mean number of requests in flight, the seconds without any, and other sums.
var ProviderSums = struct {
	Seconds, Others []string
	InFlight, Idle  string
}{
	Seconds: []string{"aws_ebs_volume_total_read_time_sum", "aws_ebs_volume_total_write_time_sum"},
	Others: []string{"aws_ebs_volume_read_ops_sum", "aws_ebs_volume_write_ops_sum",
		"aws_ebs_volume_read_bytes_sum", "aws_ebs_volume_write_bytes_sum"},
	InFlight: "aws_ebs_volume_queue_length_average", Idle: "aws_ebs_volume_idle_time_sum",
}

// StorageOfRDS has a series for each instance of Amazon RDS, whose volumes are not visible.
var StorageOfRDS = core.Add(Signal{Name: SignalPrefix + "rds_storage:rate", Unit: "1/s",
	By:   []string{"device"},
	Help: "writes per second of an RDS instance's storage", Exprs: []string{rds("write_iops")}})

// rds is a metric of an Amazon RDS instance.
func rds(metric string) string {
	return `label_replace(label_replace(aws_rds_` + metric +
		`_average, "device", "$1", "dbinstance_identifier", "(.+)"), "device", "$1", "dimension_DBInstanceIdentifier", "(.+)")`
}

// RDSLogVolume ends the device name of an RDS instance's dedicated log volume, which holds the WAL of
// PostgreSQL or the redo and binary logs of MySQL and MariaDB. It has 1,000 GiB and 3,000 IOPS, which
// cannot be
// changed (Amazon RDS User Guide, "Dedicated log volume").
const RDSLogVolume = "-log-volume"

// rdsStorage is the sum of some metrics of an Amazon RDS instance.
func rdsStorage(metrics ...string) string {
	var parts []string
	for _, m := range metrics {
		parts = append(parts, rds(m))
	}
	return strings.Join(parts, " + ")
}

// rdsVolumes is that sum for each volume: the data's, and the dedicated log volume. CloudWatch calls
// the log's
// WriteIOPSLogVolume, which exporters write as write_iopslog_volume: they separate words where a lower-case
// letter or a digit precedes a capital.
func rdsVolumes(metrics ...string) string {
	var log []string
	for _, m := range metrics {
		ofLog := m + "_log_volume"
		if strings.HasSuffix(m, "iops") {
			ofLog = m + "log_volume"
		}
		log = append(log, ofLog)
	}
	return "((" + rdsStorage(metrics...) + ") or label_replace((" + rdsStorage(log...) +
		`), "device", "${1}` + RDSLogVolume + `", "device", "(.+)"))`
}

// A pageName is how an exporter names the counters of log page 0xD0, and the expression that
// converts its times to seconds.
type pageName struct {
	prefix, suffix, perSecond                                 string
	reads, writes, readBytes, writeBytes, readTime, writeTime string
}

func (n pageName) of(counter string) string { return n.prefix + counter + n.suffix }

var pageNames = func() []pageName {
	out := []pageName{{prefix: "aws_ebs_csi_", suffix: "_total", reads: "read_ops", writes: "write_ops",
		readBytes: "read_bytes", writeBytes: "write_bytes",
		readTime: "read_seconds", writeTime: "write_seconds"}}
	for _, prefix := range []string{"diskio_ebs_", "node_diskio_ebs_"} {
		for _, suffix := range []string{"", "_total"} {
			out = append(out, pageName{prefix: prefix, suffix: suffix, perSecond: " / 1e6", reads: "total_read_ops",
				writes:    "total_write_ops",
				readBytes: "total_read_bytes", writeBytes: "total_write_bytes", readTime: "total_read_time",
				writeTime: "total_write_time"})
		}
	}
	return out
}()
