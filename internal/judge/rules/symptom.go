package rules

import (
	"fmt"

	"plimsoll/internal/record/timeline"
)

// SymptomRule makes a symptom rule: it reports the stalled time that the detector of
// its name found. when is the same condition for an engine that cannot look at a
// median over the whole recording.
func SymptomRule(id, title, when, cause string) Rule {
	r := Rule{ID: id, Title: title, Kind: Symptom, When: when, Cause: cause}
	r.Judge = func(c *Case, _ []timeline.Track) []Finding {
		var out []Finding
		for _, s := range c.Symptoms {
			if s.Rule == id && s.Any() {
				out = append(out, r.symptomFinding(c, s))
			}
		}
		return out
	}
	return r
}

func (r Rule) symptomFinding(c *Case, s Stall) Finding {
	f := r.Finding(s.Subject)
	eps := s.Cells.Episodes()
	stalled, seen := c.Seconds(s.Cells), c.Seconds(s.Observed)
	longest := 0.0
	for _, e := range eps {
		longest = max(longest, float64(e.Cells())*c.Grid.StepSeconds())
	}
	f.Summary = fmt.Sprintf("%s of %s stalled (%s), in %s of at most %s.",
		dur(stalled), dur(seen), pct(stalled/seen), count(len(eps), "episode"), dur(longest))
	f.Severity = Warning
	switch {
	case c.serious(s.Cells, s.Observed):
		f.Severity = Critical
	case Trifle(stalled, seen):
		f.Severity = Info
	}
	if !s.IsDatabase && c.Stall.IsDatabase {
		// What clients felt is known: a device's slowness matters as far as they felt it.
		if felt := Share(c.Stall.Cells, s.Cells); felt < MinAttributable {
			f.Severity = Info
			f.Summary += fmt.Sprintf(" %s hardly stalled meanwhile: clients did not feel it.", c.Stall.Subject)
		}
	}
	f.Weight = stalled / seen
	f.Windows = c.Windows(s.Cells)
	if f.PeriodS = c.Period(s.Cells); f.PeriodS > 0 {
		f.Summary += fmt.Sprintf(" They recur every %s.", dur(f.PeriodS))
	}
	// Where nothing ended in the stalled cells there is no latency to tell.
	if lat := timeline.At(s.Latency, s.Cells); timeline.Count(lat) > 0 {
		calm := timeline.Quantile(timeline.At(s.Latency, s.Observed.Without(s.Cells)), 0.5)
		f.Summary += fmt.Sprintf(" Mean latency in a stalled interval: median %s, worst %s", dur(timeline.Quantile(lat, 0.5)), dur(timeline.Max(lat)))
		if calm == calm {
			f.Summary += fmt.Sprintf("; otherwise %s", dur(calm))
		}
		f.Summary += "."
		f.Evidence = append(f.Evidence,
			c.Figure("worst mean latency in one interval", nil, timeline.Max(lat), "seconds", s.Cells),
			c.Figure("median of the intervals' mean latency over the whole recording", nil, timeline.Quantile(s.Latency, 0.5), "seconds", s.Observed),
			c.Figure("95th percentile of the intervals' mean latency", nil, timeline.Quantile(s.Latency, 0.95), "seconds", s.Observed),
			c.Figure("latency from which an interval counts as stalled", nil, s.Threshold, "seconds", s.Observed))
	}
	if s.Ops != nil {
		f.Evidence = append(f.Evidence,
			c.Figure("usual completions", nil, timeline.Quantile(s.Ops, 0.5), "1/s", s.Observed),
			c.Figure("completions in the stalled intervals, median", nil, timeline.Quantile(timeline.At(s.Ops, s.Cells), 0.5), "1/s", s.Cells))
	}
	return f
}
