package diagnose

import (
	"time"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

// cutShare is the share of the watched time above which a gap is cut out of the time axis. Shorter
// gaps stay visible.
const cutShare = 0.25

// runsOf returns the stretches of cells between long gaps; the whole recording if there is no long
// gap. A gap is time in which no detector had data.
func runsOf(c *rules.Case) []timeline.Episode {
	everything := []timeline.Episode{{First: 0, Last: c.Grid.N - 1}}
	known := make(timeline.Mask, c.Grid.N)
	for _, s := range c.Symptoms {
		known = known.Or(s.Observed)
	}

	// A recording of devices alone has no symptoms, and its data is not a gap.
	for _, t := range c.Signal(rules.DiskBusy) {
		known = known.Or(timeline.Known(t.Values))
	}

	seen := c.Seconds(known)
	if seen == 0 {
		return everything
	}

	var out []timeline.Episode
	for _, e := range known.Episodes() {
		if n := len(out); n > 0 {
			// Relative to the observed time: a gap of one minute is long in a recording of ten.
			if gap := c.Grid.Start(e.First).Sub(c.Grid.Time(out[n-1].Last)); gap.Seconds() < cutShare*seen {
				out[n-1].Last = e.Last
				continue
			}
		}
		out = append(out, e)
	}

	if len(out) < 2 {
		return everything
	}

	return out
}

// spansOf returns runs as times; none if there is only one run.
func spansOf(c *rules.Case, runs []timeline.Episode) (out []Span) {
	if len(runs) < 2 {
		return nil
	}
	for _, e := range runs {
		out = append(out, c.Span(e))
	}
	return out
}

// reduceRuns reduces a series to slots like reduce, with a track for each run.
func reduceRuns(g timeline.Grid, runs []timeline.Episode, name, unit string, vals []float64,
	slots int) []Track {
	if len(runs) == 1 {
		return []Track{reduce(g, name, unit, vals, slotOf(g, slots))}
	}

	cells := 0
	for _, e := range runs {
		cells += e.Cells()
	}

	slots = max(1, slots)
	slot := time.Duration((cells+slots-1)/slots) * g.Step()

	var out []Track
	for _, e := range runs {
		if part := vals[e.First : e.Last+1]; timeline.Count(part) > 0 {
			out = append(out, reduce(g.Slice(e.First, e.Last), name, unit, part, slot))
		}
	}

	return out
}
