package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The counters of an EBS volume's NVMe log page as their exporters write them, name by name: the CloudWatch
// agent ("Collect Amazon EBS NVMe driver metrics", Amazon CloudWatch user guide, 2026: times in
// microseconds), the same with _total, as OpenTelemetry's exporter for Prometheus writes counters, Container
// Insights with the prefix node_, and the EBS CSI driver's node service (its docs/metrics.md: seconds).
var ebsPages = map[string]struct {
	second float64 // in the unit of the exporter's times
	labels string
	names  [8]string // writes, reads, bytes written, time of writes, of reads, IOPS exceeded, throughput's, the instance's IOPS
}{
	"the CloudWatch agent": {1e6, `InstanceId="i-0abc",VolumeId="vol-0abc"`, [8]string{"diskio_ebs_total_write_ops", "diskio_ebs_total_read_ops", "diskio_ebs_total_write_bytes",
		"diskio_ebs_total_write_time", "diskio_ebs_total_read_time", "diskio_ebs_volume_performance_exceeded_iops", "diskio_ebs_volume_performance_exceeded_tp", "diskio_ebs_ec2_instance_performance_exceeded_iops"}},
	"the CloudWatch agent, _total": {1e6, `VolumeId="vol-0abc"`, [8]string{"diskio_ebs_total_write_ops_total", "diskio_ebs_total_read_ops_total", "diskio_ebs_total_write_bytes_total",
		"diskio_ebs_total_write_time_total", "diskio_ebs_total_read_time_total", "diskio_ebs_volume_performance_exceeded_iops_total", "diskio_ebs_volume_performance_exceeded_tp_total", "diskio_ebs_ec2_instance_performance_exceeded_iops_total"}},
	"Container Insights": {1e6, `VolumeId="vol-0abc"`, [8]string{"node_diskio_ebs_total_write_ops", "node_diskio_ebs_total_read_ops", "node_diskio_ebs_total_write_bytes",
		"node_diskio_ebs_total_write_time", "node_diskio_ebs_total_read_time", "node_diskio_ebs_volume_performance_exceeded_iops", "node_diskio_ebs_volume_performance_exceeded_tp", "node_diskio_ebs_ec2_instance_performance_exceeded_iops"}},
	"the EBS CSI driver": {1, `instance_id="i-0abc",volume_id="vol-0abc"`, [8]string{"aws_ebs_csi_write_ops_total", "aws_ebs_csi_read_ops_total", "aws_ebs_csi_write_bytes_total",
		"aws_ebs_csi_write_seconds_total", "aws_ebs_csi_read_seconds_total", "aws_ebs_csi_exceeded_iops_seconds_total", "aws_ebs_csi_exceeded_tp_seconds_total", "aws_ebs_csi_ec2_exceeded_iops_seconds_total"}},
}

// ebsPage is a recording of ten minutes in which the volume stalled at its IOPS limit in the middle
// five.
func ebsPage(names [8]string, labels string, second float64) string {
	calm := [8]float64{400, 10, 400 * 16384, 0.3 * second, 0.01 * second}
	stall := [8]float64{3000, 10, 3000 * 16384, 120 * second, 0.4 * second, 0.97 * second}

	var b strings.Builder
	for i, name := range names {
		kind := "unknown"
		family := name
		if f, total := strings.CutSuffix(name, "_total"); total {
			kind, family = "counter", f
		}

		fmt.Fprintf(&b, "# TYPE %s %s\n", family, kind)
		sum := 0.0
		for s := 0; s <= 600; s += 15 {
			fmt.Fprintf(&b, "%s{%s} %.0f %d\n", name, labels, sum, 1790000000+s)
			if s >= 150 && s < 450 {
				sum += 15 * stall[i]
			} else {
				sum += 15 * calm[i]
			}
		}
	}

	return b.String() + "# EOF\n"
}

// Each exporter's own names give the same diagnosis: the volume's cap, found by its own counter.
func TestEBSPagesByName(t *testing.T) {
	for who, page := range ebsPages {
		path := filepath.Join(t.TempDir(), "ebs.prom")
		if err := os.WriteFile(path, []byte(ebsPage(page.names, page.labels, page.second)), 0o600); err != nil {
			t.Fatal(err)
		}

		a, stdout, stderr := testApp("diagnose", path, "-o", "json")
		if code := a.run(t.Context()); code != exitFine {
			t.Fatalf("%s: exit code %d: %s", who, code, stderr)
		}

		var d struct {
			Findings []struct {
				Rule, Target string
			}
		}

		if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
			t.Fatal(err)
		}

		if len(d.Findings) == 0 || d.Findings[0].Rule != "disk/iops-capped" || !bytes.Contains(stdout.Bytes(), []byte("vol-0abc")) {
			t.Errorf("%s: findings are %+v\n%s", who, d.Findings, stdout)
		}
	}
}
