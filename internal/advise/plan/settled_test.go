package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// TestWholeRunsChangeNoAnswer: with every run that shows enough ended then, the plans of all examples
// have the same layouts in the same order at the same prices as with whole runs, and percentiles
// within what the interval allows.
func TestWholeRunsChangeNoAnswer(t *testing.T) {
	if underRace {
		t.Skip("long runs; made without the race detector")
	}
	early := 0
	for _, name := range examples {
		t.Run(name, func(t *testing.T) {
			now, err := language.Load("../../../examples/scenarios/"+name+".yaml", nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := ParseObjective("write_p99 < 25ms")
			if err != nil {
				t.Fatal(err)
			}
			var plans [2]*Plan
			for i, whole := range []bool{true, false} {
				if plans[i], err = Make(t.Context(), now, name, Options{Objectives: []scenario.Bound{want}, whole: whole}); err != nil {
					t.Fatal(err)
				}
			}
			if a, b := compared(plans[0]), compared(plans[1]); a != b {
				t.Fatalf("with whole runs:\n%s\nwith runs that show enough:\n%s", a, b)
			}
			was, is := plans[0].Frontier, plans[1].Frontier
			for k := range is {
				if is[k].MeasuredSeconds < was[k].MeasuredSeconds {
					early++
				}
				for _, figure := range []string{"write_p50_seconds", "write_p99_seconds"} {
					x, y := is[k].Predicted[figure].Value, was[k].Predicted[figure].Value
					if math.Abs(x/y-1) > simulate.EnoughWithin {
						t.Errorf("%v: %s %v in %v s, %v in %v s", is[k].Sets, figure, x, is[k].MeasuredSeconds, y, was[k].MeasuredSeconds)
					}
				}
			}
		})
	}
	if early == 0 {
		t.Error("no run ended early: this tests nothing")
	}
}

// compared is what a plan says except for figures.
func compared(p *Plan) string {
	text := fmt.Sprintf("%+v\n", p.Searched)
	for _, l := range append([]*Layout{p.Now, p.Chosen}, p.Frontier...) {
		text += fmt.Sprintf("%.2f USD %v %v\n", l.MonthlyUSD, l.Sets, l.Risks)
	}
	for _, r := range p.Rejected {
		objective, _, _ := strings.Cut(r.Reason, ":") // and then when it was known
		text += fmt.Sprintln(r.Layout.Sets, objective)
	}
	for _, s := range p.Statements {
		if s.Kind != "settled" {
			text += s.Kind + "\n"
		}
	}
	return text
}
