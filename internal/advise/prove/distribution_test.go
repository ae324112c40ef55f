package prove

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Values from the tables of Abramowitz and Stegun, 26.10.
func TestStudentQuantile(t *testing.T) {
	for _, c := range []struct {
		p       float64
		freedom int
		want    float64
	}{{0.975, 1, 12.706}, {0.975, 5, 2.571}, {0.975, 6, 2.447}, {0.995, 9, 3.250}, {0.95, 30, 1.697}, {0.975, 1000, 1.960}} {
		if got := studentQuantile(c.p, c.freedom); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("t of %d degrees of freedom at %g: %.4f, want %.3f", c.freedom, c.p, got, c.want)
		}
	}
}

// Holm's example on a small scale: the smallest p is multiplied by the number of figures, the next one
// by one less, and so on.
func TestHolm(t *testing.T) {
	got := holm([]float64{0.04, 0.01, 0.5, 0.02})
	if want := []float64{0.08, 0.04, 0.5, 0.06}; fmt.Sprintf("%.4f", got) != fmt.Sprintf("%.4f", want) {
		t.Errorf("%.4f, want %.4f", got, want)
	}
	if !slices.Equal(holm(nil), []float64{}) {
		t.Error("no p-values, but a result")
	}
}
