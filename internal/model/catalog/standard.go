package catalog

import (
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

var (
	standardSSDDocs = Source{"Microsoft Azure documentation, managed disk types, Standard SSD sizes", "2023-02"}
	standardHDDDocs = Source{"Microsoft Azure documentation, managed disk types, Standard HDD sizes", "2018-09"}
	pdStandardDocs  = Source{"Google Cloud documentation, Persistent Disk limits, as gcpdiag has them", "2024-08"}
)

// pdStandard is Google's hard disk. Its limits grow with the size and have no baseline.
func pdStandard() *VolumeType {
	const mostReads, mostWrites IOPS = 7500, 15_000
	const mostRead, mostWrite = 1200 * units.MiBps, 400 * units.MiBps

	return &VolumeType{
		Name: "pd-standard", Provider: "gcp", Title: "Standard Persistent Disk",
		SizeMin: said(10*units.GiB, pdDocs), SizeMax: said(64*units.TiB, pdDocs),
		IOPSMax:       said(mostWrites, pdStandardDocs, "of writes; 7,500 of reads"),
		ThroughputMax: said(mostRead, pdStandardDocs, "of reads; 400 of writes"),
		Rules: []Figure[string]{
			said("0.75 read and 1.5 write IOPS per GiB, at most 7,500 and 15,000", pdStandardDocs),
			said("0.12 MiB/s per GiB, at most 1,200 of reads and 400 of writes", pdStandardDocs),
			said("the limits follow from the total size of the machine's volumes of this type; here each volume has its own share (assumed)",
				pdStandardDocs),
		},
		Read: &volume.HDD, Write: &volume.HDD, LatencyBasis: Assumed,
		LatencyNote: "st1's (assumed: no public measurement of it is known here)",
		limits: func(_ *VolumeType, o *Order, _ *InstanceType) Limits {
			gib := o.gib()
			rate := units.Throughput(12*gib) * units.MiBps / 100
			return Limits{
				ReadOnly: volume.Rate{IOPS: min(units.Frequency(gib)*3/4, mostReads.Frequency()),
					Throughput: min(rate, mostRead)},
				WriteOnly: volume.Rate{IOPS: min(units.Frequency(gib)*3/2, mostWrites.Frequency()),
					Throughput: min(rate, mostWrite)},
			}
		},
	}
}

// azureStandard are Azure's disks for loads that may wait. AKS' default class creates Standard SSDs.
func azureStandard() []*VolumeType {
	return []*VolumeType{{
		Name: "standard-ssd", Provider: "azure", Title: "Standard SSD",
		SizeMin: said(units.GiB, standardSSDDocs), SizeMax: said(32_767*units.GiB, standardSSDDocs),
		IOPSMax: said(IOPS(6000), standardSSDDocs), ThroughputMax: said(750*units.MBps, standardSSDDocs),
		Operation: said(256*units.KiB, azureDocs),
		Rules: []Figure[string]{
			said("up to 500 IOPS and 60 MB/s up to 4 TiB, 2,000 and 400 up to 8 TiB, 4,000 and 600 up to 16 TiB, 6,000 and 750 above",
				standardSSDDocs),
			said("up to 512 GiB 600 IOPS and 150 MB/s, up to 1 TiB 1,000 and 250 while credits last: a full bucket lasts 30 minutes",
				standardSSDDocs),
			said("none of this is guaranteed, and each operation has a price, which is not known here", azureDocs),
		},
		Read: &volume.StandardSSDRead, Write: &volume.StandardSSDWrite, LatencyBasis: Measured,
		LatencyNote: "without host caching",
		limits:      standardSSD,
	}, {
		Name: "standard-hdd", Provider: "azure", Title: "Standard HDD",
		SizeMin: said(units.GiB, standardHDDDocs), SizeMax: said(32_767*units.GiB, standardHDDDocs),
		IOPSMax: said(IOPS(2000), standardHDDDocs), ThroughputMax: said(500*units.MBps, standardHDDDocs),
		Rules: []Figure[string]{
			said("up to 500 IOPS and 60 MB/s up to 4 TiB, 1,300 and 300 up to 8 TiB, 2,000 and 500 above",
				standardHDDDocs),
			said("none of this is guaranteed, and each operation has a price, which is not known here", azureDocs),
		},
		Read: &volume.HDD, Write: &volume.HDD, LatencyBasis: Assumed,
		LatencyNote: "st1's (assumed: in one run of fio writes took 2.9 ms on average, and reads from 3 to 20, tkubica12/cloud-storage-tests, 2022)",
		limits: func(_ *VolumeType, o *Order, _ *InstanceType) Limits {
			return Limits{Sustained: hddTiers.of(o)}
		},
	}}
}

// Tiers are limits of disks up to a size.
type tiers []struct {
	size units.Size
	rate volume.Rate
}

// of is the tier of an order's size.
func (t tiers) of(o *Order) volume.Rate {
	for _, tier := range t {
		if o.Size <= tier.size {
			return tier.rate
		}
	}
	return t[len(t)-1].rate
}

var (
	ssdTiers = tiers{
		{4 * units.TiB, volume.Rate{IOPS: 500, Throughput: 60 * units.MBps}},
		{8 * units.TiB, volume.Rate{IOPS: 2000, Throughput: 400 * units.MBps}},
		{16 * units.TiB, volume.Rate{IOPS: 4000, Throughput: 600 * units.MBps}},
		{32 * units.TiB, volume.Rate{IOPS: 6000, Throughput: 750 * units.MBps}},
	}
	ssdBursts = tiers{
		{512 * units.GiB, volume.Rate{IOPS: 600, Throughput: 150 * units.MBps}},
		{units.TiB, volume.Rate{IOPS: 1000, Throughput: 250 * units.MBps}},
	}
	hddTiers = tiers{
		{4 * units.TiB, volume.Rate{IOPS: 500, Throughput: 60 * units.MBps}},
		{8 * units.TiB, volume.Rate{IOPS: 1300, Throughput: 300 * units.MBps}},
		{32 * units.TiB, volume.Rate{IOPS: 2000, Throughput: 500 * units.MBps}},
	}
)

func standardSSD(_ *VolumeType, o *Order, _ *InstanceType) Limits {
	l := Limits{Sustained: ssdTiers.of(o)}
	if o.Size <= units.TiB {
		l.Burst = twoBuckets(l.Sustained, ssdBursts.of(o))
	}
	return l
}

// burstsFor is how long a full bucket of Azure's disks lasts, in seconds.
const burstsFor = 1800

// twoBuckets are Azure's credits: operations and bytes have a bucket each.
func twoBuckets(base, at volume.Rate) *volume.Burst {
	credits := volume.Credits(at.IOPS-base.IOPS) * burstsFor
	return &volume.Burst{
		At: at, Capacity: credits, Initial: credits,
		BytesCapacity: volume.Credits(at.Throughput-base.Throughput) * burstsFor,
	}
}
