package volume

import "plimsoll/internal/base/units"

// A public series of fio runs on Azure's disks: one of each kind in one region, with one request at a
// time. Only a mean is known from it, to a tenth of a millisecond.
const (
	kubica     = "tkubica12/cloud-storage-tests, 2022-02"
	kubicaV2   = "tkubica12/cloud-storage-tests, 2022-09"
	disksAlone = "fio, random 4 KiB past the page cache, one at a time for 30 s, disk of 1 TiB on a Standard_D16as_v4, West Europe: " +
		kubica
	diskV2 = "fio, random 4 KiB past the page cache, one at a time for 30 s, disk of 1 TiB on a Standard_D16ds_v5, West Europe: " +
		kubicaV2
)

// The calibrations of Azure's and Google's volumes. There are few public measurements. Missing figures,
// most often all but a mean, are taken from the shape of another kind's distribution.
var (
	// PremiumV2 is Azure's Premium SSD v2.
	PremiumV2 = Calibration{
		Name:    "Premium SSD v2",
		Source:  diskV2,
		By:      kubicaV2,
		Spread:  "one run in one region, during its preview",
		Assumed: "the shape of gp3's distribution",
		Mean:    700 * us, quantiles: GP3.quantiles,
	}
	// UltraDisk is Azure's.
	UltraDisk = Calibration{
		Name:    "Ultra Disk",
		Source:  disksAlone,
		By:      kubica,
		Spread:  "one run in one region",
		Assumed: "the shape of io2 Block Express' distribution",
		Mean:    400 * us, quantiles: IO2BlockExpress.quantiles,
	}
	// PremiumSSDWrite is a write on Azure's Premium SSD without a cache. Its tail comes from a table of
	// etcd's fio test (2,300-byte appends with fdatasync) in Azure's regions: a sync is two writes in
	// succession, and took 2.3 to 4.3 ms on average, 5.6 to 9.8 at p99, 16.8 to 31 at p99.99. A test
	// adds up two of these.
	PremiumSSDWrite = Calibration{
		Name: "Premium SSD, write",
		Source: disksAlone +
			"; tail: fio, 2,300-byte appends with fdatasync in 26 regions, Red Hat, \"Azure Disk performance by region\", 2021",
		By:      kubica + ", and Red Hat, 2021",
		Spread:  "one run, and 26 regions, which differ by a factor of 1.9",
		Assumed: "that a sync is two writes, and that the regions' disks are of this type",
		Mean:    1300 * us, quantiles: premiumWrites,
	}
	// PremiumSSDRead is a read on it. Reads of 256 KiB took 2.7 to 7.2 ms, 96 % of them under 8
	// (grsplus.com, 24 hours, 2018).
	PremiumSSDRead = Calibration{
		Name:    "Premium SSD, read",
		Source:  disksAlone,
		By:      kubica,
		Spread:  "one run in one region",
		Assumed: "the shape of its writes' distribution",
		Mean:    2400 * us, quantiles: scaled(premiumWrites, 1.87),
	}
	// StandardSSDWrite is a write on Azure's Standard SSD.
	StandardSSDWrite = Calibration{
		Name:    "Standard SSD, write",
		Source:  disksAlone,
		By:      kubica,
		Spread:  "one run in one region, of a type whose figures are not guaranteed",
		Assumed: "the shape of the distribution of Premium SSD's writes",
		Mean:    1300 * us, quantiles: premiumWrites,
	}
	// StandardSSDRead is a read on it.
	StandardSSDRead = Calibration{
		Name:    "Standard SSD, read",
		Source:  disksAlone,
		By:      kubica,
		Spread:  "one run in one region, of a type whose figures are not guaranteed",
		Assumed: "the shape of the distribution of Premium SSD's writes",
		Mean:    2300 * us, quantiles: scaled(premiumWrites, 1.79),
	}
	// PDSSD is Google's SSD Persistent Disk, based on one figure for Kubernetes' store under load, which is
	// used as the mean. Its disk is assumed to be pd-ssd, the installer's default. If a sync was two writes,
	// one takes 0.75 ms; an older mean by ioping, of reads and synchronous writes, is 2 ms, rounded.
	PDSSD = Calibration{
		Name:    "pd-ssd",
		Source:  "mean: fsyncs of Kubernetes' own store in a stress test on Google Cloud, kubernetes-sigs/agent-sandbox, pull request 1275, 2026-07; max: ioping, Nuvoloso's catalogue of storage types, 2019",
		By:      "kubernetes-sigs/agent-sandbox, 2026-07",
		Spread:  "poor, one figure under load, which other interpretations put between 0.75 and 2 ms",
		Assumed: "that a sync was one write, the shape of gp3's distribution, and reads",
		Mean:    1500 * us, Max: 17_000 * us,
		quantiles: append(scaled(GP3.quantiles[:len(GP3.quantiles)-1], 2.13), Quantile{1, 17_000 * us}),
	}
)

var premiumWrites = []Quantile{
	{0, 550 * us}, {.05, 750 * us}, {.5, 1020 * us}, {.9, 1600 * us}, {.99, 4200 * us}, {.999, 8500 * us},
	{.9999, 14_000 * us}, {1, 30_000 * us},
}

// scaled returns the quantiles of a distribution that takes k times as long.
func scaled(quantiles []Quantile, k float64) []Quantile {
	out := make([]Quantile, len(quantiles))
	for i, q := range quantiles {
		out[i] = Quantile{q.Share, units.Duration(float64(q.Takes) * k)}
	}
	return out
}
