//go:build linux

package mount

import (
	"strconv"

	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/volume"
)

// A part is one volume of a scenario.
type part struct {
	name  string // "data" with one machine, "m2/data" on the second of several
	order catalog.Order
}

// prefix returns the prefix for the names of machine k's volumes, counted from 1.
func prefix(sc *scenario.Scenario, k int) string {
	if sc.MemberCount() == 1 {
		return ""
	}
	return "m" + strconv.Itoa(k) + "/"
}

// partsOf returns the volumes of all of a scenario's machines, in order.
func partsOf(sc *scenario.Scenario) []part {
	var out []part
	for k := 1; k <= sc.MemberCount(); k++ {
		for _, v := range sc.VolumesOf(k) {
			out = append(out, part{name: prefix(sc, k) + v.Name, order: v.Value})
		}
	}
	return out
}

// build creates new volumes.
func build(sc *scenario.Scenario) ([]volume.Volume, error) {
	var out []volume.Volume
	for k := 1; k <= sc.MemberCount(); k++ {
		own, err := sc.Build(k, func(name string) string { return prefix(sc, k) + name })
		if err != nil {
			return nil, err
		}
		out = append(out, own...)
	}
	return out, nil
}
