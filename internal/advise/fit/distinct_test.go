package fit

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The number of distinct items follows from how many different ones a number of draws hit.
func TestDistinct(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.Float64Range(10, 1e7).Draw(rt, "things")
		draws := n * rapid.Float64Range(0.1, 5).Draw(rt, "draws for each")
		met := -n * math.Expm1(-draws/n)
		got := Distinct(met, draws)
		if math.Abs(got/n-1) > 0.01 {
			rt.Fatalf("%v draws met %v: %v things, want %v", draws, met, got, n)
		}
	})

	if got := Distinct(99, 100); !math.IsInf(got, 1) {
		t.Errorf("nearly every draw hit a different one: %v things", got)
	}

	if got := Distinct(0, 100); !math.IsNaN(got) {
		t.Errorf("no repeated draw: %v", got)
	}
}

// Quantities are written in package units' format.
func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		got  Quantity
		want string
	}{
		{rate(1999.96), "2000/s"},
		{rate(0.003594), "0.003594/s"},
		{About(1024), "1.024kB"},
		{About(131072000), "131.1MB"},
		{Exactly(131072000), "125MiB"},
		{throughput(48e6), "48MB/s"},
		{Ratio(0.4991), "49.91%"},
		{factor(1.159), "116%"},
		{Duration(60), "1min"},
		{Duration(59.834), "59.83s"},
		{Duration(0.00085), "850us"},
		{Duration(3600), "1h"},
		{Count(12390000), "12390000"},
	} {
		if c.got.text != c.want {
			t.Errorf("%v is written %s, want %s", c.got.number, c.got.text, c.want)
		}
	}
}
