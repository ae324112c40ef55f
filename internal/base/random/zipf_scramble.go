package random

import "math/bits"

// A Scramble is a permutation of 0 ... n-1 that looks like chance: it tells which key has rank
// r, so that the popular keys lie anywhere among the others and not all on one page. Each rank
// has a key of its own (YCSB's scrambling hashes, so that some keys share two ranks and others
// have none). It takes no memory.
type Scramble struct {
	n, mask uint64
	shift   uint
	add     [scrambleRounds]uint64
	times   [scrambleRounds]uint64
}

const scrambleRounds = 3

// NewScramble makes a permutation of n, at least 1, numbers, drawn from s.
func NewScramble(n uint64, s *Stream) Scramble {
	width := uint(bits.Len64(n - 1))
	p := Scramble{n: n, mask: 1<<width - 1, shift: (width + 1) / 2}
	for i := range p.add {
		p.add[i], p.times[i] = s.Uint64(), s.Uint64()|1
	}
	return p
}

// At gives the number in place i, i being below n.
func (p *Scramble) At(i uint64) uint64 {
	// Adding, multiplying by an odd number and folding the upper half onto the lower are each
	// one to one on numbers of so many bits; those from n on are sent round again, fewer than
	// half. (Cycle walking: Black and Rogaway 2002.)
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
