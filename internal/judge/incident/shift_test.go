package incident

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"plimsoll/internal/record/timeline"
)

// served is a series of cells of which some stretches have another latency.
func served(n int, usual float64, other map[[2]int]float64) (latency, ops []float64, counted timeline.Mask) {
	latency, ops, counted = make([]float64, n), make([]float64, n), make(timeline.Mask, n)
	for k := range latency {
		// A few percent of noise, the same in each run.
		latency[k], ops[k], counted[k] = usual*(1+0.03*math.Sin(float64(7*k))), 500, true
		for at, x := range other {
			if k >= at[0] && k < at[1] {
				latency[k] *= x / usual
			}
		}
	}
	return latency, ops, counted
}

// A stretch that is clearly slower than the rest of the time is found with its ends, and what is only noise,
// short or barely slower is not.
func TestFindShift(t *testing.T) {
	const usual = 0.001
	for _, c := range []struct {
		name  string
		other map[[2]int]float64
		want  timeline.Episode
		found bool
	}{
		{"nothing", nil, timeline.Episode{}, false},
		{"six times as long", map[[2]int]float64{{200, 300}: 6 * usual}, timeline.Episode{First: 200, Last: 299}, true},
		{"to the end", map[[2]int]float64{{400, 480}: 3 * usual}, timeline.Episode{First: 400, Last: 479}, true},
		{"from the beginning", map[[2]int]float64{{0, 80}: 3 * usual}, timeline.Episode{First: 0, Last: 79}, true},
		{"half as long again", map[[2]int]float64{{200, 300}: 1.5 * usual}, timeline.Episode{}, false},
		{"one block", map[[2]int]float64{{200, 210}: 6 * usual}, timeline.Episode{}, false},
		{"nearly all of the time", map[[2]int]float64{{0, 470}: 6 * usual}, timeline.Episode{}, false},
		{"the longer of two", map[[2]int]float64{{50, 70}: 6 * usual, {200, 400}: 6 * usual}, timeline.Episode{First: 200, Last: 399}, true},
	} {
		latency, ops, counted := served(480, usual, c.other)
		s, found := FindShift(latency, ops, counted, 1, 1)
		if found != c.found || found && (s.Episode != c.want || s.Growing) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, s, found, c.want)
		}
	}
}

// The figures are medians of the stretch and of the other time. A latency that comes with more operations is
// of another load.
func TestShiftFigures(t *testing.T) {
	latency, ops, counted := served(480, 0.001, map[[2]int]float64{{200, 300}: 0.006})
	s, ok := FindShift(latency, ops, counted, 1, 1)
	if !ok || math.Abs(s.UsualS-0.001) > 1e-4 || math.Abs(s.ThenS-0.006) > 5e-4 || s.UsualOps != 500 ||
		s.ThenOps != 500 ||
		!s.SameLoad() {
		t.Errorf("%+v", s)
	}
	for k := 200; k < 300; k++ {
		ops[k] = 700
	}
	if s, ok := FindShift(latency, ops, counted, 1, 1); !ok || s.ThenOps != 700 || s.SameLoad() {
		t.Errorf("%+v", s)
	}
}

// A latency that rises all the time is growth, and a step is not.
func TestShiftGrows(t *testing.T) {
	latency, ops, counted := served(480, 0.001, nil)
	for k := range latency {
		latency[k] *= 1 + 3*float64(k)/480
	}
	s, ok := FindShift(latency, ops, counted, 1, 1)
	if !ok || !s.Growing || s.Episode != (timeline.Episode{First: 0, Last: 479}) || s.ThenS < 2.5*s.UsualS {
		t.Errorf("%+v, %v", s, ok)
	}

	latency, ops, counted = served(480, 0.001, map[[2]int]float64{{240, 480}: 0.004})
	if s, ok := FindShift(latency, ops, counted, 1, 1); !ok || s.Growing || s.First != 240 {
		t.Errorf("a step in the middle: %+v, %v", s, ok)
	}
}

// Cells with few operations, and cells that do not count, say nothing about latency.
func TestShiftOfLittle(t *testing.T) {
	latency, ops, counted := served(480, 0.001, map[[2]int]float64{{200, 300}: 0.006})
	for k := 200; k < 300; k++ {
		ops[k] = 0.5
	}
	if s, ok := FindShift(latency, ops, counted, 1, 1); ok {
		t.Errorf("half an operation a second: %+v", s)
	}

	latency, ops, counted = served(480, 0.001, map[[2]int]float64{{200, 300}: 0.006})
	for k := 200; k < 300; k++ {
		counted[k] = false
	}
	if s, ok := FindShift(latency, ops, counted, 1, 1); ok {
		t.Errorf("cells that do not count: %+v", s)
	}
	if s, ok := FindShift(latency[:7], ops[:7], counted[:7], 1, 1); ok {
		t.Errorf("of seven cells: %+v", s)
	}
}

// For any values, a shift is within the series and at least as clear as the constants require.
func TestShiftIsClear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		latency := rapid.SliceOfN(rapid.SampledFrom([]float64{0.001, 0.0011, 0.002, 0.005, 0.05, math.NaN()}), 0, 120).
			Draw(t, "latency")
		ops, counted := make([]float64, len(latency)), make(timeline.Mask, len(latency))
		for k := range ops {
			ops[k], counted[k] = 10, true
		}
		s, ok := FindShift(latency, ops, counted, 1, rapid.IntRange(1, 5).Draw(t, "least"))
		if ok &&
			(s.First < 0 || s.Last >= len(latency) || s.First > s.Last || s.ThenS < min(shiftFactor, growthFactor)*s.UsualS) {
			t.Fatalf("%+v", s)
		}
	})
}

// Groups are near if their closest events are, and overlapping times are at no distance.
func TestNear(t *testing.T) {
	of := func(spans ...[2]int) Group {
		var g Group
		for _, s := range spans {
			g.Events = append(g.Events, Event{Parts: []Part{{Episode: timeline.Episode{First: s[0], Last: s[1]}}}})
		}
		return g
	}
	for _, c := range []struct {
		name string
		a, b Group
		gap  int
	}{
		{"apart", of([2]int{0, 9}), of([2]int{30, 39}), 21}, {"the other way", of([2]int{30, 39}), of([2]int{0, 9}), 21}, {"overlapping", of([2]int{0, 9}), of([2]int{5, 20}), 0},
		{"between events", of([2]int{0, 9}, [2]int{100, 109}), of([2]int{112, 120}), 3}, {"interleaved", of([2]int{0, 1}, [2]int{50, 51}), of([2]int{20, 21}, [2]int{55, 56}), 4},
	} {
		if got := gap(c.a, c.b, Options{}); got != c.gap {
			t.Errorf("%s: %d cells, want %d", c.name, got, c.gap)
		}
		if Near(c.a, c.b, Options{Near: c.gap - 1}) || !Near(c.a, c.b, Options{Near: c.gap}) {
			t.Errorf("%s: near is not at most %d cells", c.name, c.gap)
		}
	}

	// A gap of the recording between two cells counts as time.
	gone := Options{Near: 20, At: func(cell int) int { return cell + 1000*(cell/20) }}
	if Near(of([2]int{0, 9}), of([2]int{21, 22}), gone) {
		t.Error("cells on both sides of a gap are near")
	}
}
