package random

import "math/bits"

// A Scramble is a pseudorandom permutation of 0 ... n-1. It maps rank r to a key, so that popular
// keys are spread out instead of sharing one page. Each rank has its own key. (YCSB scrambles by
// hashing, so some keys have two ranks and others none.) It needs no table.
type Scramble struct {
	n, mask uint64
	shift   uint
	add     [scrambleRounds]uint64
	times   [scrambleRounds]uint64
}

const scrambleRounds = 3

// NewScramble returns a permutation of n numbers, n at least 1, drawn from s.
func NewScramble(n uint64, s *Stream) Scramble {
	width := uint(bits.Len64(n - 1))
	p := Scramble{n: n, mask: 1<<width - 1, shift: (width + 1) / 2}
	for i := range p.add {
		// An odd factor is invertible modulo a power of two.
		p.add[i], p.times[i] = s.Uint64(), s.Uint64()|1
	}
	return p
}

// At returns the number at place i, with i below n.
func (p *Scramble) At(i uint64) uint64 {
	// Adding, multiplying by an odd number, and folding the upper half onto the lower are
	// bijections on numbers of that many bits. Fewer than half of the results are n or more; these
	// go through again (cycle walking: Black and Rogaway 2002).
	for {
		for r := range p.add {
			i = (i + p.add[r]) * p.times[r] & p.mask
			i ^= i >> p.shift
		}
		if i < p.n {
			return i
		}
	}
}
