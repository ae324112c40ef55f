package rules

import (
	"plimsoll/internal/record/timeline"
)

// MinAttributable is the share of the stalled time above which a condition is called a cause.
const MinAttributable = 0.10

const (
	// coincidenceMost is the highest probability of a coincidence at which a condition is still
	// called a cause, and coincidenceSure that at which it may be critical. A recording contains
	// several incidents, and each is another chance to be wrong.
	coincidenceMost = 0.02
	coincidenceSure = 0.005
)

// Condition judges a rule by the cells in which its condition holds: how much of the stalled time
// is due to them. A condition that coincides with stalls no more than by chance is not a cause.
func (r Rule) Condition(c *Case, subject string, cells timeline.Mask) (Finding, bool) {
	fraction, pIn, pOut := c.Attributable(cells)
	if fraction < MinAttributable {
		return Finding{}, false
	}

	f := r.Finding(subject)
	f.Weight = fraction
	f.Severity = c.SeverityOf(fraction)
	f.Windows = c.Windows(cells.And(c.Stall.Cells.Widen(1, 1)))
	f.Evidence = []Evidence{c.Figure("share of time stalled while it held", nil, pIn, "ratio", cells)}

	// With no other time to compare with, the condition may simply be the normal state.
	if !c.Comparable(cells) {
		f.Severity = LessThanCritical(f.Severity)
		how := "nearly all"
		if c.Stall.Active.Without(cells).Count() == 0 {
			how = "all"
		}
		f.Evidence = append(f.Evidence,
			c.Remark("it held "+how+" the time, so there is no other time to compare with"))
		return f, true
	}

	chance := c.Coincidence(cells)
	if chance > coincidenceMost || c.fewIntervals() {
		return Finding{}, false
	}

	if chance > coincidenceSure {
		f.Severity = LessThanCritical(f.Severity)
	}

	f.Evidence = append(f.Evidence,
		c.Figure("share of time stalled while it did not", nil, pOut, "ratio",
			c.Stall.Active.Without(cells)),
		c.Figure("probability that it coincides this much with stalls by chance", nil, chance, "ratio",
			c.Stall.Active))

	return f, true
}

// LessThanCritical lowers critical to warning and leaves other severities alone.
func LessThanCritical(s Severity) Severity {
	if s == Critical {
		return Warning
	}
	return s
}
