package html

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// A percentile is interpolated within its class; of the first and the last class only the bound is told, for they have no other.
func TestQuantilesInWords(t *testing.T) {
	h := density{StepS: 1, BoundsS: []float64{0.001, 0.01, 0.1, 1}, Counts: [][]float64{{100, 800, 0, 0, 0}, {0, 0, 90, 8, 2}}}
	all := h.everything("all")
	for q, want := range map[float64]string{0.1: "up to 1 ms", 0.5: "5.50 ms", 0.9: "10.0 ms", 0.945: "55.0 ms", 0.999: "over 1 s"} {
		if got := h.told(all, q); got != want {
			t.Errorf("the quantile %v is %s, want %s", q, got, want)
		}
	}
	if all.enough(0.999) != true || all.enough(0.9999) || (population{counts: []float64{99}}).enough(0.99) {
		t.Error("a p99.9 takes a thousand operations, a p99 a hundred")
	}
	h.Unseen = 1000
	if half, p99 := h.told(h.everything(""), 0.5), h.told(h.everything(""), 0.99); half != "too quick to be seen" || p99 != "90.0 ms" {
		t.Errorf("where half was too quick to be seen, the median is %s and the p99 %s", half, p99)
	}
	if f := heatMap(density{BoundsS: []float64{1, 2}, Counts: [][]float64{{0, 0, 0}}}, &timeline{ToS: 1}, "x"); f != nil {
		t.Error("a heat map of no operation")
	}
}

// What a reader is told of classes: fifths, factors.
func TestWidthOfClasses(t *testing.T) {
	for want, bounds := range map[string][]float64{
		"classes 12 % wide":                {1, 1.12, 1.25},
		"classes a factor of 2 wide":       {0.001, 0.002, 0.004},
		"classes up to a factor of 5 wide": {0.001, 0.005, 0.01},
		"classes a factor of 10 wide":      {1e-3, 1e-2, 1e-1},
	} {
		h := density{BoundsS: bounds, Counts: [][]float64{{1, 1, 1, 1}}}
		if got := h.width(); got != want {
			t.Errorf("%v: %s, want %s", bounds, got, want)
		}
	}
}

// Behind a heat map is a table of few columns that has every class once, and so every operation.
func TestHeatMapTable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		factor := rapid.SampledFrom([]float64{1.12, 1.19, 2, 10}).Draw(r, "factor")
		h := density{StepS: 1, Counts: [][]float64{nil}}
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
		tab := h.tabulate(&timeline{ToS: 1, Elapsed: true}, "writes")
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

// A distribution's curve reaches its percentiles: each lies on it, whatever the classes.
func TestCurveMeetsPercentiles(t *testing.T) {
	h := density{StepS: 1, BoundsS: []float64{0.001, 0.1, 10}, Counts: [][]float64{{10, 500, 490, 0}}}
	p := h.everything("")
	x := scale{from: h.lower(0), to: h.upper(2), start: 0, end: 1000, log: true}
	y := scale{from: 0, to: 3, start: 1000, end: 0}
	value, _ := h.quantile(p, 0.5)
	var before, after [2]float64
	for _, at := range places(t, h.curve(p, x, y, 0, 2)) {
		if at[0] <= x.at(value) {
			before = at
		} else if after[0] == 0 {
			after = at
		}
	}
	part := (x.at(value) - before[0]) / (after[0] - before[0])
	if got, want := before[1]+part*(after[1]-before[1]), y.at(ninesOf(0.5)); math.Abs(got-want) > 8 {
		t.Errorf("at the median the curve is at %v, of a thousand, and the median's mark at %v", got, want)
	}
}

// places are the points of a path of moves and lines.
func places(t *testing.T, path string) (out [][2]float64) {
	t.Helper()
	for _, piece := range regexp.MustCompile(`[ML]([0-9.]+) ([0-9.]+)`).FindAllStringSubmatch(path, -1) {
		x, errX := strconv.ParseFloat(piece[1], 64)
		y, errY := strconv.ParseFloat(piece[2], 64)
		if errX != nil || errY != nil {
			t.Fatalf("%q is no place", piece[0])
		}
		out = append(out, [2]float64{x, y})
	}
	return out
}
