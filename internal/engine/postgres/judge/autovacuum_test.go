package judge

import (
	"slices"
	"testing"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// Slowing autovacuum down is not advised if that brings the server closer to refusing writes or if
// the limit is already low.
func TestAutovacuumIsNotSlowedDown(t *testing.T) {
	for name, c := range map[string]struct {
		age, limit float64
		slower     bool
	}{
		"young":             {age: 3e8, limit: 2000, slower: true},
		"near wraparound":   {age: 1.5e9, limit: 2000},
		"slow already":      {age: 3e8, limit: 80},
		"the default's 200": {age: 3e8, limit: 200, slower: true},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[*rules.Signal]float64{UnfrozenAge: c.age, FreezeMaxAge: 2e8, AutovacuumCostLimit: c.limit, WraparoundWorkers: 1}
			of := rules.NewCase(nil, timeline.Grid{StepMs: 1000, N: 1}, func(s *rules.Signal) []timeline.Track {
				if x, ok := values[s]; ok {
					return []timeline.Track{{Values: []float64{x}}}
				}
				return nil
			})

			of.Stall.Cells = timeline.Mask{true}

			var f rules.Finding
			adviseVacuum(of, &f)
			slower := slices.ContainsFunc(f.Asked.Advises, func(a rules.Saying) bool { return a.Name == "bound" })
			if slower != c.slower {
				t.Errorf("advises slowing it down: %v, want %v", slower, c.slower)
			}

			if !slices.ContainsFunc(f.Asked.Advises, func(a rules.Saying) bool { return a.Name == "finish" }) {
				t.Error("does not advise letting it finish")
			}
		})
	}
}
