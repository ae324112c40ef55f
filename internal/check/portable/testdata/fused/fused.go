// Package fused has sums of products as the compiler fuses them, and as it does not, for the tests
// of package portable.
package fused

// Sum is fused.
func Sum(a, b, c float64) float64 { return a*b + c }

// Difference is fused.
func Difference(a, b, c float64) float64 { return c - a*b }

// Statements is fused across them.
func Statements(a, b, c float64) float64 {
	p := a * b
	return p + c
}

func plus(x, c float64) float64 { return x + c }

// Inlined is fused through a call.
func Inlined(a, b, c float64) float64 { return plus(a*b, c) }

// Converted is not.
func Converted(a, b, c float64) float64 { return float64(a*b) + c }

// Whole numbers have nothing to round.
func Whole(a, b, c int) int { return a*b + c }
