package timeline_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/record/timeline"
)

// oneByOne provides many series, each only while it is visited.
type oneByOne struct {
	series int
	values func(i int) []float64
}

func (o oneByOne) Each(_ *parser.VectorSelector, _ bool, visit func(timeline.Track) error) error {
	for i := range o.series {
		t := timeline.Track{Labels: labels.FromStrings("__name__", "x", "cpu", fmt.Sprint(i), "mode", []string{"idle", "user"}[i%2]), Values: o.values(i)}
		if err := visit(t); err != nil {
			return err
		}
	}
	return nil
}

func evalText(t *testing.T, g timeline.Grid, text string, l timeline.Leaves) ([]timeline.Track, error) {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	return timeline.Eval(g, e, l)
}

// TestAggregationHoldsOneSeries: 2,000 series times 100,000 cells would take 1.6 GB. They are summed
// one by one, in a single reused array.
func TestAggregationHoldsOneSeries(t *testing.T) {
	g := timeline.Grid{StepMs: 1000, N: 100_000}
	shared := make([]float64, g.N)
	l := oneByOne{2000, func(i int) []float64 {
		shared[0] = float64(i)
		return shared
	}}

	for text, want := range map[string]map[string]float64{
		`sum(irate(x[2s]))`:                  {"{}": 1999 * 2000 / 2},
		`sum by (mode) ((x))`:                {`{mode="idle"}`: 999 * 1000, `{mode="user"}`: 1000 * 1000},
		`count(max_over_time(x[2s]))`:        {"{}": 2000},
		`max without (cpu) (rate(x[1s]))`:    {`{mode="idle"}`: 1998, `{mode="user"}`: 1999},
		`sum(increase(x[1s])) / sum(x) * 10`: {"{}": 10},
	} {
		tracks, err := evalText(t, g, text, l)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}

		if len(tracks) != len(want) {
			t.Errorf("%s: %d tracks, want %d", text, len(tracks), len(want))
		}

		for _, tr := range tracks {
			if got := tr.Values[0]; math.Abs(got-want[tr.Labels.String()]) > 1e-9 {
				t.Errorf("%s: %s is %g, want %g", text, tr.Labels, got, want[tr.Labels.String()])
			}
		}
	}
}

// TestTooLarge: series that are not aggregated and would not fit in memory are refused.
func TestTooLarge(t *testing.T) {
	g := timeline.Grid{StepMs: 1000, N: 1_000_000}
	shared := make([]float64, g.N)
	l := oneByOne{150, func(int) []float64 { return shared }}
	if _, err := evalText(t, g, `x / on (cpu) x`, l); !errors.Is(err, timeline.ErrTooLarge) {
		t.Errorf("300 series of a million cells: %v, want %v", err, timeline.ErrTooLarge)
	}
	if _, err := evalText(t, g, `sum(x)`, l); err != nil {
		t.Errorf("their sum: %v", err)
	}
}
