package prove

import (
	"math"

	"plimsoll/internal/base/random"
)

// drawBlocks draws runs of block units circularly until it has as many units as before, and counts in
// times how often each unit was drawn.
func drawBlocks(times []int32, block int, s *random.Stream) {
	clear(times)
	n := len(times)
	for left := n; left > 0; left -= block {
		at := int(s.Below(uint64(n)))
		for range min(block, left) {
			times[at]++
			if at++; at == n {
				at = 0
			}
		}
	}
}

// bootstrap returns the estimates for resampled units, in the order drawn.
func bootstrap(m measure, block, resamples int, s *random.Stream) []float64 {
	times := make([]int32, m.units())
	out := make([]float64, resamples)
	for i := range out {
		drawBlocks(times, block, s)
		out[i] = m.estimate(times)
	}
	return out
}

// contrast returns the symmetric relative difference of b from a; 0 if both are 0.
func contrast(a, b float64) float64 {
	if a == b {
		return 0
	}
	return (b - a) / (math.Abs(a) + math.Abs(b))
}

// permute returns the share of random orders of both sides' runs in which the sides differ at least as much
// as observed. Runs have block units, and as many of them are assigned to before as there were. One is
// added to both counts, because the observed order is one of the possible ones (Phipson, Smyth 2010:
// permutation p-values should never be zero).
func permute(a, b measure, block, permutations int, s *random.Stream) float64 {
	both := a.join(b)
	n := both.units()

	runs := make([][2]int, 0, n/block+2)
	for _, side := range [][2]int{{0, a.units()}, {a.units(), n}} {
		for at := side[0]; at < side[1]; at += block {
			runs = append(runs, [2]int{at, min(at+block, side[1])})
		}
	}

	// Number of runs of the side before; the last one may be shorter.
	first := (a.units() + block - 1) / block
	seen := math.Abs(contrast(a.estimate(once(a.units())), b.estimate(once(b.units()))))
	const rounding = 1e-12 // for sums of the same numbers in a different order
	in, out := make([]int32, n), make([]int32, n)

	asFar := 1
	for range permutations {
		for i := len(runs) - 1; i > 0; i-- {
			j := s.Below(uint64(i + 1))
			runs[i], runs[j] = runs[j], runs[i]
		}

		for i, r := range runs {
			for u := r[0]; u < r[1]; u++ {
				in[u], out[u] = 0, 1
				// The runs are shuffled, and the first ones stand for the side before.
				if i < first {
					in[u], out[u] = 1, 0
				}
			}
		}

		c := math.Abs(contrast(both.estimate(in), both.estimate(out)))
		if !(c < seen-rounding) { // NaN counts too
			asFar++
		}
	}

	return float64(asFar) / float64(permutations+1)
}

// blockLength returns the number of units to draw together, by the automatic choice for the circular
// block bootstrap of Politis and White, Econometric Reviews 23 (2004) 53-70, with the correction of
// Patton, Politis and White, ibid. 28 (2009) 372-375. The constants are theirs.
func blockLength(series []float64) int {
	n := len(series)
	if n < 4 {
		return 1
	}

	size := float64(n)
	significant := 2 * math.Sqrt(math.Log10(size)/size)

	// This many insignificant lags in a row mean that there is no further dependence.
	insignificant := max(5, int(math.Ceil(math.Sqrt(math.Log10(size)))))
	lags := min(int(math.Ceil(math.Sqrt(size)))+insignificant, n-1)
	cov := autocovariance(series, lags)
	if cov[0] <= 0 {
		return 1
	}

	last := 0
	for k, quiet := 1, 0; k <= lags && quiet < insignificant; k++ {
		if quiet++; math.Abs(cov[k]/cov[0]) >= significant {
			last, quiet = k, 0
		}
	}

	if last == 0 {
		return 1
	}

	reach := min(2*last, lags)
	spectrum, curvature := cov[0], 0.0
	for k := 1; k <= reach; k++ {
		window := min(1, 2*(1-float64(k)/float64(reach)))
		spectrum += float64(2 * window * cov[k])
		curvature += float64(2 * window * float64(k) * cov[k])
	}

	if spectrum <= cov[0] {
		// Neighbours compensate each other: drawn individually, they vary more than in runs, so single
		// units are the conservative choice.
		return 1
	}

	best := math.Cbrt(2 * curvature * curvature / (4.0 / 3 * spectrum * spectrum) * size)
	most := math.Ceil(min(3*math.Sqrt(size), size/3))
	return int(math.Ceil(max(1, min(best, most))))
}

// autocovariance returns the autocovariance for lags 0 to most.
func autocovariance(x []float64, most int) []float64 {
	mean := 0.0
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	out := make([]float64, most+1)
	for lag := range out {
		sum := 0.0
		for i := lag; i < len(x); i++ {
			sum += float64((x[i] - mean) * (x[i-lag] - mean))
		}
		out[lag] = sum / float64(len(x))
	}
	return out
}

// critical returns the number of standard errors by which an interval extends to each side, given the number
// of independent runs: Student's t, corrected because the bootstrap's standard error is too small by
// sqrt((n-1)/n) (Hesterberg, The American Statistician 69 (2015) 371-386, section 3.2).
func critical(alpha float64, runs int) float64 {
	n := float64(runs)
	return math.Sqrt(n/(n-1)) * studentQuantile(1-alpha/2, runs-1)
}

// deviation returns the standard deviation of the resampled estimates: the bootstrap's standard error.
func deviation(estimates []float64) float64 {
	n, mean := 0.0, 0.0
	for _, x := range estimates {
		if !math.IsNaN(x) {
			n++
			mean += (x - mean) / n
		}
	}

	sum := 0.0
	for _, x := range estimates {
		if !math.IsNaN(x) {
			sum += float64((x - mean) * (x - mean))
		}
	}

	if n < 2 {
		return math.NaN()
	}

	return math.Sqrt(sum / (n - 1))
}

// A span is a value with its interval due to chance; high is infinite if nothing bounds it. below and above
// extend the interval by the rest of a histogram's class, because the recording is no finer. They are not
// due to chance, and a longer recording does not reduce them.
type span struct{ value, low, high, below, above float64 }

// stated returns the interval including the extensions.
func (s span) stated() span {
	return span{value: s.value, low: s.low - s.below, high: s.high + s.above}
}

// difference returns the interval of b minus a from those of both (the method of variance estimates
// recovery: Zou, Donner, Statistics in Medicine 27 (2008) 1693-1702): the distance to each end is the root
// of the sum of squares of both sides' distances in that direction. The classes' extensions add up, which
// is the worst case.
func difference(a, b span) span {
	return span{
		value: b.value - a.value,
		low:   b.value - a.value - math.Hypot(b.value-b.low, a.high-a.value),
		high:  b.value - a.value + math.Hypot(b.high-b.value, a.value-a.low),
		below: b.below + a.above, above: b.above + a.below,
	}
}

// ratio returns the interval of b divided by a, computed as the difference of their logarithms. Neither may
// be negative.
func ratio(a, b span) span {
	if a.value > 0 && b.value == 0 && b.high > 0 {
		return span{high: b.high / max(a.low, 0)} // no event after the change: the ratio is 0 at best
	}
	if a.value <= 0 || b.value <= 0 {
		d := b.value / a.value // 0, infinite or not a number
		return span{value: d, low: d, high: d}
	}
	d := difference(logarithm(a), logarithm(b))
	r := span{value: math.Exp(d.value), low: math.Exp(d.low), high: math.Exp(d.high)}
	r.below, r.above = further(r.low, math.Exp(d.low-d.below)), further(math.Exp(d.high+d.above), r.high)
	return r
}

func logarithm(s span) span {
	l := span{value: math.Log(s.value), low: math.Log(max(s.low, 0)), high: math.Log(s.high)}
	l.below, l.above = further(l.low, math.Log(max(s.low-s.below, 0))), further(math.Log(s.high+s.above), l.high)
	return l
}

// further returns how far x is above y; 0 if y is unbounded.
func further(x, y float64) float64 {
	if math.IsInf(y, 0) && math.IsInf(x, 0) || math.IsInf(y, 1) {
		return 0
	}
	return max(x-y, 0)
}
