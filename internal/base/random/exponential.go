package random

import (
	"math/bits"
	"time"
)

// lnBits sets the precision of the table of logarithms: interpolation over 2^lnBits intervals is
// accurate to 2^-2*lnBits/8.
const lnBits = 10

// ln2 is the natural logarithm of 2 in units of 2^-32: round(0.693147180559945 x 2^32).
const ln2 = 2977044472

// lnTable[i] is -ln(1/2 + i/2^(lnBits+1)) in units of 2^-32.
var lnTable = makeLnTable()

// makeLnTable computes logarithms bit by bit, by squaring. It uses only integers, so the table is
// the same on every machine.
func makeLnTable() (t [1<<lnBits + 1]uint64) {
	for i := range t {
		// x in [1, 2] is twice the argument, in units of 2^-62; -ln(x/2) = ln 2 - ln x.
		x := uint64(1<<lnBits+i) << (62 - lnBits)
		var log2 uint64 // of x, in units of 2^-40
		if i == 1<<lnBits {
			log2 = 1 << 40
		} else {
			for bit := 39; bit >= 0; bit-- {
				hi, lo := bits.Mul64(x, x)
				x = hi<<2 | lo>>62
				if x >= 1<<63 {
					x >>= 1
					log2 |= 1 << bit
				}
			}
		}

		hi, lo := bits.Mul64(log2, ln2)
		t[i] = ln2 - (hi<<24 | lo>>40)
	}
	return t
}

// Exponential returns a waiting time with the given mean, distributed like the gaps between
// arrivals of a Poisson process.
func (s *Stream) Exponential(mean time.Duration) time.Duration {
	// The argument is split into 2^-zeros times a number in [1/2, 1): the logarithm is the sum of
	// both, the second interpolated in the table. A zero argument would have no logarithm, hence
	// the lowest bit.
	u := s.pcg.Uint64() | 1
	zeros := bits.LeadingZeros64(u)
	u <<= zeros // in [1/2, 1) of 2^64
	i := u << 1 >> (64 - lnBits)
	fraction := u << (1 + lnBits) >> 32
	// Linear interpolation between two entries of the table.
	e := lnTable[i] - (lnTable[i]-lnTable[i+1])*fraction>>32 + uint64(zeros)*ln2
	hi, lo := bits.Mul64(e, uint64(mean))
	return time.Duration(hi<<32 | lo>>32)
}
