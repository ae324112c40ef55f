package plan

import (
	"reflect"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// TestBoostIsTheSameWhenever: what the run with the most IOPS comes to does not depend on whether it
// began before it was known what the present deployment does, or after.
func TestBoostIsTheSameWhenever(t *testing.T) {
	for name, c := range map[string]struct {
		most units.Duration
		sets string // that make the IOPS matter, or not
	}{
		"met":               {1e9, "volumes.data.iops=3000"},
		"missed by both":    {1e5, "volumes.data.iops=3000"},
		"repeated":          {1e5, "volumes.data.iops=15000"},
		"missed as it is":   {3e6, "volumes.data.iops=3000"},
		"met, and repeated": {1e9, "volumes.data.iops=15000"},
	} {
		t.Run(name, func(t *testing.T) {
			opt := Options{Objectives: []scenario.Bound{{Name: "write_p99", Most: c.most}}, Workers: 2}
			var outcomes []*outcome
			for _, early := range []bool{true, false} {
				p := &planner{now: parsed(t, small, c.sets), opt: &opt}
				if err := p.prepare(); err != nil {
					t.Fatal(err)
				}
				none := make([]int, len(p.space.axes))
				at := p.space.candidate(none, none, p.space.price(none))
				p.current = &outcome{candidate: &at}
				now := &job{candidate: &at, certain: newDecision()}
				b := p.boosts(t.Context(), now.certain)
				if len(b.all) != 1 {
					t.Fatalf("%d volumes with a choice of IOPS, want 1", len(b.all))
				}
				x := b.all[0]
				if early {
					b.early()
				}
				if err := p.sim.work(t.Context(), now); err != nil {
					t.Fatal(err)
				}
				if err := b.work(x); err != nil {
					t.Fatal(err)
				}
				b.idle.Wait()
				outcomes = append(outcomes, x.outcome)
			}
			a, b := outcomes[0], outcomes[1]
			if a.met != b.met || a.reason != b.reason || !reflect.DeepEqual(a.result, b.result) || !reflect.DeepEqual(a.missed, b.missed) || !reflect.DeepEqual(a.more, b.more) {
				t.Errorf("begun early: %+v %+v\nafter: %+v %+v", a, a.missed, b, b.missed)
			}
		})
	}
}
