package advise

import (
	"math/bits"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/engine/iris/model"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// Plan returns what matters for planning a scenario's layout. There are no settings, because
// InterSystems documents no parameter for the write daemon's cycle.
func Plan(sc *scenario.Scenario) plan.Profile {
	c := sc.Engine.Config.(*model.Config)
	return plan.Profile{
		DirectIO: true, FixedFileSystem: true, LogWait: c.Synchronous,
		// The write image journal holds at most a cycle's blocks, so at most all buffers.
		ExtraVolumes: []plan.ExtraVolume{
			plan.NewExtraVolume("wij", c.Buffers), plan.NewExtraVolume("journal", c.Buffers)},
		FirstReads: func(come simulate.Arrivals) int64 {
			return firstReads(uint64(c.Database/model.BlockSize), come)
		},
	}
}

// firstReads is a lower bound for the reads of an instance in the measured time that no volume can
// merge with the previous read. It counts each block that an operation in the measured time touches, that no
// operation in the warm-up touched, and whose preceding neighbour no operation touches at all. It is 0 if
// that is unknown.
//
// A block that was never touched is in no buffer. So before the first operation on it is answered,
// a request has read it, and because no operation touched it before, the read is in the measured
// time. A volume merges a read with the previous one only if that one ends where this one begins.
// That would be a read of the neighbour, which is never read.
func firstReads(blocks uint64, come simulate.Arrivals) int64 {
	before, within := make([]uint64, blocks/64+1), make([]uint64, blocks/64+1)
	known := come.Each(func(key uint64, measured bool) {
		// Keys map to blocks as in the model's instance.
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

	n, last := 0, uint64(0) // whether the block before a word's first one is touched
	for i := range within {
		touched := before[i] | within[i]
		// Bit i of the shifted word is block i-1; the last bit of the previous word is carried
		// over.
		n += bits.OnesCount64(within[i] &^ before[i] &^ (touched<<1 | last))
		last = touched >> 63
	}

	return int64(n)
}
