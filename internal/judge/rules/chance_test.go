package rules

import (
	"math"
	"testing"
)

// Figures of the binomial distribution, from tables or from coin tosses.
func TestByChance(t *testing.T) {
	for _, c := range []struct {
		n, met int
		p      float64
		want   float64
	}{
		{1, 1, 0.25, 0.25},
		{2, 1, 0.5, 0.75},
		{2, 2, 0.5, 0.25},
		{3, 2, 0.5, 0.5},
		{10, 8, 0.5, 56.0 / 1024},
		{5, 0, 0.1, 1},
		{4, 2, 1, 1},
		{4, 2, 0, 0},
		{10000, 5000, 0.5, 0.504}, // half of the middle term, sqrt(2 / (pi n)) / 2, over a half
		{5000, 4000, 0.5, 0},      // no underflow makes it 1
	} {
		if got := byChance(c.n, c.met, c.p); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("at least %d of %d at %g: %g, want %g", c.met, c.n, c.p, got, c.want)
		}
	}
}
