package timeline

import (
	"math"
	"slices"
)

// A Plateau is a level that a rate reaches repeatedly and does not exceed: a cap.
type Plateau struct {
	Level float64
	Cells Mask // cells in which the rate is at the level
	// Share is the share of the candidate cells that are at the level.
	Share float64
	// Above is the number of cells, inside and outside the candidates, in which the rate exceeded
	// the level, divided by the number of candidates. I/O that slips from one candidate into the
	// next does not count.
	Above float64
	// Chance is the probability that a rate without any limit, with a variation of at least a
	// fiftieth, has as hard an upper edge, or as narrow a peak, as this one.
	Chance float64
}

// FindPlateau finds the level of the values in the cells of where: the densest band of relative
// half-width tol, or the higher of two equally dense ones. perSample is the number of cells with
// the value of one sample. It returns false if the band has fewer than least samples.
func FindPlateau(values []float64, where Mask, tol float64, least, perSample int) (Plateau, bool) {
	perSample = max(perSample, 1)
	cand := At(values, where)
	cand = slices.DeleteFunc(cand, func(x float64) bool { return math.IsNaN(x) || x <= 0 })
	slices.Sort(cand)

	first, n := densest(cand, tol)
	if n < least*perSample {
		return Plateau{}, false
	}

	// The level is the median of the band.
	p := Plateau{Level: cand[first+n/2], Share: float64(n) / float64(len(cand))}
	lo, hi := p.Level*(1-tol), p.Level*(1+tol)
	p.Cells = Where(values, func(x float64) bool { return x >= lo && x <= hi }).And(where)
	p.Above = float64(passed(values, where, hi)) / float64(len(cand))
	p.Chance = edgeChance(values, where, lo, hi, perSample)

	return p, true
}

// densest returns the band of relative half-width tol with the most values, among sorted values, or
// the higher of two equally dense ones.
func densest(sorted []float64, tol float64) (first, n int) {
	for lo, hi := 0, 0; lo < len(sorted); lo++ {
		for hi < len(sorted) && sorted[hi] <= sorted[lo]*(1+2*tol) {
			hi++
		}
		if hi-lo >= n {
			first, n = lo, hi-lo
		}
	}
	return first, n
}

const (
	// edgeWidth is the half-width of the band in which a limiter keeps a rate.
	edgeWidth = 0.01
	// edgeOver is, for a rate without any limit, the share of the values at or over a level that
	// are over it. For a normal distribution with a deviation of a fiftieth it is 0.45 (half a
	// deviation is edgeWidth), and 0.32 for the means of two values. Both are lower here, because
	// the densest band of a few values happens to be dense.
	edgeOver     = 0.35
	edgeOverMean = 0.20
	// peakPart is the share of the values within tol of a level that are within edgeWidth of it.
	// For a normal distribution with a deviation of a fiftieth it is 0.39 for a tol of 5 %, and
	// more here for the same reason.
	peakPart = 0.5
	// alternates is the correlation of consecutive values below which they alternate.
	alternates = -0.3
)

// edgeChance returns the probability that a rate without a limit exceeds its most frequent level as
// rarely as this one, or is at it as often. Samples that are a few milliseconds late shift I/O from
// one interval to the next, so the means of two neighbours may show what single values do not.
func edgeChance(values []float64, where Mask, lo, hi float64, perSample int) float64 {
	var single, means []float64
	last := -2 * perSample
	for k := 0; k < min(len(values), len(where)); k++ {
		if !where[k] || !(values[k] >= lo) {
			continue
		}
		if k-last < perSample && last >= 0 {
			continue // the same sample
		}
		single = append(single, values[k])
		if k-last == perSample && len(single)%2 == 0 {
			means = append(means, (single[len(single)-1]+single[len(single)-2])/2)
		}
		last = k
	}

	chance := 1.0
	if n := len(single); n > 2 && Correlation(single[:n-1], single[1:]) <= alternates {
		chance = overChance(means, edgeOverMean)
	}

	return min(1, 3*min(overChance(single, edgeOver), chance, peakChance(single, hi)))
}

// overChance returns that probability for some values, of which the share part is over the most
// frequent level by chance.
func overChance(values []float64, part float64) float64 {
	slices.Sort(values)
	first, at := densest(values, edgeWidth)
	return lowerTail(len(values)-first, len(values)-first-at, part)
}

// peakChance returns the probability that as many of the sorted values up to hi are at the most
// frequent level.
func peakChance(sorted []float64, hi float64) float64 {
	n := len(sorted)
	for n > 0 && sorted[n-1] > hi {
		n--
	}
	_, at := densest(sorted[:n], edgeWidth)
	return lowerTail(n, n-at, 1-peakPart)
}

// lowerTail returns the probability of at most k of n independent events, each with probability p.
func lowerTail(n, k int, p float64) (tail float64) {
	lnFactorial := func(k int) float64 {
		x, _ := math.Lgamma(float64(k) + 1)
		return x
	}
	for i := 0; i <= min(k, n); i++ {
		tail += math.Exp(lnFactorial(n) - lnFactorial(i) - lnFactorial(n-i) + float64(i)*math.Log(p) +
			float64(n-i)*math.Log1p(-p))
	}
	return min(1, tail)
}

// passed counts the cells over a level, except those that are compensated by a neighbouring
// candidate with too little. A sampler that is a tenth of a second late, or a limiter that releases
// requests in bursts, shifts I/O from one cell to the next.
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
