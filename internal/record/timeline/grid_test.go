package timeline_test

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/timeline"
)

var nan = math.NaN()

// at returns samples from pairs of milliseconds and value.
func at(pairs ...float64) []promql.FPoint {
	var out []promql.FPoint
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, promql.FPoint{T: int64(pairs[i]), F: pairs[i+1]})
	}
	return out
}

// every returns n+1 samples of a counter that grows by rate per second, one per period.
func every(fromMs, periodMs int64, n int, start, rate float64) []promql.FPoint {
	var out []promql.FPoint
	for i := range n + 1 {
		out = append(out, promql.FPoint{T: fromMs + int64(i)*periodMs, F: start + rate*float64(int64(i)*periodMs)/1000})
	}
	return out
}

func checkValues(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d cells, want %d", len(got), len(want))
	}
	for k := range want {
		if !same(got[k], want[k]) && !(math.Abs(got[k]-want[k]) < 1e-6) {
			t.Errorf("cell %d is %v, want %v\n got %v\nwant %v", k, got[k], want[k], got, want)
			return
		}
	}
}

// A cell gets the mean of the intervals that cover it.
func TestRate(t *testing.T) {
	g := timeline.Grid{FromMs: 0, StepMs: 1000, N: 6}
	for _, c := range []struct {
		name string
		pts  []promql.FPoint
		want []float64
	}{
		{"samples on the grid", at(0, 0, 1000, 10, 2000, 30, 3000, 60, 4000, 100, 5000, 150), []float64{nan, 10, 20, 30, 40, 50}},
		{"jitter: the second cell is 900 ms of one interval and 100 ms of the next",
			at(0, 0, 1900, 19, 3000, 63, 4000, 103, 5000, 143), []float64{nan, 10, (0.9*10 + 0.1*40), 40, 40, 40}},
		{"a late sample: three seconds at their mean, none lost, none twice",
			at(0, 0, 1000, 10, 4000, 310, 5000, 320), []float64{nan, 10, 100, 100, 100, 10}},
		{"a reset: what happened in it cannot be known", at(0, 100, 1000, 110, 2000, 5, 3000, 15, 4000, 25, 5000, 35), []float64{nan, 10, nan, 10, 10, 10}},
		{"half a cell known is known, at the rate of that half", at(1500, 0, 2000, 5, 3000, 15), []float64{nan, nan, 10, 10, nan, nan}},
		{"less than half is not", at(1600, 0, 2000, 4, 3000, 14), []float64{nan, nan, nan, 10, nan, nan}},
		{"two samples of one time: the interval has no length", at(0, 0, 1000, 10, 1000, 12, 2000, 22), []float64{nan, 10, 10, nan, nan, nan}},
		{"a staleness mark between", at(0, 0, 1000, 10, 2000, nan, 3000, 30, 4000, 40), []float64{nan, 10, nan, nan, 10, nan}},
		{"one sample", at(0, 5), []float64{nan, nan, nan, nan, nan, nan}},
		{"none", nil, []float64{nan, nan, nan, nan, nan, nan}},
		{"outside the grid", at(-9000, 0, -8000, 10, 90000, 20, 91000, 30), []float64{nan, nan, nan, nan, nan, nan}},
	} {
		t.Run(c.name, func(t *testing.T) { checkValues(t, g.Rate(c.pts), c.want) })
	}
}

// An interval over 10 periods and over 15 s is a hole; a shorter one is a late sample, and a valid
// measurement.
func TestHoles(t *testing.T) {
	for _, c := range []struct {
		name   string
		period int64
		gap    int64
		hole   bool
	}{
		{"8 s late at one second", 1000, 8000, false},
		{"15 s late at one second", 1000, 15_000, false},
		{"16 s late at one second", 1000, 16_000, true},
		{"16 s late at two seconds: eight periods", 2000, 16_000, false},
		{"22 s late at two seconds", 2000, 22_000, true},
		{"three scrapes of a minute missed", 60_000, 240_000, false},
		{"ten scrapes of a minute missed", 60_000, 660_000, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := every(0, c.period, 20, 0, 7)
			last := first[20]
			pts := append(first, every(last.T+c.gap, c.period, 20, last.F+7*float64(c.gap)/1000, 7)...)
			g := timeline.Grid{FromMs: 0, StepMs: c.period, N: int(pts[len(pts)-1].T/c.period) + 1}
			mid := int((last.T + c.gap/2) / c.period)
			if got := math.IsNaN(g.Rate(pts)[mid]); got != c.hole {
				t.Errorf("rate in the gap unknown: %v, want %v", got, c.hole)
			}
			if got := math.IsNaN(g.Gauge(pts)[mid+4]); got != c.hole {
				t.Errorf("gauge in the gap unknown: %v, want %v", got, c.hole)
			}
		})
	}
}

// A source may change its period while it runs: 0.1, 1 and 10 s, and a capture at 10 s on a grid of
// seconds.
func TestRateMixedPeriods(t *testing.T) {
	a := every(0, 100, 100, 0, 50)                       // to 10 s
	b := every(10_000, 1000, 20, a[len(a)-1].F, 50)[1:]  // to 30 s
	c := every(30_000, 10_000, 6, b[len(b)-1].F, 50)[1:] // to 90 s
	pts := append(append(append([]promql.FPoint{}, a...), b...), c...)
	for _, step := range []int64{100, 1000, 10_000} {
		g := timeline.Grid{FromMs: 0, StepMs: step, N: int(90_000/step) + 1}
		got := g.Rate(pts)
		for k := 1; k < g.N; k++ {
			if !(math.Abs(got[k]-50) < 1e-4) { // cell shares have single precision
				t.Fatalf("step %d ms: cell %d (%v) is %v, want 50", step, k, g.Time(k).Sub(g.Time(0)), got[k])
			}
		}
	}
}

// Putting a rate on a grid neither loses nor invents counts.
func TestRateConserves(t *testing.T) {
	pts := at(0, 0, 1003, 10, 1998, 400, 6011, 405, 7000, 900, 8000, 901)
	g := timeline.Grid{FromMs: 0, StepMs: 1000, N: 9}
	if got := timeline.Sum(g.Rate(pts)); math.Abs(got-901) > 1e-6 {
		t.Errorf("%v in all, want 901", got)
	}
}

// A cell has the last sample at or before its end, held until the next one.
func TestGauge(t *testing.T) {
	g := timeline.Grid{FromMs: 0, StepMs: 1000, N: 6}
	for _, c := range []struct {
		name string
		pts  []promql.FPoint
		want []float64
	}{
		{"on the grid", at(0, 1, 1000, 2, 2000, 3, 3000, 4, 4000, 5, 5000, 6), []float64{1, 2, 3, 4, 5, 6}},
		{"jitter", at(400, 1, 1400, 2, 2400, 3, 3400, 4), []float64{nan, 1, 2, 3, 4, 4}},
		{"two in a cell: the later", at(100, 1, 900, 2, 2000, 3), []float64{nan, 2, 3, 3, 3, nan}},
		{"a late sample: the value is held", at(0, 1, 1000, 2, 4000, 3, 5000, 4), []float64{1, 2, 2, 2, 3, 4}},
		{"the last is held for two and a half periods", at(0, 1, 1000, 2), []float64{1, 2, 2, 2, nan, nan}},
		{"none", nil, []float64{nan, nan, nan, nan, nan, nan}},
	} {
		t.Run(c.name, func(t *testing.T) { checkValues(t, g.Gauge(c.pts), c.want) })
	}
}

func TestNewGrid(t *testing.T) {
	from := time.UnixMilli(1_700_000_000_300)
	g := timeline.NewGrid(from, from.Add(10*time.Second), time.Second)
	if g.N != 12 || g.Time(0).UnixMilli() != 1_700_000_000_000 || g.Time(g.N-1).Before(from.Add(10*time.Second)) {
		t.Errorf("grid %+v does not cover the span from a round second on", g)
	}
	if g = timeline.NewGrid(from, from.Add(-time.Second), time.Second); g.N != 0 {
		t.Errorf("a span that ends before it begins has %d cells", g.N)
	}
	if g = timeline.NewGrid(from, from.AddDate(200, 0, 0), time.Second); g.N > timeline.MaxCells+1 {
		t.Errorf("%d cells, over the bound", g.N)
	}
	if g = timeline.NewGrid(time.UnixMilli(-1500), time.UnixMilli(500), time.Second); g.FromMs != -2000 {
		t.Errorf("before the epoch the grid begins at %d ms, want -2000", g.FromMs)
	}
}
