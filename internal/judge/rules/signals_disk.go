package rules

import "strings"

func disk(name, unit, help, expr string) *Signal {
	s := core.Add(Signal{Name: SignalPrefix + name, Unit: unit, Help: help, By: []string{"device"},
		Exprs: []string{strings.ReplaceAll(expr, "[]", "[$w]")}})
	devices = append(devices, s)
	return s
}

// devices are the counters of block devices.
var devices Group

// OfDevices are the signals of block devices' counters.
func OfDevices() Group { return devices }

func ebs(name, help, metric string) *Signal {
	return core.Add(Signal{Name: SignalPrefix + name, Unit: "ratio", Help: help, By: []string{"volume_id"},
		Exprs: []string{"irate(" + metric + "[$w])"}})
}

// Signals of block devices. Sectors in /proc/diskstats are 512 bytes, whatever the device's own
// sector size (kernel: Documentation/admin-guide/iostats.rst).
var (
	DiskBusy = disk("disk_busy:ratio", "ratio", "share of the time in which the device had I/O in flight",
		// It can exceed the elapsed time if a virtual machine's clock was set back.
		`clamp_max(irate(node_disk_io_time_seconds_total[]), 1)`)
	DiskQueue = disk("disk_queue:requests", "", "mean number of requests in flight or queued",
		`irate(node_disk_io_time_weighted_seconds_total[])`)
	DiskWrites = disk("disk_writes:rate", "1/s", "write requests completed per second",
		`irate(node_disk_writes_completed_total[])`)
	DiskReads = disk("disk_reads:rate", "1/s", "read requests completed per second",
		`irate(node_disk_reads_completed_total[])`)
	DiskOps = disk("disk_ops:rate", "1/s", "reads and writes completed per second",
		`irate(node_disk_writes_completed_total[]) + irate(node_disk_reads_completed_total[])`)
	DiskWritten = disk("disk_written:bytes", "bytes/s", "bytes written per second",
		`irate(node_disk_written_bytes_total[])`)
	DiskMoved = disk("disk_moved:bytes", "bytes/s", "bytes read and written per second",
		`irate(node_disk_written_bytes_total[]) + irate(node_disk_read_bytes_total[])`)
	DiskWriteAwait = disk("disk_write_await:seconds",
		"seconds", "mean time of a write from queueing to completion",
		`irate(node_disk_write_time_seconds_total[]) / irate(node_disk_writes_completed_total[])`)
	DiskReadAwait = disk("disk_read_await:seconds",
		"seconds", "mean time of a read from queueing to completion",
		`irate(node_disk_read_time_seconds_total[]) / irate(node_disk_reads_completed_total[])`)
	DiskFlushAwait = disk("disk_flush_await:seconds", "seconds", "mean time of a flush request",
		`irate(node_disk_flush_requests_time_seconds_total[]) / irate(node_disk_flush_requests_total[])`)
	DiskFlushes = disk("disk_flushes:rate", "1/s", "flush requests per second",
		`irate(node_disk_flush_requests_total[])`)

	// Amazon's own figures, from the volume's NVMe log page 0xD0.
	EBSVolumeIOPSExceeded = ebs("ebs_volume_iops_exceeded:ratio",
		"share of the time the volume's IOPS limit was exceeded", "aws_ebs_csi_exceeded_iops_seconds_total")
	EBSVolumeThroughputExceeded = ebs("ebs_volume_throughput_exceeded:ratio",
		"share of the time the volume's throughput limit was exceeded", "aws_ebs_csi_exceeded_tp_seconds_total")
	EBSInstanceIOPSExceeded = ebs("ebs_instance_iops_exceeded:ratio",
		"share of the time the instance's IOPS limit was exceeded", "aws_ebs_csi_ec2_exceeded_iops_seconds_total")
	EBSInstanceThroughputExceeded = ebs("ebs_instance_throughput_exceeded:ratio",
		"share of the time the instance's throughput limit was exceeded", "aws_ebs_csi_ec2_exceeded_tp_seconds_total")
	EBSBurstBalance = core.Add(Signal{Name: SignalPrefix + "ebs_burst_balance:ratio",
		Unit: "ratio", By: []string{"volume_id"},
		Help: "remaining burst credits, as reported by CloudWatch's BurstBalance",
		Exprs: []string{ofDimension("aws_ebs_burst_balance_average", "volume_id", "VolumeId") + ` / 100`,
			ofDimension("aws_ebs_burst_balance_minimum", "volume_id", "VolumeId") + ` / 100`}})
	InstanceIOBalance = balance("instance_io_balance:ratio",
		"remaining I/O burst credits of an instance, as reported by CloudWatch's EBSIOBalance%", "ebsiobalance")
	InstanceByteBalance = balance("instance_byte_balance:ratio",
		"remaining throughput burst credits of an instance, as reported by CloudWatch's EBSByteBalance%", "ebsbyte_balance")
)

// ofDimension maps a CloudWatch metric's dimension to one label, whichever exporter wrote it:
// prometheus/cloudwatch_exporter has volume_id, YACE dimension_VolumeId.
func ofDimension(metric, label, dimension string) string {
	return `label_replace(` + metric + `, "` + label + `", "$1", "dimension_` + dimension + `", "(.+)")`
}

// balance is a burst balance of an EC2 or RDS instance. cloudwatch_exporter writes % as _, YACE as
// _percent.
func balance(name, help, metric string) *Signal {
	s := Signal{Name: SignalPrefix + name, Unit: "ratio", Help: help, By: []string{"instance_id"}}
	for _, of := range []struct{ space, label, dimension string }{{"ec2", "instance_id", "InstanceId"},
		{"rds", "dbinstance_identifier", "DBInstanceIdentifier"}} {
		for _, written := range []string{"_", "_percent"} {
			for _, statistic := range []string{"_minimum", "_average"} {
				x := ofDimension("aws_"+of.space+"_"+metric+written+statistic, "instance_id", of.dimension)
				if of.space == "rds" {
					x = `label_replace(` + x + `, "instance_id", "$1", "` + of.label + `", "(.+)")`
				}
				s.Exprs = append(s.Exprs, x+" / 100")
			}
		}
	}
	return core.Add(s)
}
