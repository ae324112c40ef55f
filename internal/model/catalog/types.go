package catalog

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A VolumeType is a product with its provider's figures. A figure that is not Known does not apply
// to the type or is not known here.
type VolumeType struct {
	Name     string // as it is ordered: "gp3"
	Provider string // aws, gcp, azure, or any
	Title    string

	SizeMin, SizeMax Figure[units.Size]

	// Whether an order says how much; otherwise it follows from the size or the IOPS.
	ChoosesIOPS, ChoosesThroughput bool
	// IOPSIncluded is the number of IOPS that a volume has by default. If it is unknown and the IOPS can
	// be chosen, they must be ordered.
	IOPSIncluded, IOPSMin, IOPSMax Figure[IOPS]
	// IOPSPerGiB limits the IOPS ordered by the size. (The included IOPS are never denied.)
	// IOPSLeastPerGiB is the lower limit.
	IOPSPerGiB, IOPSLeastPerGiB                      Figure[IOPS]
	ThroughputIncluded, ThroughputMin, ThroughputMax Figure[units.Throughput]
	ThroughputPerIOPS                                Figure[units.Size] // maximum bytes per second for each IOPS
	ThroughputLeastPerIOPS                           Figure[units.Size] // and at least
	// minimum bytes per second for each GiB of size
	ThroughputLeastPerGiB Figure[units.Size]
	// Operation is the most bytes that one operation carries.
	Operation Figure[units.Size]
	Merge     bool

	// FirstTouch is the total rate at which blocks of a snapshot are fetched when they are accessed.
	FirstTouch Figure[units.Throughput]

	// Rules are limits that follow from others, in words; each is in the code as well.
	Rules []Figure[string]
	// Read and Write are how long operations take. A flush takes no additional time: network volumes and
	// servers' disks have no cache that loses its content on power loss (assumed).
	Read, Write *volume.Calibration
	LatencyNote string
	// LatencyBasis is the source of Read and Write; empty if the order gives the latency.
	LatencyBasis Basis
	Local        bool // part of the instance: neither its EBS limits nor a separate price apply
	Prices       []Prices

	limits func(t *VolumeType, o *Order, on *InstanceType) Limits
	// pool returns the limits that volumes of a total size share on one machine; nil if each volume
	// has its own limits.
	pool func(gib int64) volume.Rate
}

// Limits are the limits of an ordered volume.
type Limits struct {
	Sustained, ReadOnly, WriteOnly volume.Rate
	Burst                          *volume.Burst
	Source                         Source // if it differs from the type's: measured on the instance
}

// types lists all products by provider. It never changes.
var types = slices.Concat(awsTypes(), gcpTypes(), azureTypes(), anyTypes())

// VolumeTypes returns all products in listing order: AWS, Google, Azure, any.
func VolumeTypes() []*VolumeType { return slices.Clone(types) }

// TypeNames returns the names of all products.
func TypeNames() []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

// otherNames maps other names of products to the catalogue's.
var otherNames = map[string]string{
	"io2-block-express": "io2", "io2bx": "io2", "local-nvme": LocalType, "hyperdisk": "hyperdisk-balanced",
	"hyperdisk-balanced-high-availability": "hyperdisk-balanced-ha",
	"premiumv2_lrs":                        "premium-v2", "premium-ssd-v2": "premium-v2",
	"premiumssdv2": "premium-v2",
	"ultrassd_lrs": "ultra", "premium_lrs": "premium-ssd", "standardssd_lrs": "standard-ssd",
	"standard_lrs": "standard-hdd", "instance-store": LocalType,
}

// canonical returns the catalogue's name of a product that is also known by another name.
func canonical(name string) string {
	lower := strings.ToLower(strings.TrimSpace(name))
	if other, ok := otherNames[lower]; ok {
		return other
	}
	return lower
}

// LocalType is the product for a machine's own disks.
const LocalType = "nvme"

// Local reports whether the order is for the machine's own disks, whatever name it uses for them.
func (o *Order) Local() bool {
	t, err := Type(o.Type)
	return err == nil && t.Local
}

// Type returns the product with a name. The error, a [inputerror.Problem], suggests similar names.
func Type(name string) (*VolumeType, error) {
	lower := canonical(name)
	for _, t := range types {
		if t.Name == lower {
			return t, nil
		}
	}
	p := inputerror.Problem{Field: "type",
		Text: fmt.Sprintf("no volume type is called %q: want one of %s", name, strings.Join(TypeNames(), ", "))}
	if name == "" {
		p.Text = "missing: one of " + strings.Join(TypeNames(), ", ")
	} else if near := inputerror.Nearest(lower, TypeNames()); near != "" {
		p.Nearest = near
	}
	return nil, p
}
