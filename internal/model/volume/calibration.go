package volume

import "plimsoll/internal/base/units"

// A Calibration is what is publicly known about the latency of a kind of volume, and a distribution
// that matches it. A figure of 0 is unknown. It is the volume's own latency: one request at a time,
// within all limits.
type Calibration struct {
	Name   string
	Source string // of the figures, with its date
	By     string // who measured, and when, in a few words; empty if Source is short
	// Spread says how good the figures are: how few there are, and how far others are from them.
	Spread string
	// Assumed says what in the distribution the source does not contain.
	Assumed string

	Mean, Deviation, Min, P99, P999, Max units.Duration // as published; the mean may be a bound
	MeanBelow                            bool           // the mean is published as a bound

	quantiles []Quantile
}

// Latency is the distribution.
func (c *Calibration) Latency() Latency {
	l, err := NewLatency(c.quantiles...)
	if err != nil {
		panic(err) // a constant of this file, checked by a test
	}
	return l
}

const us = units.Duration(1e3)

// The calibrations were measured with writes, and also serve for reads of network volumes, for which
// no separate figures are known. A public measurement of gp3 reads below the limits is close (0.7 ms
// mean, five gp3 volumes under random reads of 8 KiB, InterSystems community, 2023).
//
// A well-known table of fio runs (openshift-cluster-benchmark-lab, 2021: 50 jobs of synchronous
// writes, gp3 mean 1.6 ms, p99 3.9, p99.9 9.2; gp2 1.1, 2.4, 6.8) is not used for means: it
// measures a whole fdatasync on a file system that other processes write to. There, a sync is two
// or three writes in succession. With gp2's credits exhausted it takes 5.9 ms, which at the 384
// IOPS of 128 GiB is 2.3 operations. That part of the table shows only the queue in front of
// the limit.
var (
	// GP3 is Amazon's gp3.
	GP3 = Calibration{
		Name:    "gp3",
		Source:  "fio, 2,300-byte appends with fdatasync, one at a time, gp3 of 3,000 IOPS on m6i.xlarge: a published case of a key-value store, 2022; 6,000 IOPS gave a mean of 0.61 ms, max 3.92",
		Assumed: "quantiles between minimum and maximum, chosen to give the mean and the deviation",
		Mean:    700_240, Deviation: 240_460, Min: 327 * us, Max: 5087 * us,
		quantiles: []Quantile{{0, 327 * us}, {.05, 490 * us}, {.5, 650 * us}, {.9, 870 * us}, {.99, 1380 * us},
			{.999, 2600 * us}, {.9999, 4000 * us}, {1, 5087 * us}},
	}
	// GP2 is Amazon's gp2, while it has credits. Its distribution has two humps, like IBM's
	// measurement of etcd's appends (p50 0.78 ms, p60 1.55, p90 2.18, p99 2.38; 2020).
	GP2 = Calibration{
		Name:    "gp2",
		Source:  "fio, 2,300-byte appends with fdatasync, one at a time, gp2 of 300 GB on m6i.xlarge: a published case of a key-value store, 2022; p99.9 of the table of fio runs above, which is a bound",
		Assumed: "quantiles between, chosen to give the mean and the deviation",
		Mean:    1_422_540, Deviation: 727_830, Min: 476 * us, P99: 2671 * us, P999: 6750 * us, Max: 10320 * us,
		quantiles: []Quantile{{0, 476 * us}, {.15, 600 * us}, {.5, 1350 * us}, {.85, 2130 * us}, {.99, 2671 * us},
			{.999, 6750 * us}, {.9999, 9000 * us}, {1, 10320 * us}},
	}
	// IO2BlockExpress is Amazon's io2 on Nitro, and what is known about the latency of io1.
	IO2BlockExpress = Calibration{
		Name:    "io2 Block Express",
		Source:  "Amazon EBS user guide, EBS optimization, 2025: under 500 us on average at 16 KiB, and ten times fewer operations over 800 us than on general purpose volumes",
		Assumed: "a mean of 0.4 ms, and all quantiles: some 23 % of GP3's operations take over 800 us, and 0.9 % of these",
		Mean:    500 * us, MeanBelow: true,
		quantiles: []Quantile{{0, 200 * us}, {.05, 280 * us}, {.5, 380 * us}, {.9, 500 * us}, {.99, 750 * us},
			{.999, 1200 * us}, {1, 3000 * us}},
	}
	// LocalNVMeRead and LocalNVMeWrite are a disk of the host with a cache that survives a power
	// loss, as server disks have. A consumer disk without one takes 1.6 ms for an fdatasync
	// (Samsung 990 Pro), longer than gp3.
	LocalNVMeRead = Calibration{
		Name:    "local NVMe, read",
		Source:  "under 100 us at moderate load on i3 (techblog.cloudperf.net, 2017-04-04)",
		Assumed: "a mean of 89 us, and all quantiles",
		Mean:    100 * us, MeanBelow: true,
		quantiles: []Quantile{{0, 45 * us}, {.05, 65 * us}, {.5, 80 * us}, {.9, 100 * us}, {.99, 200 * us},
			{.999, 500 * us}, {1, 2000 * us}},
	}
	// LocalNVMeWrite: see LocalNVMeRead.
	LocalNVMeWrite = Calibration{
		Name:    "local NVMe, write",
		Source:  "under 100 us at moderate load on i3 (techblog.cloudperf.net, 2017-04-04)",
		Assumed: "a mean of 28 us, because a write completes in the cache, and all quantiles",
		Mean:    100 * us, MeanBelow: true,
		quantiles: []Quantile{{0, 10 * us}, {.05, 13 * us}, {.5, 20 * us}, {.9, 35 * us}, {.99, 100 * us},
			{.999, 400 * us}, {1, 2000 * us}},
	}
	// HyperdiskThroughput is Google's.
	HyperdiskThroughput = Calibration{
		Name:    "Hyperdisk Throughput",
		Source:  "Google Cloud documentation, \"About Hyperdisk Throughput\", 2025: 10 to 30 ms on average for reads, as of a hard disk",
		Assumed: "a mean of 20 ms, the same for writes, and all quantiles",
		Mean:    30_000 * us, MeanBelow: true,
		quantiles: []Quantile{{0, 2000 * us}, {.05, 5000 * us}, {.5, 15_500 * us}, {.9, 32_000 * us},
			{.99, 70_000 * us}, {.999, 150_000 * us}, {1, 300_000 * us}},
	}
	// HDD is Amazon's st1 and sc1. No figures are published for them.
	HDD = Calibration{
		Name:    "st1, sc1",
		Source:  "none",
		Assumed: "everything: a disk with 7,200 revolutions per minute takes 4.2 ms for half a revolution, and at least as long to seek, behind a cache that hides some of it",
		quantiles: []Quantile{{0, 600 * us}, {.5, 5000 * us}, {.9, 12000 * us}, {.99, 25000 * us},
			{.999, 60000 * us}, {1, 150000 * us}},
	}
)

// PlanetScale's episodes, as reported by a company that runs thousands of gp3 volumes (PlanetScale,
// "The real failure rate of EBS", 2025-03). For one to ten minutes, writes take 200 to 500 ms. Of
// 768 volumes, at least one is impaired at any time with a probability of 99.65 %. So a volume is
// impaired a share p of the time with 1-(1-p)^768 = 0.9965, p = 0.73 %: episodes of 5.5 minutes on
// average come 12.4 hours apart. Whether reads suffer too is not reported, and not assumed.
var PlanetScaleEpisodes = Episodes{
	Every:   units.Duration(44_800e9),
	Lasts:   [2]units.Duration{60e9, 600e9},
	Latency: [2]units.Duration{200e6, 500e6},
}
