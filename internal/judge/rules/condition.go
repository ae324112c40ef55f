package rules

import (
	"plimsoll/internal/record/timeline"
)

// MinAttributable is the share of the stalled time above which a condition is called a cause.
const MinAttributable = 0.10

// condition judges a rule by the cells in which its condition holds: how much of the stalled time
// is due to them.
func (r Rule) condition(c *Case, subject string, cells timeline.Mask) (Finding, bool) {
	fraction, pIn, pOut := c.Attributable(cells)
	if fraction < MinAttributable {
		return Finding{}, false
	}
	f := r.Finding(subject)
	f.Weight = fraction
	f.Severity = c.SeverityOf(fraction)
	f.Windows = c.Windows(cells.And(c.Stall.Cells.Widen(1, 1)))
	f.Evidence = []Evidence{c.Figure("share of the time that stalled while it held", nil, pIn, "ratio", cells)}
	if without := c.Stall.Active.Without(cells); without.Count() > 0 {
		f.Evidence = append(f.Evidence, c.Figure("share of the time that stalled while it did not", nil, pOut, "ratio", without))
	} else {
		f.Evidence = append(f.Evidence, c.Remark("it held all the time: there is no other time to compare with"))
	}
	return f, true
}
