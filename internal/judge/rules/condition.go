package rules

import (
	"plimsoll/internal/record/timeline"
)

// minAttributable is the share of the stalled time from which a condition is called a cause.
const minAttributable = 0.10

// condition judges a rule whose cells hold or not: how much of the stalled time
// is due to them.
func (r Rule) condition(c *Case, subject string, cells timeline.Mask) (Finding, bool) {
	fraction, pIn, pOut := c.Attributable(cells)
	if fraction < minAttributable {
		return Finding{}, false
	}
	f := r.finding(subject)
	f.Weight = fraction
	f.Severity = c.severityOf(fraction)
	f.Windows = c.Windows(cells.And(c.Stall.Cells.Widen(1, 1)))
	f.Evidence = []Evidence{c.figure("share of the time that stalled while it held", "", pIn, "ratio", cells)}
	if without := c.Stall.Active.Without(cells); without.Count() > 0 {
		f.Evidence = append(f.Evidence, c.figure("share of the time that stalled while it did not", "", pOut, "ratio", without))
	} else {
		f.Evidence = append(f.Evidence, c.remark("it held all the time: there is no other time to compare with"))
	}
	return f, true
}
