package random

import "math/bits"

// A Scramble is a permutation of 0 ... n-1 that looks random. It says which key has rank r, so that
// the popular keys are spread among the others and not all on one page. Each rank has a key of its
// own. (YCSB's scrambling hashes, so that some keys share two ranks and others have none.) It takes
// no memory.
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
		p.add[i], p.times[i] = s.Uint64(), s.Uint64()|1
	}
	return p
}

// At returns the number in place i, with i below n.
func (p *Scramble) At(i uint64) uint64 {
	// Adding, multiplying by an odd number and folding the upper half onto the lower are bijections
	// on numbers of that many bits. Results of n or more, fewer than half, go through again. (Cycle
	// walking: Black and Rogaway 2002.)
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
