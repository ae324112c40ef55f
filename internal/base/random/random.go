// Package random provides random numbers for models: streams that depend only on a seed and a name.
//
// Each consumer of randomness has its own stream, found by a stable hash of its name. So one part
// of a model may draw more or fewer numbers without changing what another part sees, two variants
// of a scenario see the same arrivals, and a run is reproducible from its seed.
//
// "The same" means the same bits on every machine. A processor that fuses x*y+z rounds once instead
// of twice, and Go permits that; math.Exp and math.Log are assembly on some processors and Go code
// on others. So this package computes in integers, or in float64 with each product converted
// explicitly, which forbids fusing.
package random

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
)

// A Seed makes a run reproducible.
type Seed uint64

// A Stream is a sequence of random numbers. It is not safe for concurrent use.
type Stream struct{ pcg *rand.PCG }

// Stream returns the stream with a name, for example "volumes.data.latency". The same seed and name
// give the same numbers; different names give independent ones.
func (s Seed) Stream(name string) *Stream {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash's Write returns no error
	return &Stream{rand.NewPCG(uint64(s), h.Sum64())}
}

// Uint64 returns a number uniform over all 64 bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// Below returns a number uniform over 0 ... n-1; n must be positive. (Lemire's multiplication; its
// bias is below n/2^64, too small to show in any run.)
func (s *Stream) Below(n uint64) uint64 {
	hi, _ := bits.Mul64(s.pcg.Uint64(), n)
	return hi
}

// Float returns a number uniform over [0, 1), with 53 bits.
func (s *Stream) Float() float64 { return float64(s.pcg.Uint64()>>11) * (1.0 / (1 << 53)) }

// Mix64 is the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): each bit of its result
// depends on all of x.
func Mix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
