package cloud

import (
	"strconv"
	"strings"
)

// A Volume holds what a provider reports about a volume. Zero values are unknown.
type Volume struct {
	// Type is the product's name in the catalogue: "gp3".
	Type    string
	SizeGiB int64
	// IOPS and Throughput are the provisioned values, for types that have them: "250MiB/s".
	IOPS       int64
	Throughput string
}

// Volume writes the facts about a volume under the name of its device: in the notation of --volume, and
// its size. With them, diagnosis and fit need not guess.
func (d *Description) Volume(device string, v Volume) {
	words := []string{v.Type}
	if v.SizeGiB > 0 {
		words = append(words, strconv.FormatInt(v.SizeGiB, 10)+"GiB")
		d.Fact("size."+device, strconv.FormatInt(v.SizeGiB<<30, 10))
	}

	if v.IOPS > 0 {
		words = append(words, strconv.FormatInt(v.IOPS, 10)+"IOPS")
	}

	if v.Throughput != "" {
		words = append(words, v.Throughput)
	}

	// Without a type, the words would not be valid for --volume.
	if v.Type != "" {
		d.Fact("volume."+device, strings.Join(words, ","))
	}
}

// A Machine has the limits of a machine type for all its volumes together, according to the
// provider's API, in operations and bytes per second.
type Machine struct {
	IOPS, BytesPerS         float64 // sustained
	MostIOPS, MostBytesPerS float64 // while it bursts
}

// Machine writes the type of a machine, and its limits if they are known.
func (d *Description) Machine(kind string, m Machine) {
	d.Fact("instance_type", kind)
	for _, x := range []struct {
		name  string
		value float64
	}{{"iops", m.IOPS}, {"throughput", m.BytesPerS}, {"burst_iops", m.MostIOPS},
		{"burst_throughput", m.MostBytesPerS}} {
		if x.value > 0 {
			d.Fact("instance."+x.name, strconv.FormatFloat(x.value, 'f', -1, 64))
		}
	}
}
