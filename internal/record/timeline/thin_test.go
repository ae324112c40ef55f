package timeline_test

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/timeline"
)

// Dropping samples that a grid does not need changes nothing on it, however it is cut: for a counter
// with a restart and gaps, and for a gauge.
func TestThinned(t *testing.T) {
	var pts []promql.FPoint
	value := 0.0
	for s := range int64(4000) {
		switch {
		case s >= 1000 && s < 1013, s >= 2000 && s < 2041, s >= 2043 && s < 2100:
			continue // late, and two gaps with two samples between them
		case s == 3003:
			value = 5 // restarted
		}
		value += 10 + 5*math.Sin(float64(s)/300)
		pts = append(pts, promql.FPoint{T: s*1000 + 3, F: value})
	}

	g := timeline.Grid{FromMs: 0, StepMs: 10_000, N: 401}
	for _, counter := range []bool{true, false} {
		want := g.Gauge(pts)
		if counter {
			want = g.Rate(pts)
		}

		for _, part := range []int{1, 7, 977, len(pts)} {
			thin := timeline.NewThinned(g, counter)
			for at := 0; at < len(pts); at += part {
				thin.Add(pts[at:min(at+part, len(pts))])
			}
			for k, got := range thin.Values() {
				// One second of a cell may be counted in the next cell instead.
				if math.IsNaN(got) != math.IsNaN(want[k]) || math.Abs(got-want[k]) > 0.05*want[k] {
					t.Fatalf("counter %v in parts of %d: cell %d is %v, not %v", counter, part, k, got, want[k])
				}
			}
		}
	}
}
