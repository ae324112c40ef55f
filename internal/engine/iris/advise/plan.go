package advise

import (
	"math/bits"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/engine/iris/model"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// Plan is what matters to a plan of a scenario. There are no settings: the write daemon's cycle has no
// parameter that InterSystems documents.
func Plan(sc *scenario.Scenario) plan.Profile {
	c := sc.Engine.Config.(*model.Config)
	return plan.Profile{
		DirectIO: true, FixedFileSystem: true, LogWait: c.Synchronous,
		// The write image journal holds a cycle's blocks at most, so all buffers.
		ExtraVolumes: []plan.ExtraVolume{plan.NewExtraVolume("wij", c.Buffers), plan.NewExtraVolume("journal", c.Buffers)},
		FirstReads: func(come simulate.Arrivals) int64 {
			return firstReads(uint64(c.Database/model.BlockSize), come)
		},
	}
}

// firstReads are how many reads an instance cannot do without in the measured time, and that no
// volume takes for a part of the read before: one for each block that an operation of the measured
// time touches, none of the warm-up did, and whose neighbour in front is touched by none at all. 0
// where that is not known.
//
// A block that was never touched is in no buffer. So before the first operation on it is answered,
// a request has read it, and as nobody asked before the measured time began, in that time. A volume
// joins a read to the one before it only where that one ended where this begins, so if it was of
// the neighbour, which nobody reads.
func firstReads(blocks uint64, come simulate.Arrivals) int64 {
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
