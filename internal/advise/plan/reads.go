package plan

import (
	"fmt"
	"math/bits"

	"plimsoll/internal/base/units"
	iris "plimsoll/internal/engine/iris/model"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// firstReads are how many reads an instance of IRIS cannot do without in the measured time, and that no volume takes for a part of the
// read before: one for each block that an operation of the measured time touches, none of the warm-up did, and whose neighbour in front
// is touched by none at all. 0 where that is not known.
//
// A block that was never touched is in no buffer. So before the first operation on it is answered, a request has read it, and
// as nobody asked before the measured time began, in that time. A volume joins a read to the one before it only where that one ended
// where this begins, so if it was of the neighbour, which nobody reads.
func firstReads(sc *scenario.Scenario, come simulate.Arrivals) int64 {
	blocks := uint64(scenario.ConfigOf[*iris.Config](sc).Database / iris.BlockSize)
	before, within := make([]uint64, blocks/64+1), make([]uint64, blocks/64+1)
	known := come.Each(func(key uint64, measured bool) {
		b := key % blocks
		if measured {
			within[b/64] |= 1 << (b % 64)
		} else {
			before[b/64] |= 1 << (b % 64)
		}
	})
	if !known {
		return 0
	}
	n, last := 0, uint64(0) // whether the block in front of a word's first is touched
	for i := range within {
		touched := before[i] | within[i]
		n += bits.OnesCount64(within[i] &^ before[i] &^ (touched<<1 | last))
		last = touched >> 63
	}
	return int64(n)
}

// reading says why the databases' volume cannot take the reads, "" if nothing says so.
//
// Of the operations that come in the measured time answeredMin are to be answered in it. So all but so many of those reads are done in it, and no
// more pass than the volume's highest rate lets through, for which credits and what a limit lets one catch up with are taken as a
// second's worth and a twentieth more. Of a stripe, whose parts are neighbours too, nothing is said.
func reading(sc *scenario.Scenario, come simulate.Arrivals, reads func() int64) string {
	data := sc.Volumes.Get("data")
	if scenario.ConfigOf[*iris.Config](sc) == nil || data == nil || data.Members() > 1 {
		return ""
	}
	most := readsMax(data, sc.Instance())
	if most == 0 {
		return ""
	}
	seconds := float64(sc.Run.Duration) / 1e9
	needed := float64(reads()) - float64((1-answeredMin)*float64(come.Writes+come.Reads))
	if needed <= float64(float64(most)*(seconds+1))*1.05 {
		return ""
	}
	return fmt.Sprintf("the databases are read at %s at least, for blocks not touched before, and their volume lets %s through",
		units.Frequency(needed/seconds), most)
}

// readsMax are the most reads a second that pass to a volume, 0 if nothing limits them.
func readsMax(o *catalog.Order, on *catalog.InstanceType) units.Frequency {
	l, err := o.Limits(on)
	if err != nil {
		return 0
	}
	most := l.Sustained.IOPS
	if l.Burst != nil && most != 0 {
		most = max(most, l.Burst.At.IOPS)
	}
	if r := l.ReadOnly.IOPS; r != 0 && (most == 0 || r < most) {
		most = r
	}
	return most
}
