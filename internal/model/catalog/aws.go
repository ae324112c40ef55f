package catalog

import (
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// Sources of statements about Amazon's volumes.
var (
	ebsGuide = Source{"Amazon EBS user guide, \"Amazon EBS volume types\"", "2025"}
	ebsIO    = Source{"Amazon EBS user guide, \"I/O characteristics and monitoring\"", "2025"}
	ec2API   = Source{"Amazon EC2 API reference, CreateVolume", "2025"}
	// The measurements of a migration of database servers of up to 3 TB.
	initialized   = Source{"AWS re:Post, \"Speeding up large EBS volume initialization during AWS MGN migrations\"", "2025"}
	ebsInitialize = Source{"Amazon EBS user guide, \"Initialize Amazon EBS volumes\"", "2025"}
	rdsGuide      = Source{"Amazon RDS user guide, \"Amazon RDS DB instance storage\"", "2026"}
	ebsPrices     = Source{"AWS price list, us-east-1, as infracost has it", "2026"}
)

const olderGP3 = "since 2025; older pages and most published cases say 16,000 IOPS, 1,000 MiB/s, 16 TiB"

var (
	ssdOperation = said(256*units.KiB, ebsIO)
	hddOperation = said(1024*units.KiB, ebsIO)
)

func awsTypes() []*VolumeType {
	all := []*VolumeType{gp3(), gp2(), io2(), io1(), st1(), sc1()}
	for _, t := range all {
		t.FirstTouch = said(135*units.MBps, initialized, "130 to 140 MB/s on gp3, whatever its throughput")
		if strings.HasPrefix(t.Name, "io") {
			t.FirstTouch = said(700*units.MBps, initialized, "700 MB/s to 1.2 GB/s on io2")
		}
	}
	return all
}

// How a volume made from a snapshot behaves until all of it has been fetched.
const (
	// firstTouchTakes is the fetch of one block of 512 KiB: 9 MB/s if they are read one after
	// another, as a public deployment reports of its root volume (assumed for all types).
	firstTouchTakes    = 58 * units.Duration(1e6)
	initializationMin  = 100 * units.MiBps
	initializationMost = 300 * units.MiBps
)

// initialization returns how a volume made from a snapshot is filled; nil if it starts empty.
func (o *Order) initialization(t *VolumeType) *volume.Initialization {
	if !o.FromSnapshot || !t.FirstTouch.Known() {
		return nil
	}
	return &volume.Initialization{Rate: o.InitializationRate, OnDemand: t.FirstTouch.Value,
		Takes: firstTouchTakes}
}

// fromSnapshot checks the settings of a volume made from a snapshot.
func (c *checker) fromSnapshot() {
	o, t := c.o, c.t
	if o.FromSnapshot && !t.FirstTouch.Known() {
		c.add("from_snapshot", "how a "+t.Name+
			" behaves meanwhile is not known here: only EBS volumes are modelled", "",
			Source{}, "")
	}

	switch r := o.InitializationRate; {
	case r == 0:
	case !o.FromSnapshot:
		c.add("initialization_rate", "without from_snapshot: true there is nothing to initialize", "",
			ebsInitialize, "")
	case r < initializationMin || r > initializationMost:
		c.add("initialization_rate", rate(r), "from 100 to 300 MiB/s", ebsInitialize,
			written(min(max(r, initializationMin), initializationMost)))
	}
}

// Initialized returns the shortest time until all of a volume of this size that was made from a
// snapshot is available: when each block is accessed, and at the highest volume initialization rate. It
// returns false if that is not known for the type.
func (t *VolumeType) Initialized(size units.Size) (touched, ordered units.Duration, ok bool) {
	takes := func(r units.Throughput) units.Duration {
		return units.Duration(float64(size) / float64(r) * 1e9)
	}
	if !t.FirstTouch.Known() {
		return 0, 0, false
	}
	return takes(t.FirstTouch.Value), takes(initializationMost), true
}

func gp3() *VolumeType {
	return &VolumeType{
		Name: "gp3", Provider: "aws", Title: "EBS General Purpose SSD",
		SizeMin: said(units.GiB, ebsGuide), SizeMax: said(64*units.TiB, ebsGuide, olderGP3),
		ChoosesIOPS: true, ChoosesThroughput: true,
		IOPSIncluded: said(IOPS(3000), ebsGuide), IOPSMin: said(IOPS(3000), ec2API),
		IOPSMax: said(IOPS(80_000), ec2API, olderGP3), IOPSPerGiB: said(IOPS(500), ebsGuide),
		ThroughputIncluded: said(125*units.MiBps, ebsGuide), ThroughputMin: said(125*units.MiBps, ec2API),
		ThroughputMax:     said(2000*units.MiBps, ebsGuide, olderGP3),
		ThroughputPerIOPS: said(256*units.KiB, ebsGuide, "0.25 MiB/s for each IOPS"),
		Operation:         ssdOperation, Merge: true,
		Rules: []Figure[string]{
			said("no burst: delivers at least 90 % of its IOPS 99 % of the time in a year", ebsGuide),
			said("from 400 GiB on RDS stripes four of them (Oracle from 200 GiB on, SQL Server never): 12,000 IOPS and 500 MiB/s; enter it as stripe: 4, each with a quarter of the size",
				rdsGuide),
		},
		Read: &volume.GP3, Write: &volume.GP3, LatencyBasis: Measured, LatencyNote: "reads as writes (assumed)",
		Prices: []Prices{{
			Region: "us-east-1", Source: ebsPrices, PerGiB: 0.08,
			IOPS:       []Tier{{Over: 3000, Each: 0.005}},
			Throughput: []ThroughputTier{{Over: 125 * units.MiBps, EachMiBps: 0.04}},
		}},
		limits: chosen,
	}
}

// chosen returns the ordered limits, or otherwise the included ones.
func chosen(t *VolumeType, o *Order, _ *InstanceType) Limits {
	iops, throughput := o.asked(t), o.Throughput
	if iops == 0 {
		iops = t.IOPSIncluded.Value
	}
	if throughput == 0 {
		throughput = max(t.ThroughputIncluded.Value, t.throughputLeast(iops))
	}
	return Limits{Sustained: volume.Rate{IOPS: iops.Frequency(), Throughput: throughput}}
}

// gp2's bucket: 5.4 million operations, full at the start (Amazon EBS user guide, 2025).
const (
	gp2Credits volume.Credits = 5.4e6
	gp2Burst   IOPS           = 3000
)

func gp2() *VolumeType {
	return &VolumeType{
		Name: "gp2", Provider: "aws", Title: "EBS General Purpose SSD, previous",
		SizeMin: said(units.GiB, ebsGuide), SizeMax: said(16*units.TiB, ebsGuide),
		IOPSMin:       said(IOPS(100), ebsGuide, "up to 33.33 GiB"),
		IOPSMax:       said(IOPS(16_000), ebsGuide, "from 5,334 GiB"),
		ThroughputMax: said(250*units.MiBps, ebsGuide),
		Operation:     ssdOperation, Merge: true,
		Rules: []Figure[string]{
			said("3 IOPS per GiB, at least 100, at most 16,000", ebsGuide),
			said("below 1,000 GiB 3,000 IOPS while credits last: the bucket holds 5,400,000 and starts full, an operation costs one, and it refills at the baseline rate",
				ebsGuide),
			said("throughput 128 MiB/s up to 170 GiB, 250 MiB/s above (from 170 to 334 GiB only with credits, which the IOPS limit accounts for)",
				ebsGuide),
			said("delivers at least 90 % of its IOPS 99 % of the time in a year", ebsGuide),
		},
		Read: &volume.GP2, Write: &volume.GP2, LatencyBasis: Measured,
		LatencyNote: "with credits; reads as writes (assumed)",
		Prices:      []Prices{{Region: "us-east-1", Source: ebsPrices, PerGiB: 0.10}},
		limits: func(_ *VolumeType, o *Order, _ *InstanceType) Limits {
			iops := IOPS(min(max(3*o.gib(), 100), 16_000))
			l := Limits{Sustained: volume.Rate{IOPS: iops.Frequency(), Throughput: 128 * units.MiBps}}

			// Above 170 GiB the documented limit is 250 MiB/s; below 334 GiB it needs credits,
			// which the IOPS bucket enforces.
			if o.gib() > 170 {
				l.Sustained.Throughput = 250 * units.MiBps
			}

			// At 1,000 GiB and above, the baseline reaches the burst, so there is no bucket.
			if iops < gp2Burst {
				l.Burst = &volume.Burst{At: volume.Rate{IOPS: gp2Burst.Frequency()}, Capacity: gp2Credits,
					Initial: gp2Credits}
			}

			return l
		},
	}
}

func io2() *VolumeType {
	return &VolumeType{
		Name: "io2", Provider: "aws", Title: "EBS Provisioned IOPS SSD, Block Express",
		SizeMin: said(4*units.GiB, ebsGuide), SizeMax: said(64*units.TiB, ebsGuide),
		ChoosesIOPS: true, IOPSMin: said(IOPS(100), ec2API),
		IOPSMax:    said(IOPS(256_000), ebsGuide, "on Nitro instances; 32,000 elsewhere"),
		IOPSPerGiB: said(IOPS(1000), ebsGuide), ThroughputMax: said(4000*units.MiBps, ebsGuide),
		ThroughputPerIOPS: said(units.Size(268_435), ebsGuide, "0.256 MiB/s for each IOPS"),
		Operation:         ssdOperation, Merge: true,
		Rules: []Figure[string]{
			said("throughput follows from the IOPS: 0.256 MiB/s per IOPS, at most 4,000 MiB/s", ebsGuide),
			said("delivers at least 90 % of its IOPS 99.9 % of the time in a year; under 500 us on average at 16 KiB", ebsGuide),
		},
		Read: &volume.IO2BlockExpress, Write: &volume.IO2BlockExpress, LatencyBasis: Promised,
		LatencyNote: "reads as writes (assumed)",
		Prices: []Prices{{Region: "us-east-1", Source: ebsPrices, PerGiB: 0.125, IOPS: []Tier{
			{Over: 0, Each: 0.065}, {Over: 32_000, Each: 0.046}, {Over: 64_000, Each: 0.032},
		}, Note: "tiers are a volume's: a stripe of several pays the first tier on each"}},
		limits: func(t *VolumeType, o *Order, _ *InstanceType) Limits {
			iops := o.asked(t)
			// 0.256 MiB, to the byte: 256/1,000 of 2^20.
			throughput := min(units.Throughput(iops)*256*units.MiBps/1000, t.ThroughputMax.Value)
			return Limits{Sustained: volume.Rate{IOPS: iops.Frequency(), Throughput: throughput}}
		},
	}
}

func io1() *VolumeType {
	return &VolumeType{
		Name: "io1", Provider: "aws", Title: "EBS Provisioned IOPS SSD, previous",
		SizeMin: said(4*units.GiB, ebsGuide), SizeMax: said(16*units.TiB, ebsGuide),
		ChoosesIOPS: true, IOPSMin: said(IOPS(100), ec2API),
		IOPSMax:    said(IOPS(64_000), ebsGuide, "on Nitro instances; 32,000 elsewhere"),
		IOPSPerGiB: said(IOPS(50), ebsGuide), ThroughputMax: said(1000*units.MiBps, ebsGuide),
		Operation: ssdOperation, Merge: true,
		Rules: []Figure[string]{
			said("throughput follows from the IOPS: 256 KiB/s per IOPS up to 500 MiB/s, above 32,000 IOPS 16 KiB/s per IOPS, at most 1,000 MiB/s",
				ebsGuide),
			said("delivers at least 90 % of its IOPS 99.9 % of the time in a year", ebsGuide),
		},
		Read: &volume.IO2BlockExpress, Write: &volume.IO2BlockExpress, LatencyBasis: Assumed,
		LatencyNote: "io2's (assumed: no figures for io1 are known here)",
		Prices: []Prices{{Region: "us-east-1", Source: ebsPrices, PerGiB: 0.125,
			IOPS: []Tier{{Over: 0, Each: 0.065}}}},
		limits: func(t *VolumeType, o *Order, _ *InstanceType) Limits {
			iops := o.asked(t)
			throughput := min(units.Throughput(iops)*units.Throughput(256*units.KiB), 500*units.MiBps)
			if iops > 32_000 {
				throughput = min(units.Throughput(iops)*units.Throughput(16*units.KiB), t.ThroughputMax.Value)
			}
			return Limits{Sustained: volume.Rate{IOPS: iops.Frequency(), Throughput: throughput}}
		},
	}
}

func st1() *VolumeType {
	t := hdd(40, 250, 500, 500)
	t.Name, t.Title = "st1", "EBS Throughput Optimized HDD"
	t.Rules = []Figure[string]{
		said("40 MiB/s per TiB, at most 500; 250 MiB/s per TiB, at most 500, while credits last", ebsGuide),
		said("the credit bucket holds 1 TiB per TiB of size, starts full, and refills at the baseline rate", ebsGuide),
		said("an operation is up to 1 MiB of sequential I/O, and costs 1 MiB of credits even if it is smaller",
			ebsIO),
	}
	t.Prices = []Prices{{Region: "us-east-1", Source: ebsPrices, PerGiB: 0.045}}
	return t
}

func sc1() *VolumeType {
	t := hdd(12, 80, 192, 250)
	t.Name, t.Title = "sc1", "EBS Cold HDD"
	t.Rules = []Figure[string]{
		said("12 MiB/s per TiB, at most 192; 80 MiB/s per TiB, at most 250, while credits last", ebsGuide),
		said("the credit bucket holds 1 TiB per TiB of size, starts full, and refills at the baseline rate", ebsGuide),
		said("an operation is up to 1 MiB of sequential I/O, and costs 1 MiB of credits even if it is smaller",
			ebsIO),
	}
	t.Prices = []Prices{{Region: "us-east-1", Source: ebsPrices, PerGiB: 0.015}}
	return t
}

// hdd makes the common part of st1 and sc1: limits in MiB/s per TiB, with caps. An operation costs
// 1 MiB of credits, so MiB/s equal operations per second.
func hdd(base, burst, baseMost, burstMost int64) *VolumeType {
	return &VolumeType{
		Provider: "aws",
		SizeMin:  said(125*units.GiB, ebsGuide), SizeMax: said(16*units.TiB, ebsGuide),
		IOPSMax:       said(IOPS(burstMost), ebsGuide, "of 1 MiB"),
		ThroughputMax: said(units.Throughput(burstMost)*units.MiBps, ebsGuide),
		Operation:     hddOperation, Merge: true,
		Read: &volume.HDD, Write: &volume.HDD, LatencyBasis: Assumed, LatencyNote: "assumed: none is published",
		limits: func(_ *VolumeType, o *Order, _ *InstanceType) Limits {
			perTiB := func(n int64) float64 { return float64(n*o.gib()) / 1024 }
			sustained, at := min(perTiB(base), float64(baseMost)), min(perTiB(burst), float64(burstMost))
			rate := func(mib float64) volume.Rate {
				return volume.Rate{IOPS: units.Frequency(mib), Throughput: units.Throughput(mib * float64(units.MiBps))}
			}
			l := Limits{Sustained: rate(sustained)}

			// The largest volumes reach the cap without credits.
			if at > sustained {
				credits := volume.Credits(o.gib()) * 1024 // 1 MiB each
				l.Burst = &volume.Burst{At: rate(at), Capacity: credits, Initial: credits}
			}

			return l
		},
	}
}
