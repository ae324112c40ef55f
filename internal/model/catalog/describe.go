package catalog

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A description holds the fields that the catalogue uses from an element printed by `aws ec2
// describe-instance-types` (EC2 API reference, InstanceTypeInfo, 2025).
type description struct {
	InstanceType string
	EbsInfo      struct {
		MaximumEbsAttachments int64
		EbsCards              []struct{ EbsCardIndex int64 }
		EbsOptimizedInfo      *struct {
			BaselineIops, MaximumIops                         float64
			BaselineThroughputInMBps, MaximumThroughputInMBps float64
		}
	}
	NetworkInfo         struct{ BandwidthWeightings []string }
	InstanceStorageInfo *struct {
		Disks []struct {
			Count, SizeInGB int64
			Type            string
		}
	}
	MemoryInfo struct{ SizeInMiB int64 }
	VCpuInfo   struct{ DefaultVCpus int64 }
}

// nameBytesMax bounds the name of an instance type; the longest today has 22.
const nameBytesMax = 64

// DescribedInstance reads one element of the InstanceTypes that `aws ec2 describe-instance-types`
// prints. name is used if the element has none. The caller sets source and prices.
func DescribedInstance(name string, element []byte) (InstanceType, error) {
	var described description
	if err := json.Unmarshal(element, &described); err != nil {
		return InstanceType{}, err
	}

	if described.InstanceType == "" {
		described.InstanceType = name
	}

	machine := InstanceType{
		Name: described.InstanceType, VCPU: int(described.VCpuInfo.DefaultVCpus),
		Memory:      units.Size(described.MemoryInfo.SizeInMiB) * units.MiB,
		Attachments: int(described.EbsInfo.MaximumEbsAttachments),
	}

	if n := len(described.EbsInfo.EbsCards); n > 1 {
		machine.Cards = n
	}

	machine.Weighting = slices.Contains(described.NetworkInfo.BandwidthWeightings, ebsWeighting)

	// Reject values that no machine has before anything is multiplied.
	if m := described.MemoryInfo.SizeInMiB; m < 1 || m > 1<<30 {
		return machine, fmt.Errorf("%q: a memory of %d MiB (MemoryInfo.SizeInMiB)", machine.Name, m)
	}

	if e := described.EbsInfo.EbsOptimizedInfo; e != nil {
		for _, mbps := range []float64{e.BaselineThroughputInMBps, e.MaximumThroughputInMBps} {
			if !(mbps > 0 && mbps <= 1e6) {
				return machine, fmt.Errorf("%q: a throughput of %v MB/s (EbsInfo.EbsOptimizedInfo)", machine.Name, mbps)
			}
		}
		machine.HasEBS = true
		machine.Baseline = volume.Rate{IOPS: units.Frequency(e.BaselineIops),
			Throughput: megabytes(e.BaselineThroughputInMBps)}
		machine.Maximum = volume.Rate{IOPS: units.Frequency(e.MaximumIops),
			Throughput: megabytes(e.MaximumThroughputInMBps)}
	}

	if s := described.InstanceStorageInfo; s != nil && len(s.Disks) > 0 {
		disk := s.Disks[0]
		if disk.Count < 1 || disk.Count > 1000 || disk.SizeInGB < 1 || disk.SizeInGB > 1e6 {
			return machine, fmt.Errorf("%q: %d disks of %d GB (InstanceStorageInfo.Disks)", machine.Name, disk.Count,
				disk.SizeInGB)
		}
		machine.Disk = LocalDisk{Count: int(disk.Count), Size: units.Size(disk.SizeInGB) * units.GB,
			HDD: disk.Type == "hdd"}
	}

	return machine, machine.check()
}

// megabytes is a throughput in decimal megabytes, an eighth of AWS's Mbps, to a thousand bytes.
func megabytes(mbps float64) units.Throughput {
	return units.Throughput(math.Round(float64(mbps*1000))) * 1000
}

// check rejects descriptions that cannot be of a real instance, whatever their source.
func (i *InstanceType) check() error {
	if err := checkName(i.Name); err != nil {
		return err
	}

	switch {
	case i.VCPU < 1 || i.VCPU > 1<<16:
		return fmt.Errorf("%q: %d vCPUs", i.Name, i.VCPU)
	case i.Memory < units.MiB || i.Memory > 1<<50:
		return fmt.Errorf("%q: a memory of %d bytes", i.Name, int64(i.Memory))
	case i.Attachments < 0 || i.Attachments > 1<<16:
		return fmt.Errorf("%q: %d volumes attached at most", i.Name, i.Attachments)
	case i.Cards < 0 || i.Cards > 64:
		return fmt.Errorf("%q: %d EBS cards", i.Name, i.Cards)
	case i.Disk.Count < 0 || i.Disk.Count > 1000 || i.Disk.Size < 0 || i.Disk.Size > units.Size(1e6)*units.GB ||
		(i.Disk.Count > 0) != (i.Disk.Size > 0):
		return fmt.Errorf("%q: %d local disks of %s", i.Name, i.Disk.Count, i.Disk.Size.Exact())
	case !i.HasEBS:
		if (i.Baseline != volume.Rate{}) || (i.Maximum != volume.Rate{}) {
			return fmt.Errorf("%q: has EBS limits, but is marked as having unknown ones", i.Name)
		}
	case i.Baseline.IOPS < 1 || i.Baseline.Throughput < 1:
		return fmt.Errorf("%q: EBS limits of %v IOPS and %v", i.Name, float64(i.Baseline.IOPS),
			i.Baseline.Throughput)
	}

	cfg := i.Config()
	if err := cfg.Check(); err != nil {
		return err
	}

	for _, p := range i.Prices {
		if err := p.check(); err != nil {
			return fmt.Errorf("%q: %w", i.Name, err)
		}
	}

	return nil
}

// The highest plausible price: one above it is in another currency or unit.
const hourlyMax units.USD = 10_000

func (p *InstancePrice) check() error {
	if err := checkName(p.Region); err != nil {
		return err
	}
	if !(p.Hourly > 0 && p.Hourly <= hourlyMax) {
		return fmt.Errorf("price of %v USD per hour out of range: want more than 0, at most %v", float64(p.Hourly), float64(hourlyMax))
	}
	return nil
}

// checkName accepts names as clouds give them to instance types and regions.
func checkName(name string) error {
	if name == "" || len(name) > nameBytesMax {
		return fmt.Errorf("name of %d characters: want 1 to %d", len(name), nameBytesMax)
	}
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_') {
			return fmt.Errorf("%q is not a valid name of an instance type", name)
		}
	}
	return nil
}
