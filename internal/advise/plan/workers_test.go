package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// The plan is byte-identical for any number of workers.
func TestWorkersChangeNothing(t *testing.T) {
	now := parsed(t, small)
	for _, c := range []struct {
		name string
		most units.Duration
		size string
	}{
		{"met as it is", 1e9, ""},
		{"met by another layout", 2e6, ""},
		{"never met", 1e5, ""},
		{"grown", 2e6, "data=300GB,oplog=1GB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := ""
			for _, workers := range []int{1, 2, 5} {
				opt := Options{
					Engines:    every.Engines,
					Objectives: []scenario.Bound{{Name: "write_p99", Most: c.most}}, Keep: []string{"host.instance", "host.filesystem"}, Workers: workers, Most: 12,
				}

				if c.size != "" {
					g, err := ParseGrowth(c.size, every.Engines)
					if err != nil {
						t.Fatal(err)
					}
					opt.Size = g
				}

				p, err := Make(t.Context(), now, "small.yaml", opt)
				if err != nil {
					t.Fatal(err)
				}

				b, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}

				if first == "" {
					first = string(b)
				}

				if first != string(b) {
					t.Errorf("%d workers make a different plan:\n%s\n%s", workers, first, b)
				}

				if len(p.Now.Predicted) == 0 || p.Chosen == nil && p.Nearest == nil {
					t.Errorf("the present deployment, or its result, is unknown: %s", b)
				}
			}
		})
	}
}

// The error bar of a prediction is the published table's.
func TestErrorBarIsTheTable(t *testing.T) {
	for objective, kind := range map[string]simulate.Kind{
		"write_p50": simulate.P50, "read_p50": simulate.P50, "write_p99": simulate.P99, "write_p999": simulate.P99, "read_max": simulate.P99, "checkpoint": simulate.Duration,
	} {
		if got := kindOf(objective); got != kind {
			t.Errorf("%s is a %s, want %s", objective, got, kind)
		}
		e, p := simulate.AccuracyOf(kind), predict(2, kind)
		if p.Low != 2/e.Worst || p.High != 2*e.Worst || p.TypicalLow != 2/e.Median || p.TypicalHigh != 2*e.Median {
			t.Errorf("%s: %+v of %+v", objective, p, e)
		}
	}
}

// A layout whose margin is smaller than the model's worst error comes with the advice to try it.
func TestMarginIsOfTheWorst(t *testing.T) {
	p, err := Make(t.Context(), parsed(t, small), "small.yaml", Options{Engines: every.Engines, Objectives: []scenario.Bound{{Name: "write_p50", Most: 5e6}}, Most: 3})
	if err != nil {
		t.Fatal(err)
	}
	f := p.Now.Predicted["write_p50_seconds"]
	margin := false
	for _, s := range p.Statements {
		margin = margin || s.Kind == "margin" && strings.Contains(s.Text, "Try it in the lab")
	}
	if p.Chosen == nil || margin != (f.High > 5e-3) {
		t.Errorf("margin reported: %v, of %+v", margin, f)
	}
}
