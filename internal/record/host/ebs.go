package host

import (
	"fmt"

	"plimsoll/internal/record/ebs"
)

// volumes samples the machine's EBS volumes, with the names of aws-ebs-csi-driver's node metrics.
//
// If /proc is not below /, only the machine's files are available, not its devices.
func (s *sampler) volumes() {
	for _, v := range s.ebs {
		page, err := s.askVolume(v.Device)
		if err != nil {
			s.lack("ebs "+v.Device, fmt.Sprintf(
				"the volume %s does not report which limit throttles it (this needs root): %v", v.ID, err))
			continue
		}

		for _, x := range []struct {
			metric string
			value  float64
		}{
			{"read_ops_total", float64(page.ReadOps)},
			{"write_ops_total", float64(page.WriteOps)},
			{"read_bytes_total", float64(page.ReadBytes)},
			{"write_bytes_total", float64(page.WriteBytes)},
			// The volume reports times in microseconds.
			{"read_seconds_total", float64(page.ReadUs) / 1e6},
			{"write_seconds_total", float64(page.WriteUs) / 1e6},
			{"exceeded_iops_seconds_total", float64(page.VolumeIOPSUs) / 1e6},
			{"exceeded_tp_seconds_total", float64(page.VolumeThroughputUs) / 1e6},
			{"ec2_exceeded_iops_seconds_total", float64(page.InstanceIOPSUs) / 1e6},
			{"ec2_exceeded_tp_seconds_total", float64(page.InstanceThroughputUs) / 1e6},
			{"volume_queue_length", float64(page.QueueLength)},
		} {
			s.add(x.value, seriesKey{metric: "aws_ebs_csi_" + x.metric, label: "device", value: v.Device,
				label2: "volume_id", value2: v.ID})
		}
	}
}

// volumesOf returns the volumes to sample.
func volumesOf(root string) []ebs.Volume {
	if root != "/" {
		return nil
	}
	return ebs.Volumes(root)
}
