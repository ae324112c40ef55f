package rules

import (
	"math"

	"plimsoll/timeline"
	"plimsoll/units"
)

// figure is evidence with a number, from the span the cells of m cover.
func (c *Case) figure(text, metric string, value float64, unit string, m timeline.Mask) Evidence {
	e := Evidence{Text: text, Metric: metric, Unit: unit}
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		e.Value = &value
	}
	span := c.Whole()
	if eps := m.Episodes(); len(eps) > 0 {
		span = Span{From: c.Grid.Start(eps[0].First), To: c.Grid.Time(eps[len(eps)-1].Last)}
	}
	e.From, e.To = span.From, span.To
	return e
}

// finding starts a finding of a rule.
func (r Rule) finding(subject string) Finding {
	return Finding{Rule: r.ID, Kind: r.Kind, Title: r.Title, Subject: subject, Cause: r.Cause, Docs: r.Docs()}
}

// severityOf grades a cause by the share of the stalled time it explains and by
// how much time stalled at all.
func (c *Case) severityOf(share float64) Severity {
	stalled, seen := c.Seconds(c.Stall.Cells), c.Seconds(c.Stall.Observed)
	switch {
	case stalled == 0 || share < 0.05:
		return Info
	case share >= 0.3 && (stalled >= 10 || stalled >= 0.05*seen):
		return Critical
	}
	return Warning
}

// How sentences print quantities.
var (
	num  = units.Number
	dur  = units.Seconds
	size = units.Bytes
	pct  = units.Percent
)

// opSeconds prints waiting summed over operations: always in seconds, for it is no
// stretch of time on a clock.
func opSeconds(s float64) string { return num(s) + " s" }
