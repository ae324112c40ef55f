package html

import (
	"math"
	"regexp"
	"strconv"
	"testing"

	"plimsoll/internal/present/document"
)

// A distribution's curve passes through its percentiles, whatever the classes.
func TestCurveMeetsPercentiles(t *testing.T) {
	h := document.Density{StepS: 1, BoundsS: []float64{0.001, 0.1, 10}, Counts: [][]float64{{10, 500, 490, 0}}}
	p := h.Everything("")
	x := scale{from: h.Lower(0), to: h.Upper(2), start: 0, end: 1000, log: true}
	y := scale{from: 0, to: 3, start: 1000, end: 0}
	value, _ := h.Quantile(p, 0.5)

	var before, after [2]float64
	for _, at := range places(t, curve(p, h, x, y)) {
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
			t.Fatalf("%q is not a place", piece[0])
		}
		out = append(out, [2]float64{x, y})
	}
	return out
}
