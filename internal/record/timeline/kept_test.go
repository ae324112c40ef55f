package timeline_test

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/record/timeline"
)

// A source that changes its period keeps its first and last new interval. An interval that is long on
// one side only remains a gap.
func TestPeriodChanges(t *testing.T) {
	at := func(steps ...int64) (pts []promql.FPoint) {
		ms, f := int64(0), 0.0
		for _, s := range steps {
			ms, f = ms+s*1000, f+float64(s)*10
			pts = append(pts, promql.FPoint{T: ms, F: f})
		}
		return pts
	}

	seconds := func(n int) (out []int64) {
		for range n {
			out = append(out, 1)
		}
		return out
	}

	for _, c := range []struct {
		name  string
		steps []int64
		known int // seconds of which the rate is known
	}{
		{"from a second to a minute and back", append(append(seconds(100), 60, 60, 60, 60), seconds(100)...), 199 + 240},
		{"one gap of a minute", append(append(seconds(100), 60), seconds(100)...), 199},
		{"a sample between two gaps", append(append(seconds(100), 60, 60), seconds(100)...), 199},
	} {
		pts := at(c.steps...)
		last := pts[len(pts)-1].T
		g := timeline.NewGrid(time.UnixMilli(1000), time.UnixMilli(last), time.Second)

		known := timeline.Count(g.Rate(pts))
		if known < c.known-1 || known > c.known+1 {
			t.Errorf("%s: the rate of %d seconds is known, want %d", c.name, known, c.known)
		}

		thinned := timeline.NewThinned(g, true)
		thinned.Add(pts)
		if got := timeline.Count(thinned.Values()); got != known {
			t.Errorf("%s: thinned, the rate of %d seconds is known, want %d", c.name, got, known)
		}
	}
}

// classes are the buckets of a histogram at one time.
type classes map[string]float64

func (c classes) Each(_ *parser.VectorSelector, _ bool, visit func(timeline.Track) error) error {
	for _, le := range []string{"0.01", "0.02", "0.04", "0.08", "+Inf"} {
		if x, ok := c[le]; ok {
			if err := visit(timeline.Track{Labels: labels.FromStrings("le", le), Values: []float64{x}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// A bucket without a value is ignored: it neither hides those below it nor makes its bound the
// quantile.
func TestQuantileWithAnUnknownBucket(t *testing.T) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr("histogram_quantile(0.5, x)")
	if err != nil {
		t.Fatal(err)
	}

	g := timeline.Grid{StepMs: 1000, N: 1}
	quantile := func(c classes) float64 {
		tracks, err := timeline.Eval(g, e, c)
		if err != nil || len(tracks) != 1 {
			t.Fatal(tracks, err)
		}
		return tracks[0].Values[0]
	}

	for missing := range map[string]bool{"0.01": true, "0.02": true, "0.04": true} {
		all := classes{"0.01": 0, "0.02": 90, "0.04": 100, "0.08": 100, "+Inf": 100}
		without := classes{}
		for le, x := range all {
			if le != missing {
				without[le] = x
			}
		}
		all[missing] = math.NaN()
		if got, want := quantile(all), quantile(without); got != want {
			t.Errorf("without the bucket of %s: %g, want %g", missing, got, want)
		}
	}
}
