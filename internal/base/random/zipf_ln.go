package random

import "math"

// ln2Hi + ln2Lo is the natural logarithm of 2 (OEIS A002162); ln2Hi has so few digits that its
// product with a small whole number is exact.
const (
	ln2Hi = 0x1.62e42fee00000p-1
	ln2Lo = 0x1.a39ef35793c76p-33
)

// ln returns the natural logarithm of a positive, normal x, accurate to a few units in the last
// place and the same on every machine. It uses only +, -, * and /, each rounded, which IEEE 754
// defines to the bit. (A caller that passes a product to exp must convert it explicitly too: after
// inlining, the product could be fused with the subtraction here.) It sums the series of the area
// hyperbolic tangent: ln m = 2 atanh((m-1)/(m+1)).
func ln(x float64) float64 {
	const sqrt2 = 1.4142135623730951
	b := math.Float64bits(x)
	e := int(b>>52) - 1023

	m := math.Float64frombits(b&(1<<52-1) | 1023<<52) // in [1, 2)

	// Halving brings m close to 1, where the series converges fastest.
	if m > sqrt2 {
		m /= 2
		e++
	}

	s := (m - 1) / (m + 1) // at most 0.172, so that the omitted term is below 1e-18
	s2 := s * s

	p := 0.0
	for k := 23; k >= 1; k -= 2 {
		p = float64(p*s2) + 1/float64(k)
	}

	low := float64(float64(e)*ln2Lo) + float64(2*s*p)
	return float64(float64(e)*ln2Hi) + low
}

// Exp returns e^x for |x| below 700, with the same bits on every processor and a relative error
// below 1e-15: 2^k times the Taylor series of the remainder.
func Exp(x float64) float64 {
	const perLn2 = 1.4426950408889634
	k := math.Floor(float64(x*perLn2) + 0.5)
	r := x - float64(k*ln2Hi) - float64(k*ln2Lo) // at most 0.347
	p := 1.0
	for n := 15; n >= 1; n-- {
		p = float64(p*r)/float64(n) + 1
	}
	return p * math.Float64frombits(uint64(int64(k)+1023)<<52)
}
