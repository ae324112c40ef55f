// Package random gives models their chance: streams of numbers that depend on a seed and a
// name and on nothing else.
//
// Each thing that needs chance has a stream of its own, found by a stable hash of its name. So one
// part of a model may draw more or fewer numbers without changing what another part sees, two
// variants of a scenario meet the same arrivals, and a run is told again from its seed.
//
// "The same" means the same bits on every machine. A processor that fuses x*y+z rounds once instead
// of twice, and Go lets it; math.Exp and math.Log are written in assembly for some processors
// and not for others. So what is drawn here is computed in whole numbers, or in float64 with
// each product converted explicitly, which forbids fusing.
package random

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
)

// A Seed is what a run is told again by.
type Seed uint64

// A Stream is a sequence of random numbers. It belongs to one goroutine.
type Stream struct{ pcg *rand.PCG }

// Stream gives the stream of a name: "volumes.data.latency". The same seed and name give the
// same numbers; different names give independent ones.
func (s Seed) Stream(name string) *Stream {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash's Write gives no error
	return &Stream{rand.NewPCG(uint64(s), h.Sum64())}
}

// Uint64 is uniform over all 64 bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// Below is uniform over 0 ... n-1; n must be positive. (Lemire's multiplication: its bias is
// below n/2^64, which no run is long enough to see.)
func (s *Stream) Below(n uint64) uint64 {
	hi, _ := bits.Mul64(s.pcg.Uint64(), n)
	return hi
}

// Float is uniform over [0, 1): 53 bits.
func (s *Stream) Float() float64 { return float64(s.pcg.Uint64()>>11) * (1.0 / (1 << 53)) }
