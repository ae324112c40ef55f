package timeline

import (
	"cmp"
	"math"
	"slices"
)

// Quantile returns the q-quantile (0 to 1) of the values that are not NaN, linearly interpolated
// between order statistics; NaN if there are none.
func Quantile(values []float64, q float64) float64 {
	v := make([]float64, 0, len(values))
	for _, x := range values {
		if !math.IsNaN(x) {
			v = append(v, x)
		}
	}

	if len(v) == 0 {
		return math.NaN()
	}

	slices.Sort(v)
	pos := q * float64(len(v)-1)
	i := int(math.Floor(pos))
	if i >= len(v)-1 {
		return v[len(v)-1]
	}

	if i < 0 {
		return v[0]
	}

	frac := pos - float64(i)
	return v[i]*(1-frac) + v[i+1]*frac
}

// Sum adds the values that are not NaN.
func Sum(values []float64) float64 {
	var s float64
	for _, x := range values {
		if !math.IsNaN(x) {
			s += x
		}
	}
	return s
}

// Count returns how many values are not NaN.
func Count(values []float64) int {
	n := 0
	for _, x := range values {
		if !math.IsNaN(x) {
			n++
		}
	}
	return n
}

// Mean returns the mean of the values that are not NaN; NaN if there are none.
func Mean(values []float64) float64 {
	n := Count(values)
	if n == 0 {
		return math.NaN()
	}
	return Sum(values) / float64(n)
}

// Max returns the largest value that is not NaN; NaN if there are none.
func Max(values []float64) float64 {
	m := math.NaN()
	for _, x := range values {
		if !math.IsNaN(x) && (math.IsNaN(m) || x > m) {
			m = x
		}
	}
	return m
}

// Correlation returns Pearson's r of the pairs in which neither value is NaN; NaN if fewer than 8
// pairs remain or either does not vary.
func Correlation(a, b []float64) float64 {
	var n, sa, sb float64
	for i := range a {
		if i < len(b) && !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			n++
			sa += a[i]
			sb += b[i]
		}
	}

	if n < 8 {
		return math.NaN()
	}

	ma, mb := sa/n, sb/n
	var cov, va, vb float64
	for i := range a {
		if i < len(b) && !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			cov += (a[i] - ma) * (b[i] - mb)
			va += (a[i] - ma) * (a[i] - ma)
			vb += (b[i] - mb) * (b[i] - mb)
		}
	}

	// A constant has no correlation.
	if va == 0 || vb == 0 {
		return math.NaN()
	}

	return cov / math.Sqrt(va*vb)
}

// At returns the values in the cells where mask holds.
func At(values []float64, mask Mask) []float64 {
	var out []float64
	for i, x := range values {
		if i < len(mask) && mask[i] {
			out = append(out, x)
		}
	}
	return out
}

// Top returns the mask of the n cells with the largest values.
func Top(values []float64, n int) Mask {
	idx := make([]int, 0, len(values))
	for i, x := range values {
		if !math.IsNaN(x) {
			idx = append(idx, i)
		}
	}
	slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	m := make(Mask, len(values))
	for _, i := range idx[:min(n, len(idx))] {
		m[i] = true
	}
	return m
}

// UsualAround returns the usual value around each cell: the median of the values within half a span
// on either side, computed per block, and at most atMost times the median of all values. If the
// values fit into one span, it is a single value.
func UsualAround(values []float64, span int, atMost float64) []float64 {
	all := Quantile(values, 0.5)
	block := max(1, span/4)
	if len(values) <= span {
		return []float64{all}
	}

	out := make([]float64, len(values))
	for from := 0; from < len(values); from += block {
		to := min(from+block, len(values))
		usual := Quantile(values[max(0, from-3*block/2):min(len(values), to+3*block/2)], 0.5)
		if math.IsNaN(usual) || usual > atMost*all {
			usual = min(usual, atMost*all)
		}
		if math.IsNaN(usual) {
			usual = all
		}
		for k := from; k < to; k++ {
			out[k] = usual
		}
	}

	return out
}

// Unknown returns a series without any value.
func Unknown(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// Add adds a series to a sum, which stays unknown where none of its series has a value.
func Add(sum, values []float64) {
	for i, x := range values {
		switch {
		case math.IsNaN(x):
		case math.IsNaN(sum[i]):
			sum[i] = x
		default:
			sum[i] += x
		}
	}
}
