package plan

import (
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
)

// enough ends a run once its figures are known, and on which side of each objective it is. Whether a
// layout that misses an objective is rejected does not rest on it: that is certain, or its run was
// whole.
func (s *simulator) enough() *simulate.Enough {
	if s.whole {
		return nil
	}
	return &simulate.Enough{Bounds: s.want}
}

// measured is the time that a result's figures are of.
func measured(r *simulate.Result) float64 {
	if r == nil {
		return 0
	}
	return r.Seconds
}

// settled says which runs ended before the scenario's time was over, because more of it would not
// have changed what is said of them.
func (p *planner) settled() []Statement {
	for _, x := range []struct {
		text string
		of   *outcome
	}{{"the chosen layout", p.found.chosen}, {"the current layout", p.current}} {
		if x.of == nil || x.of.result == nil || x.of.result.Seconds >= x.of.result.FullSeconds {
			continue
		}
		r := x.of.result
		return []Statement{{"settled", fmt.Sprintf("the run of %s ended after %s of %s: %s was known within %s then, over whole cycles, and nothing was growing. In the whole time, which simulate runs, its maximum may be higher",
			x.text, units.Seconds(r.Seconds), units.Seconds(r.FullSeconds), p.want[0].Name, units.Percent(simulate.EnoughWithin)),
			[]Evidence{{"measured", r.Seconds, "seconds"}, {"asked for", r.FullSeconds, "seconds"}}}}
	}
	return nil
}
