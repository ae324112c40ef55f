package judge

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// A cache that is 12 % dirty exceeds a configured trigger of 10 % but not the default of 20 %, nor
// a configured 30 %.
func TestCachePressureByConfiguredTriggers(t *testing.T) {
	for config, want := range map[string]string{
		"":                          "not over any trigger",
		"eviction_dirty_trigger=10": "12 % dirty (over the trigger, 10 %)",
		"eviction_dirty_trigger=30": "not over any trigger",
		"eviction_dirty_trigger=15": "8.0 % held by updates (over the trigger, 7.5 %)",
	} {
		const cells = 60
		series := func(calm, stalled float64) []timeline.Track {
			v := make([]float64, cells)
			for k := range v {
				if v[k] = calm; k >= 50 {
					v[k] = stalled
				}
			}
			return []timeline.Track{{Values: v}}
		}

		tracks := map[*rules.Signal][]timeline.Track{
			CacheFill: series(0.5, 0.5), DirtyRatio: series(0.04, 0.12), CacheUpdatesRatio: series(0.02, 0.08), CacheWait: series(0, 40),
		}
		grid := timeline.NewGrid(time.Unix(0, 0), time.Unix(cells, 0), time.Second)
		c := rules.NewCase(nil, grid, func(s *rules.Signal) []timeline.Track { return tracks[s] })
		c.Facts[runtimeConfig] = config
		waiting := series(1, 50)[0].Values
		c.Stall = rules.Stall{Rule: "mongodb/slow-writes", Class: rules.Writing, IsDatabase: true, Waiting: waiting, Ops: series(500, 100)[0].Values,
			Cells: timeline.Where(waiting, func(x float64) bool { return x > 1 }), Observed: timeline.Known(waiting), Active: timeline.Known(waiting)}

		r := cachePressure()
		found := r.Judge(c, nil)
		if len(found) != 1 {
			t.Fatalf("%q: %d findings", config, len(found))
		}

		if err := r.Write(&found[0]); err != nil {
			t.Fatal(err)
		}

		if !strings.Contains(found[0].Summary, want) {
			t.Errorf("%q: no %q in %q", config, want, found[0].Summary)
		}
	}
}
