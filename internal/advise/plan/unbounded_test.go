package plan

import (
	"encoding/json"
	"fmt"
	"testing"

	"plimsoll/internal/model/scenario"
)

// A plan with runs that were skipped or ended early has the same layouts with the same figures as
// one that runs everything to the end.
func TestBoundsChangeNoAnswer(t *testing.T) {
	if underRace {
		t.Skip("hundreds of runs; made without the race detector")
	}
	for _, c := range []struct{ name, objective string }{
		{"met now", "write_p99 < 5s"}, {"tuned", "write_p99 < 100ms"}, {"bought", "write_p99 < 3ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := ParseObjective(c.objective)
			if err != nil {
				t.Fatal(err)
			}

			var answers [2]string
			for i, unbounded := range []bool{true, false} {
				opt := Options{
					Engines:    every.Engines,
					Objectives: []scenario.Bound{want}, Keep: []string{"host.instance", "host.filesystem"}, unbounded: unbounded,
				}
				p, err := Make(t.Context(), parsed(t, small), "small.yaml", opt)
				if err != nil {
					t.Fatal(err)
				}
				answers[i] = answer(t, p)
			}

			if answers[0] != answers[1] {
				t.Errorf("with every run to its end:\n%s\nwith the bounds:\n%s", answers[0], answers[1])
			}
		})
	}
}

// answer returns a plan's results for the layouts that it compares. Cheaper layouts that miss the objective
// are only included if their runs went to the end.
func answer(t *testing.T, p *Plan) string {
	t.Helper()
	if p.Chosen == nil || !p.Searched.Complete {
		t.Fatalf("chose %v of %d layouts: this tests nothing", p.Chosen, p.Searched.Simulated)
	}

	var dearer []*Layout
	for _, l := range p.Frontier {
		if l.MonthlyUSD > p.Chosen.MonthlyUSD {
			dearer = append(dearer, l)
		}
	}

	text := ""
	for _, l := range append([]*Layout{p.Now, p.Chosen}, dearer...) {
		figures, err := json.Marshal(l.Predicted)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%.2f USD %v: %s\n", l.MonthlyUSD, l.Sets, figures)
	}

	return text
}
