package catalog

import (
	"fmt"
	"slices"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
)

// An Order is what a person writes under a volume's name: which product, and how much of it.
//
//	data: {type: gp3, size: 2500GiB, iops: 16000, throughput: 250MiB/s}
//	wal:  {type: io2, size: 10GiB, iops: 5000}
//	bulk: {type: gp3, size: 1TiB, stripe: 5}
//	disk: {type: nvme}
type Order struct {
	// Type is the product: gp2, gp3, io1, io2, st1, sc1, nvme, hyperdisk-balanced,
	// hyperdisk-balanced-ha, hyperdisk-extreme, hyperdisk-throughput, hyperdisk-ml, pd-ssd,
	// pd-balanced, pd-standard, premium-v2, ultra, premium-ssd, standard-ssd, standard-hdd, or custom.
	// `plimsoll catalog list` names them.
	Type string `yaml:"type"`
	// Size of one volume: "800GiB". AWS, Google and Azure write GB where they mean GiB.
	Size units.Size `yaml:"size,omitempty"`
	// IOPS provisioned, if the type allows a choice: 16000 or 16k. Default: the included IOPS.
	IOPS IOPS `yaml:"iops,omitempty"`
	// IOPSPerGB is the number of IOPS for each GiB of size, instead of iops: the StorageClass key
	// iopsPerGB of aws-ebs-csi-driver.
	IOPSPerGB IOPS `yaml:"iops_per_gb,omitempty"`
	// Throughput provisioned, if the type allows a choice: "250MiB/s". Default: the included throughput.
	Throughput units.Throughput `yaml:"throughput,omitempty"`

	// Stripe is the number of such volumes that data is striped over (LVM, RAID 0), each of the
	// size and limits given here. Default 1.
	Stripe int `yaml:"stripe,omitempty"`
	// StripeUnit is the amount of data written to one volume of the stripe before the next begins. Default
	// 64KiB, which is LVM's.
	StripeUnit units.Size `yaml:"stripe_unit,omitempty"`

	// Caching is a disk's host caching, on Azure: none, read-only or read-write. The machine then has
	// other limits for it, which may be lower. Default none.
	Caching Caching `yaml:"caching,omitempty"`
	// OnDemandBursting of a Premium SSD disk over 512 GiB provides 30,000 IOPS and 1,000 MB/s whenever
	// requested. Default false.
	OnDemandBursting bool `yaml:"on_demand_bursting,omitempty"`
	// Card is the EBS card that the volume is attached to, from 0, on machines that have several.
	// Default 0, as on AWS.
	Card int `yaml:"card,omitempty"`

	// FromSnapshot: the volume was made from a snapshot at the start of the run, so the first access
	// to each of its blocks is slow. EBS only. Default false.
	FromSnapshot bool `yaml:"from_snapshot,omitempty"`
	// InitializationRate is the volume initialization rate ordered with from_snapshot, from
	// "100MiB/s" to "300MiB/s": the whole volume is fetched at that rate. Default: blocks are fetched when
	// they are first accessed.
	InitializationRate units.Throughput `yaml:"initialization_rate,omitempty"`

	// Latency instead of the type's calibrated one.
	Latency *LatencyOrder `yaml:"latency,omitempty"`
	// QueueSlots is how many requests the block layer keeps in flight (nr_requests of the device);
	// further ones wait outside. Default: 32, or 64 for local disks (both assumed), and unlimited for custom
	// volumes.
	QueueSlots int `yaml:"queue_slots,omitempty"`
	// Episodes are times when the volume is slow; {} uses the published ones. Default: none.
	Episodes *EpisodesOrder `yaml:"episodes,omitempty"`

	// Read and Write are limits of one direction, in addition to those of both. Custom volumes only.
	Read  *RateOrder `yaml:"read,omitempty"`
	Write *RateOrder `yaml:"write,omitempty"`
	// Burst is a bucket of credits over iops or throughput. Custom volumes only.
	Burst *BurstOrder `yaml:"burst,omitempty"`
	// Operation is the most bytes that one operation carries; a larger request counts several
	// times. Custom volumes only; default any length.
	Operation units.Size `yaml:"operation,omitempty"`
	// Merge counts contiguous requests on the volume as one, up to the size of operation.
	// Custom volumes only.
	Merge bool `yaml:"merge,omitempty"`
	// FlushIsOperation counts a flush as an operation. Custom volumes only.
	FlushIsOperation bool `yaml:"flush_is_operation,omitempty"`
}

// A RateOrder is a pair of limits.
type RateOrder struct {
	IOPS       IOPS             `yaml:"iops,omitempty"`
	Throughput units.Throughput `yaml:"throughput,omitempty"`
}

// A BurstOrder is a bucket of credits: a full one lasts for a given time at the higher limit.
type BurstOrder struct {
	// IOPS or Throughput while there are credits: whichever of the two the credits count. It must exceed
	// the order's own limit of that kind, at which the bucket refills.
	IOPS       IOPS             `yaml:"iops,omitempty"`
	Throughput units.Throughput `yaml:"throughput,omitempty"`
	// For is how long a full bucket lasts at the higher limit: "30min".
	For units.Duration `yaml:"for"`
	// Left is how full the bucket is at the start: "25%". Default 100%.
	Left *units.Ratio `yaml:"left,omitempty"`
}

// A LatencyOrder says how long operations take once the limits let them pass.
type LatencyOrder struct {
	// Like uses the calibrated latency of another type: "gp3".
	Like string `yaml:"like,omitempty"`
	// Scale multiplies the type's latency: "150%".
	Scale Scale `yaml:"scale,omitempty"`
	// Read, Write and Flush replace the distribution of one kind of operation.
	Read  *Quantiles `yaml:"read,omitempty"`
	Write *Quantiles `yaml:"write,omitempty"`
	Flush *Quantiles `yaml:"flush,omitempty"`
}

// Quantiles are a distribution of times; between two of them it is uniform. One alone is a
// constant.
type Quantiles struct {
	Min  *units.Duration `yaml:"min,omitempty"`
	P50  *units.Duration `yaml:"p50,omitempty"`
	P90  *units.Duration `yaml:"p90,omitempty"`
	P99  *units.Duration `yaml:"p99,omitempty"`
	P999 *units.Duration `yaml:"p999,omitempty"`
	Max  *units.Duration `yaml:"max,omitempty"`
}

// An EpisodesOrder changes the published bad episodes of a network volume: 1 to 10 minutes of
// writes that take 200 to 500 ms, every 12.4 hours (PlanetScale, 2025).
type EpisodesOrder struct {
	Every   units.Duration `yaml:"every,omitempty"`   // mean time between two episodes
	Lasts   *Span          `yaml:"lasts,omitempty"`   // of one
	Latency *Span          `yaml:"latency,omitempty"` // of an operation in a bad episode
	Reads   bool           `yaml:"reads,omitempty"`   // reads suffer as well
}

// A Span is from the shortest to the longest time, uniform between them.
type Span struct {
	From units.Duration `yaml:"from"`
	To   units.Duration `yaml:"to"`
}

// Defaults of an order.
const (
	stripeUnitDefault = 64 * units.KiB
	// membersMax is the most that package volume accepts: as many stripes as LVM supports.
	membersMax = 128
)

// Members is the number of volumes in the stripe, at least 1.
func (o *Order) Members() int { return max(o.Stripe, 1) }

// asked returns the requested IOPS of the order's type, 0 if there are none.
func (o *Order) asked(t *VolumeType) IOPS {
	if o.IOPS != 0 {
		return o.IOPS
	}
	return t.capIOPS(o.IOPSPerGB*IOPS(o.gib()), o.gib())
}

// capIOPS applies the caps of aws-ebs-csi-driver to IOPS that follow from a size: the type's
// maximum and the size's (capIOPS in its pkg/cloud/cloud.go, 2025). Fewer than the type's minimum
// are refused, unless the class allows raising them.
func (t *VolumeType) capIOPS(asked IOPS, gib int64) IOPS {
	if t.IOPSMax.Known() {
		asked = min(asked, t.IOPSMax.Value)
	}
	// The driver ignores a size bound below the type's minimum.
	if bySize := t.IOPSPerGiB.Value * IOPS(gib); t.IOPSPerGiB.Known() && bySize >= t.IOPSMin.Value {
		asked = min(asked, bySize)
	}
	return asked
}

// Warnings returns the parts of an order that are valid but probably not intended.
func (o *Order) Warnings() (l inputerror.List) {
	i := slices.IndexFunc(types, func(t *VolumeType) bool { return t.Name == canonical(o.Type) })
	if i < 0 {
		return nil // Check reports an unknown type
	}

	t := types[i]
	meant, gets := o.IOPSPerGB*IOPS(o.gib()), o.asked(t)

	// The driver reduces IOPS per GiB silently, so the user has to be warned here.
	if o.IOPS == 0 && o.IOPSPerGB > 0 && gets < meant {
		l = append(l, inputerror.Problem{
			Field: "iops_per_gb",
			Text: fmt.Sprintf("%s per GiB on %d GiB are %s IOPS: aws-ebs-csi-driver silently orders the maximum for %s of this size, %s, and you pay for them",
				o.IOPSPerGB, o.gib(), meant, o.Type, gets),
			Limit: gets.String() + " IOPS", Source: "aws-ebs-csi-driver, pkg/cloud/cloud.go (2025)",
		})
	}

	return l
}

// gib is the size of one volume in GiB, rounded up, at least 1. It is bounded, so that products
// with it do not overflow.
func (o *Order) gib() int64 { return min(max(wholeGiB(o.Size), 1), 1<<30) }
