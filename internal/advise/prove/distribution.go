package prove

import "math"

// normalQuantile returns the p-quantile of the standard normal distribution.
func normalQuantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// freedomMax is the number of degrees of freedom above which the normal distribution replaces Student's t:
// there they differ by 0.3 % at 95 %.
const freedomMax = 400

// studentQuantile computes the quantile of Student's t, by bisection.
func studentQuantile(p float64, freedom int) float64 {
	if freedom > freedomMax {
		return normalQuantile(p)
	}
	low, high := 0.0, 1e6
	for range 200 {
		if mid := (low + high) / 2; studentWithin(mid, freedom) < 2*p-1 {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// studentWithin returns the probability that Student's t is between -t and t: Abramowitz and Stegun
// (1964), 26.7.3 and 26.7.4.
func studentWithin(t float64, freedom int) float64 {
	theta := math.Atan(t / math.Sqrt(float64(freedom)))
	sin, cos := math.Sin(theta), math.Cos(theta)
	sum := 0.0

	if freedom%2 == 0 {
		term := 1.0
		for k := 0; k <= freedom-2; k += 2 {
			sum += term
			term *= cos * cos * float64(k+1) / float64(k+2)
		}
		return sin * sum
	}

	term := cos
	for k := 1; k <= freedom-2; k += 2 {
		sum += term
		term *= cos * cos * float64(k+1) / float64(k+2)
	}

	return 2 / math.Pi * (theta + float64(sin*sum))
}

// holm adjusts p-values so that the probability of any false rejection at alpha is at most alpha (Holm,
// Scandinavian Journal of Statistics 6 (1979) 65-70). The result is in the order of the input.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
		for j := i; j > 0 && p[order[j]] < p[order[j-1]]; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}

	out := make([]float64, len(p))
	most := 0.0
	for rank, i := range order {
		// Adjusted values must not decrease with increasing p.
		most = max(most, min(1, float64(len(p)-rank)*p[i]))
		out[i] = most
	}

	return out
}
