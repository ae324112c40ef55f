package cloud

import (
	"strconv"
	"strings"
)

// A Volume is what a provider knows of a volume. Zero values are not known.
type Volume struct {
	// Type is the product as the catalogue names it: "gp3".
	Type    string
	SizeGiB int64
	// IOPS and Throughput are what was bought, where the type lets one choose: "250MiB/s".
	IOPS       int64
	Throughput string
}

// Volume writes what is known of a volume under the name of its device: as --volume takes it, and its
// size. Diagnosis and fit then need not guess.
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
	if v.Type != "" {
		d.Fact("volume."+device, strings.Join(words, ","))
	}
}

// A Machine is what a provider's API says of a machine type's limits for all its volumes together, in
// operations and bytes per second.
type Machine struct {
	IOPS, BytesPerS         float64 // always
	MostIOPS, MostBytesPerS float64 // while it bursts
}

// Machine writes a machine's type, and its limits if they are known.
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
