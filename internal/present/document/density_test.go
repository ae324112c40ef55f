package document

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A percentile is interpolated within its class. For the first and the last class, only their one bound
// is given.
func TestQuantilesInWords(t *testing.T) {
	h := Density{StepS: 1, BoundsS: []float64{0.001, 0.01, 0.1, 1}, Counts: [][]float64{{100, 800, 0, 0, 0}, {0, 0, 90, 8, 2}}}
	all := h.Everything("all")
	for q, want := range map[float64]string{0.1: "up to 1 ms", 0.5: "5.50 ms", 0.9: "10.0 ms", 0.945: "55.0 ms", 0.999: "over 1 s"} {
		if got := h.QuantileText(all, q); got != want {
			t.Errorf("the quantile %v is %s, want %s", q, got, want)
		}
	}

	if all.Enough(0.999) != true || all.Enough(0.9999) || (Population{Counts: []float64{99}}).Enough(0.99) {
		t.Error("a p99.9 takes a thousand operations, a p99 a hundred")
	}

	h.Unseen = 1000
	if half, p99 := h.QuantileText(h.Everything(""), 0.5), h.QuantileText(h.Everything(""), 0.99); half != "too fast to be sampled" || p99 != "90.0 ms" {
		t.Errorf("where half was too fast to be sampled, the median is %s and the p99 %s", half, p99)
	}

	if f := (Density{BoundsS: []float64{1, 2}, Counts: [][]float64{{0, 0, 0}}}).HeatMap(&Timeline{ToS: 1}, "x"); f != nil {
		t.Error("a heat map of no operation")
	}
}

// How the widths of classes are described: as fifths or factors.
func TestWidthOfClasses(t *testing.T) {
	for want, bounds := range map[string][]float64{
		"classes 12 % wide":                {1, 1.12, 1.25},
		"classes a factor of 2 wide":       {0.001, 0.002, 0.004},
		"classes up to a factor of 5 wide": {0.001, 0.005, 0.01},
		"classes a factor of 10 wide":      {1e-3, 1e-2, 1e-1},
	} {
		h := Density{BoundsS: bounds, Counts: [][]float64{{1, 1, 1, 1}}}
		if got := h.Width(); got != want {
			t.Errorf("%v: %s, want %s", bounds, got, want)
		}
	}
}

// Behind a heat map is a table with few columns that has every class once, and so every operation.
func TestHeatMapTable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		factor := rapid.SampledFrom([]float64{1.12, 1.19, 2, 10}).Draw(r, "factor")
		h := Density{StepS: 1, Counts: [][]float64{nil}}
		for b := 1e-5; b < 100; b *= factor {
			h.BoundsS = append(h.BoundsS, b)
		}

		first := rapid.IntRange(0, len(h.BoundsS)).Draw(r, "first")
		last := rapid.IntRange(first, len(h.BoundsS)).Draw(r, "last")
		h.Counts[0] = make([]float64, len(h.BoundsS)+1)
		h.Counts[0][first], h.Counts[0][last] = 1, 1

		ends := h.groups(first, last)
		if !slices.IsSorted(ends) || ends[len(ends)-1] != last || len(ends) > heatGroups {
			r.Fatalf("classes %d to %d end at %v", first, last, ends)
		}

		tab := h.Tabulate(&Timeline{ToS: 1, Elapsed: true}, "writes")
		if len(tab.Columns) != len(tab.Rows[0]) {
			r.Fatalf("%d columns, %d cells", len(tab.Columns), len(tab.Rows[0]))
		}

		for _, c := range tab.Columns[1:] {
			if c.Text == "" {
				r.Fatal("a column without its latency")
			}
		}
	})
}
