package timeline

import (
	"math"
	"slices"
)

// A Plateau is a level that a rate reaches again and again and does not exceed: a cap.
type Plateau struct {
	Level float64
	Cells Mask // where the rate is at the level
	// Share is the part of the candidate cells that are at it.
	Share float64
	// Above is the part of all known cells in which the rate exceeded it. I/O that slips from one
	// candidate into the next does not count.
	Above float64
}

// FindPlateau looks for the level at which values stand in the cells of where: the densest band of
// relative half-width tol, and the higher of two equal ones. It returns false with fewer than
// minCells cells in the band.
func FindPlateau(values []float64, where Mask, tol float64, minCells int) (Plateau, bool) {
	cand := At(values, where)
	cand = slices.DeleteFunc(cand, func(x float64) bool { return math.IsNaN(x) || x <= 0 })
	if len(cand) < minCells {
		return Plateau{}, false
	}
	slices.Sort(cand)
	best, bestN := 0, 0
	for lo, hi := 0, 0; lo < len(cand); lo++ {
		for hi < len(cand) && cand[hi] <= cand[lo]*(1+2*tol) {
			hi++
		}
		if hi-lo >= bestN {
			best, bestN = lo, hi-lo
		}
	}
	if bestN < minCells {
		return Plateau{}, false
	}
	p := Plateau{Level: cand[best+bestN/2], Share: float64(bestN) / float64(len(cand))}
	lo, hi := p.Level*(1-tol), p.Level*(1+tol)
	p.Cells = Where(values, func(x float64) bool { return x >= lo && x <= hi }).And(where)
	p.Above = float64(passed(values, where, hi)) / float64(max(Count(values), 1))
	return p, true
}

// passed counts the cells over a level, except those that have too much because a candidate beside
// them has too little. A sampler that is a tenth of a second late, and a limiter that releases
// requests in bursts, give one cell what they take from the next.
func passed(values []float64, where Mask, level float64) (n int) {
	lacks := func(i, j int) bool {
		return j >= 0 && j < min(len(values), len(where)) && where[j] && values[i]+values[j] <= 2*level
	}
	for i, x := range values {
		if x > level && !lacks(i, i-1) && !lacks(i, i+1) {
			n++
		}
	}
	return n
}
