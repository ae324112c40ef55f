package catalog

import (
	"math"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// Sources of statements about Google's and Microsoft's disks.
var (
	hyperdiskDocs = Source{"Google Cloud documentation, Hyperdisk Balanced", "2025"}
	pdDocs        = Source{"Google Cloud documentation, \"About Persistent Disk performance\"", "2025"}
	extremeDocs   = Source{"Google Cloud documentation, Hyperdisk Extreme", "2026"}
	hyperdisks    = Source{"Google Cloud documentation, \"About Hyperdisk\"", "2026-04-09"}
	bySizeDocs    = Source{"Google Cloud documentation, \"About Hyperdisk Throughput\"", "2025"}
	mlDocs        = Source{"Google Cloud documentation, \"About Hyperdisk ML\"", "2025"}
	regionalDocs  = Source{"Google Cloud documentation, Hyperdisk Balanced High Availability", "2026"}
	azureDocs     = Source{"Microsoft Azure documentation, managed disk types", "2025"}
	azureBursting = Source{"Microsoft Azure documentation, \"Managed disk bursting\" and \"Enable on-demand bursting\"", "2025"}
	googlePrices  = Source{"Google's Cloud Billing catalog, as gcosts has it", "2026-07-30"}
	balancedIowa  = Source{"Google's list prices of Hyperdisk Balanced in Iowa, as public programs quote them", "2026"}
	balancedEast  = Source{"Google's pricing calculator for Hyperdisk Balanced in South Carolina, as CoCalc's price parser quotes it", "2024"}
	extremePrices = Source{"Google's Cloud Billing catalog, as gcosts (size, 2026-07-30) and infracost (IOPS) have it", "2025"}
	azureV2Prices = Source{"Azure Retail Prices API, eastus, meters of Azure Premium SSD v2, as two public programs quote them", "2026"}
	premiumPrices = Source{"Azure Retail Prices API, eastus, as two public repositories quote its answers", "2026-07-23"}
	ultraPrices   = Source{"Azure Retail Prices API, eastus, as infracost has it", "2025"}
)

const (
	likeGP3   = "gp3's (assumed: no public measurement of it is known here)"
	likeIO2   = "io2 Block Express' (assumed: no public measurement of it is known here)"
	likePDSSD = "pd-ssd's (assumed: no public measurement of it is known here, and Google recommends pd-ssd for less latency)"
	// likeGP3Within is the note for Hyperdisk Balanced. The bound: fio with 32 random reads of 4 KiB in
	// flight, 24,600 IOPS (easontechtalk.com, "From 2K to 160K fio IOPS", undated).
	likeGP3Within = "gp3's (assumed: Google promises less than a millisecond; the one public measurement known here, 1.3 ms with 32 reads in flight, is a bound)"
)

// fourChanges is how often Azure lets a user change a disk.
const fourChanges = "IOPS and throughput can be changed four times in 24 hours"

func gcpTypes() []*VolumeType {
	regional := hyperdiskBalanced("hyperdisk-balanced-ha", "Hyperdisk Balanced High Availability", 100_000, 1200,
		regionalDocs)
	regional.Rules = append(regional.Rules,
		said("the ranges of size and IOPS are those of Hyperdisk Balanced; the latency does not include that each write goes to two zones (assumed)",
			Source{Text: "assumed"}))
	balanced := persistentDisk("pd-balanced", "Balanced Persistent Disk", 3000, 6, 80_000, 140, 28)
	balanced.LatencyBasis, balanced.LatencyNote = Assumed, likePDSSD
	ssd := persistentDisk("pd-ssd", "SSD Persistent Disk", 6000, 30, 100_000, 240, 48)

	standard := pdStandard()
	for _, p := range []struct {
		region                  string
		ssd, balanced, standard units.USD
	}{
		{"us-central1", 0.17, 0.10, 0.04}, {"us-east1", 0.17, 0.10, 0.04}, {"us-east4", 0.187, 0.11, 0.044},
		{"us-west1", 0.17, 0.10, 0.04}, {"europe-west1", 0.17, 0.10, 0.04},
		{"europe-west2", 0.204, 0.12, 0.048}, {"europe-west3", 0.204, 0.12, 0.048},
		{"europe-west4", 0.187, 0.11, 0.044}, {"asia-northeast1", 0.221, 0.13, 0.052},
		{"asia-southeast1", 0.187, 0.11, 0.044},
	} {
		ssd.Prices = append(ssd.Prices, Prices{Region: p.region, Source: googlePrices, PerGiB: p.ssd})
		balanced.Prices = append(balanced.Prices,
			Prices{Region: p.region, Source: googlePrices, PerGiB: p.balanced})
		standard.Prices = append(standard.Prices,
			Prices{Region: p.region, Source: googlePrices, PerGiB: p.standard})
	}

	hyperdisk := hyperdiskBalanced("hyperdisk-balanced", "Hyperdisk Balanced", 160_000, 2400, hyperdiskDocs)
	hyperdisk.Prices = []Prices{
		{
			Region: "us-central1", Source: balancedIowa, PerGiB: 0.08, IOPS: []Tier{{Over: 3000, Each: 0.005}},
			Throughput: []ThroughputTier{{Over: 140 * units.MiBps, EachMiBps: 0.04}},
		},
		{
			Region: "us-east1", Source: balancedEast, PerGiB: 0.09, IOPS: []Tier{{Over: 3000, Each: 0.006}},
			Throughput: []ThroughputTier{{Over: 140 * units.MiBps, EachMiBps: 0.045}},
		},
	}

	return []*VolumeType{
		hyperdisk, regional, hyperdiskExtreme(),
		hyperdiskThroughput(), hyperdiskML(), ssd, balanced, standard,
	}
}

// machineBound is the rule that every Hyperdisk has: its figures do not include the machine's
// limits.
func machineBound(s Source) Figure[string] {
	return said("the machine limits IOPS and throughput further; see plimsoll catalog show MACHINE",
		s)
}

// hyperdiskBalanced makes a type whose IOPS are bounded by its size, and whose throughput is bounded
// by its IOPS from both sides.
func hyperdiskBalanced(name, title string, mostIOPS IOPS, mostMiBps int64, s Source) *VolumeType {
	return &VolumeType{
		Name: name, Provider: "gcp", Title: title,
		SizeMin: said(4*units.GiB, s), SizeMax: said(64*units.TiB, s),
		ChoosesIOPS: true, ChoosesThroughput: true,
		IOPSIncluded: said(IOPS(3000), s), IOPSMin: said(IOPS(3000), s, "for 6 GiB and more"),
		IOPSMax:            said(mostIOPS, s),
		IOPSPerGiB:         said(IOPS(500), s, "over 6 GiB"),
		ThroughputIncluded: said(140*units.MiBps, s), ThroughputMin: said(140*units.MiBps, s),
		ThroughputMax:          said(units.Throughput(mostMiBps)*units.MiBps, s),
		ThroughputPerIOPS:      said(256*units.KiB, s, "0.25 MiB/s for each IOPS"),
		ThroughputLeastPerIOPS: said(4*units.KiB, s, "1 MiB/s for each 256 IOPS"),
		Rules:                  []Figure[string]{machineBound(s)},
		Read:                   &volume.GP3, Write: &volume.GP3, LatencyBasis: Assumed, LatencyNote: likeGP3Within,
		limits: chosen,
	}
}

func hyperdiskExtreme() *VolumeType {
	const most = 5000 * units.MiBps
	return &VolumeType{
		Name: extremeName, Provider: "gcp", Title: "Hyperdisk Extreme",
		SizeMin: said(64*units.GiB, extremeDocs), SizeMax: said(64*units.TiB, extremeDocs),
		ChoosesIOPS: true,
		IOPSMin:     said(IOPS(128), extremeDocs), IOPSMax: said(IOPS(350_000), extremeDocs),
		IOPSPerGiB: said(IOPS(1200), extremeDocs), IOPSLeastPerGiB: said(IOPS(2), extremeDocs),
		ThroughputMax: said(most, extremeDocs),
		Rules: []Figure[string]{said("throughput is 250 MiB/s per 1,000 IOPS, at most 5,000 MiB/s",
			extremeDocs), machineBound(extremeDocs)},
		Read: &volume.IO2BlockExpress, Write: &volume.IO2BlockExpress, LatencyBasis: Assumed,
		LatencyNote: likeIO2,
		Prices: []Prices{{Region: "us-central1", Source: extremePrices, PerGiB: 0.125,
			IOPS: []Tier{{Over: 0, Each: 0.032}}}},
		limits: func(t *VolumeType, o *Order, _ *InstanceType) Limits {
			iops := o.asked(t)
			return Limits{Sustained: volume.Rate{IOPS: iops.Frequency(),
				Throughput: min(units.Throughput(iops)*units.MiBps/4, most)}}
		},
	}
}

// hyperdiskThroughput is for large sequential requests, at a hard disk's latency.
func hyperdiskThroughput() *VolumeType {
	const perMiBps = 4
	return &VolumeType{
		Name: "hyperdisk-throughput", Provider: "gcp", Title: "Hyperdisk Throughput",
		SizeMin: said(2*units.TiB, hyperdisks), SizeMax: said(32*units.TiB, hyperdisks),
		ChoosesThroughput:     true,
		IOPSMax:               said(IOPS(9600), hyperdisks),
		ThroughputMin:         said(20*units.MiBps, bySizeDocs),
		ThroughputMax:         said(2400*units.MiBps, hyperdisks, "since 2025-08-05; 600 before"),
		ThroughputLeastPerGiB: said(10*units.KiB, bySizeDocs, "10 MiB/s for each TiB"),
		Rules: []Figure[string]{
			said("4 IOPS per MiB/s of throughput", bySizeDocs),
			said("the size also limits the throughput; this is not checked here", bySizeDocs),
			machineBound(hyperdisks),
		},
		Read: &volume.HyperdiskThroughput, Write: &volume.HyperdiskThroughput, LatencyBasis: Promised,
		limits: byThroughput(perMiBps),
	}
}

// hyperdiskML is for data that many machines read and that is no longer written.
func hyperdiskML() *VolumeType {
	const perMiBps = 16
	return &VolumeType{
		Name: "hyperdisk-ml", Provider: "gcp", Title: "Hyperdisk ML",
		SizeMin: said(4*units.GiB, hyperdisks), SizeMax: said(64*units.TiB, hyperdisks),
		ChoosesThroughput: true,
		IOPSMax:           said(IOPS(33_554_432), hyperdisks),
		ThroughputMin:     said(400*units.MiBps, mlDocs), ThroughputMax: said(2_097_152*units.MiBps, hyperdisks),
		Rules: []Figure[string]{
			said("16 IOPS per MiB/s of throughput", mlDocs),
			said("the size also sets a minimum and a maximum throughput; these are not checked here", mlDocs),
			said("sharing it among machines requires making it read-only, which cannot be undone", hyperdisks),
			machineBound(hyperdisks),
		},
		Read: &volume.GP3, Write: &volume.GP3, LatencyBasis: Assumed, LatencyNote: likeGP3,
		limits: byThroughput(perMiBps),
	}
}

// byThroughput returns the limits of a type whose IOPS follow from the ordered throughput.
func byThroughput(perMiBps units.Frequency) func(*VolumeType, *Order, *InstanceType) Limits {
	return func(_ *VolumeType, o *Order, _ *InstanceType) Limits {
		return Limits{Sustained: volume.Rate{IOPS: units.Frequency(o.Throughput) / units.Frequency(
			units.MiBps) * perMiBps, Throughput: o.Throughput}}
	}
}

// persistentDisk makes a type whose limits grow with its size from a baseline. The limits apply per
// machine: its volumes of the type share them, with one baseline, and any of them may use all.
func persistentDisk(name, title string, base, perGiB, most IOPS, baseMiBps, hundredths int64) *VolumeType {
	const mostMiBps = 1200
	pool := func(gib int64) volume.Rate {
		mib := min(baseMiBps*100+hundredths*gib, mostMiBps*100)
		return volume.Rate{IOPS: min(base+perGiB*IOPS(gib), most).Frequency(),
			Throughput: units.Throughput(mib) * units.MiBps / 100}
	}

	return &VolumeType{
		Name: name, Provider: "gcp", Title: title,
		SizeMin: said(10*units.GiB, pdDocs), SizeMax: said(64*units.TiB, pdDocs),
		IOPSMin: said(base, pdDocs, "before the size adds to it"),
		IOPSMax: said(most,
			pdDocs, "on the largest machines; plimsoll catalog show MACHINE shows a machine's limit for all its disks of a type"),
		ThroughputMax: said(mostMiBps*units.MiBps, pdDocs),
		Rules: []Figure[string]{
			said(base.String()+" IOPS and "+perGiB.String()+" per GiB, at most "+most.String(), pdDocs),
			said(units.Count(baseMiBps)+" MiB/s and 0."+units.Count(hundredths)+
				" per GiB, at most 1,200 MiB/s", pdDocs),
			said("these limits belong to the machine: they follow from the total size of its volumes of this type, which share them; one volume may use all of it",
				pdDocs),
		},
		Read: &volume.PDSSD, Write: &volume.PDSSD, LatencyBasis: Measured, LatencyNote: "reads as writes (assumed)",
		limits: pooled, pool: pool,
	}
}

func azureTypes() []*VolumeType {
	return append([]*VolumeType{{
		Name: "premium-v2", Provider: "azure", Title: "Premium SSD v2",
		SizeMin: said(units.GiB, azureDocs), SizeMax: said(64*units.TiB, azureDocs),
		ChoosesIOPS: true, ChoosesThroughput: true,
		IOPSIncluded: said(IOPS(3000), azureDocs), IOPSMin: said(IOPS(3000), azureDocs),
		IOPSMax:            said(IOPS(80_000), azureDocs),
		IOPSPerGiB:         said(IOPS(500), azureDocs, "over 6 GiB"),
		ThroughputIncluded: said(125*units.MBps, azureDocs), ThroughputMin: said(125*units.MBps, azureDocs),
		ThroughputMax:     said(2000*units.MBps, azureDocs),
		ThroughputPerIOPS: said(units.Size(250_000), azureDocs, "0.25 MB/s for each IOPS"),
		Rules:             []Figure[string]{said(fourChanges+"; creating the disk counts as one", azureDocs)},
		Read:              &volume.PremiumV2, Write: &volume.PremiumV2, LatencyBasis: Measured,
		Prices: []Prices{{
			Region: "eastus", Source: azureV2Prices, PerGiB: hourly(0.00011),
			IOPS:       []Tier{{Over: 3000, Each: hourly(0.000007)}},
			Throughput: []ThroughputTier{{Over: 125 * units.MBps, EachMiBps: perMiB(hourly(0.000055))}},
		}},
		limits: chosen,
	}, {
		Name: "ultra", Provider: "azure", Title: "Ultra Disk",
		SizeMin: said(4*units.GiB, azureDocs), SizeMax: said(64*units.TiB, azureDocs),
		ChoosesIOPS: true, ChoosesThroughput: true,
		IOPSMin: said(IOPS(100), azureDocs), IOPSMax: said(IOPS(400_000), azureDocs),
		IOPSPerGiB:    said(IOPS(1000), azureDocs),
		ThroughputMin: said(units.MBps, azureDocs), ThroughputMax: said(10_000*units.MBps, azureDocs),
		ThroughputPerIOPS: said(units.Size(250_000), azureDocs, "0.25 MB/s for each IOPS"),
		Rules: []Figure[string]{said(fourChanges+
			"; a change takes up to an hour, and fails if Azure has no capacity for it", azureDocs)},
		Read: &volume.UltraDisk, Write: &volume.UltraDisk, LatencyBasis: Measured,
		Prices: []Prices{{
			Region: "eastus", Source: ultraPrices, PerGiB: 0.11972, // 245.19 USD for 2,048 GiB
			IOPS:       []Tier{{Over: 0, Each: 0.04964}},                       // 198.56 USD for 4,000
			Throughput: []ThroughputTier{{Over: 0, EachMiBps: perMiB(0.3495)}}, // 6.99 USD for 20 MB/s
		}},
		limits: chosen,
	}, {
		Name: "premium-ssd", Provider: "azure", Title: "Premium SSD",
		SizeMin: said(units.GiB, azureDocs), SizeMax: said(32_767*units.GiB, azureDocs),
		IOPSMin: said(IOPS(120), azureDocs), IOPSMax: said(IOPS(20_000), azureDocs),
		ThroughputMax: said(900*units.MBps, azureDocs),
		Operation:     said(256*units.KiB, azureDocs),
		Rules: []Figure[string]{
			said("a size is rounded up to the next tier for limits and price: P1 (4 GiB, 120 IOPS, 25 MB/s) to P80 (32 TiB, 20,000 IOPS, 900 MB/s)",
				azureDocs),
			said("above 512 GiB, on_demand_bursting allows 30,000 IOPS and 1,000 MB/s; it has a monthly fee and a fee per operation above the disk's own limits, and neither price is known here",
				azureBursting),
			said("up to 512 GiB (P20) 3,500 IOPS and 170 MB/s while credits last: a full bucket lasts 30 minutes",
				azureDocs, "Operations and bytes have separate buckets."),
		},
		Read: &volume.PremiumSSDRead, Write: &volume.PremiumSSDWrite, LatencyBasis: Measured,
		LatencyNote: "without host caching; a cached read takes as long (assumed)",
		Prices: []Prices{{Region: "eastus", Source: premiumPrices, Sizes: []SizePrice{
			{Most: 64 * units.GiB}, // P1 to P6: unknown
			{128 * units.GiB, 19.71}, {256 * units.GiB, 38.012142}, {512 * units.GiB, 73.22}, {units.TiB, 135.17},
			{2 * units.TiB, 259.0457}, {4 * units.TiB, 495.5657}, {8 * units.TiB, 946.08},
		}}},
		limits: premiumSSD,
	}}, azureStandard()...)
}

// hourly converts a price per hour to one per month.
func hourly(usd units.USD) units.USD { return toMillionth(float64(usd * Hours)) }

// toMillionth rounds to a millionth of a dollar, which is finer than the precision of any known price.
func toMillionth(usd float64) units.USD { return units.USD(math.Round(usd*1e6) / 1e6) }

// perMiB converts a price per MB/s to one per MiB/s.
func perMiB(usd units.USD) units.USD {
	return toMillionth(float64(usd) * float64(units.MiBps) / float64(units.MBps))
}

// premiumTiers are Premium SSD's tiers by size (Azure documentation, managed disk types, 2025).
var premiumTiers = tiers{
	{32 * units.GiB, volume.Rate{IOPS: 120, Throughput: 25 * units.MBps}}, // P1 to P4
	{64 * units.GiB, volume.Rate{IOPS: 240, Throughput: 50 * units.MBps}},
	{128 * units.GiB, volume.Rate{IOPS: 500, Throughput: 100 * units.MBps}},
	{256 * units.GiB, volume.Rate{IOPS: 1100, Throughput: 125 * units.MBps}},
	{512 * units.GiB, volume.Rate{IOPS: 2300, Throughput: 150 * units.MBps}},
	{units.TiB, volume.Rate{IOPS: 5000, Throughput: 200 * units.MBps}},
	{4 * units.TiB, volume.Rate{IOPS: 7500, Throughput: 250 * units.MBps}},
	{8 * units.TiB, volume.Rate{IOPS: 16_000, Throughput: 500 * units.MBps}},
	{16 * units.TiB, volume.Rate{IOPS: 18_000, Throughput: 750 * units.MBps}},
	{32 * units.TiB, volume.Rate{IOPS: 20_000, Throughput: 900 * units.MBps}},
}

// burstsByCredits is the largest Premium SSD disk that bursts by credits. Larger ones can burst on demand
// (Azure documentation, "Enable on-demand bursting", 2025).
const burstsByCredits = 512 * units.GiB

func premiumSSD(_ *VolumeType, o *Order, _ *InstanceType) Limits {
	// Azure bills and limits a disk by the smallest tier that holds its size.
	l := Limits{Sustained: premiumTiers.of(o)}
	if o.OnDemandBursting {
		l.Sustained = volume.Rate{IOPS: 30_000, Throughput: 1000 * units.MBps}
	} else if o.Size <= burstsByCredits {
		l.Burst = twoBuckets(l.Sustained, volume.Rate{IOPS: 3500, Throughput: 170 * units.MBps})
	}

	return l
}

func anyTypes() []*VolumeType {
	return []*VolumeType{{
		Name: LocalType, Provider: "any", Title: "local NVMe of an instance", Local: true,
		Rules: []Figure[string]{
			said("one local disk of the instance, with the limits measured on its type; use a stripe for several",
				measuredNVMe),
			said("without measurements 200,000 IOPS and 2,000 MB/s are assumed", typicalNVMe),
			said("its data is lost when the instance stops",
				Source{"Amazon EC2 user guide, \"Instance store\"", "2025"}),
			said("Google's local disk has a cache that each sync flushes: a mix of reads and synchronous writes took 1.5 ms on average; set latency.flush for it",
				nuvoloso),
		},
		Read: &volume.LocalNVMeRead, Write: &volume.LocalNVMeWrite, LatencyBasis: Measured,
		limits: localNVMe,
	}, {
		Name: "custom", Provider: "any", Title: "your own limits",
		ChoosesIOPS: true, ChoosesThroughput: true,
		Rules: []Figure[string]{said("limits, burst, operation size and latency are as specified; a latency is required, because operations would otherwise take no time",
			Source{Text: "by definition"})},
		limits: custom,
	}}
}

var (
	measuredNVMe = Source{"scylladb/scylla-machine-image, aws_io_params.yaml (iotune's measurements)", "2026"}
	nuvoloso     = Source{"Nuvoloso's catalogue of storage types, by ioping", "2019"}
	typicalNVMe  = Source{"a published case: 200,000+ IOPS, 2,000+ MB/s", "2024"}
)

// localNVMe returns the limits of one local disk.
func localNVMe(_ *VolumeType, _ *Order, on *InstanceType) Limits {
	// Local disks have separate limits for reads and writes, and no common one.
	if on != nil && on.Disk.Measured() {
		return Limits{ReadOnly: on.Disk.Read, WriteOnly: on.Disk.Write, Source: measuredNVMe}
	}
	return Limits{Sustained: volume.Rate{IOPS: 200_000, Throughput: 2000 * units.MBps}, Source: typicalNVMe}
}

func custom(t *VolumeType, o *Order, _ *InstanceType) Limits {
	l := Limits{Sustained: volume.Rate{IOPS: o.asked(t).Frequency(), Throughput: o.Throughput},
		Source: Source{Text: "the order"}}
	l.ReadOnly, l.WriteOnly = o.Read.rate(), o.Write.rate()
	if b := o.Burst; b != nil {
		base, at := float64(o.asked(t)), float64(b.IOPS)
		burst := volume.Burst{At: volume.Rate{IOPS: b.IOPS.Frequency()}}
		if b.IOPS == 0 {
			base, at = float64(o.Throughput), float64(b.Throughput)
			burst = volume.Burst{At: volume.Rate{Throughput: b.Throughput}, Bytes: true}
		}

		burst.Capacity = volume.Credits(float64(at-base) * b.For.Std().Seconds())
		burst.Initial = burst.Capacity
		if b.Left != nil {
			burst.Initial = volume.Credits(float64(burst.Capacity) * float64(*b.Left))
		}

		l.Burst = &burst
	}

	return l
}

func (r *RateOrder) rate() volume.Rate {
	if r == nil {
		return volume.Rate{}
	}
	return volume.Rate{IOPS: r.IOPS.Frequency(), Throughput: r.Throughput}
}
