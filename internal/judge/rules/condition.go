package rules

import "plimsoll/internal/record/timeline"

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
// is due to them. A condition that coincides with stalls no more than by chance is not a cause: ok is false.
func (r Rule) Condition(input *Case, subject string, cells timeline.Mask) (Finding, bool) {
	fraction, pIn, pOut := input.Attributable(cells)
	if fraction < MinAttributable {
		return Finding{}, false
	}

	finding := r.During(input, subject, fraction, cells.And(input.Stall.Cells.Widen(1, 1)))
	finding.Evidence = []Evidence{input.Figure("share of time stalled while it held", nil, pIn, "ratio", cells)}

	// With no other time to compare with, the condition may simply be the normal state.
	if !input.Comparable(cells) {
		finding.Severity = LessThanCritical(finding.Severity)
		how := "nearly all"
		if input.Stall.Active.Without(cells).Count() == 0 {
			how = "all"
		}
		finding.Evidence = append(finding.Evidence,
			input.Remark("it held "+how+" the time, so there is no other time to compare with"))
		return finding, true
	}

	chance := input.Coincidence(cells)
	finding.Evidence = append(finding.Evidence,
		input.Figure("share of time stalled while it did not", nil, pOut, "ratio",
			input.Stall.Active.Without(cells)),
		input.Figure("probability that it coincides this much with stalls by chance", nil, chance, "ratio",
			input.Stall.Active))

	if chance > coincidenceSure {
		finding.Severity = LessThanCritical(finding.Severity)
	}

	return finding, chance <= coincidenceMost && !input.fewIntervals()
}

// Binds judges a limit that by itself holds a container back in the given cells. If most of the stalled time
// is among them, the limit explains it even in fewer than 50 cells under load, but is never critical: so few
// cannot exclude chance, as a single other moment that fits as well exceeds coincidenceMost.
func (r Rule) Binds(input *Case, subject string, cells timeline.Mask) (Finding, bool) {
	finding, ok := r.Condition(input, subject, cells)
	short := coincidenceMost*float64(input.Stall.Active.Count()) < 1
	return finding, ok || short && finding.Weight >= bindsShare && !input.fewIntervals()
}

// Coincides is the finding that stalls coincide with a condition that holds in some cells: they are a larger
// share of its time than of the rest. during and otherwise name these shares, of a signal. The values are
// share, of the stalled time, in and out. It returns false if they do not coincide, or if there is not
// enough other time to compare with.
func (r Rule) Coincides(c *Case, subject string, cells timeline.Mask, of *Signal,
	during, otherwise string) (f Finding, v Values, ok bool) {
	fraction, in, out := c.Attributable(cells)
	if fraction < MinAttributable || in < StallRatio*out || !c.Contrasts(cells) {
		return Finding{}, nil, false
	}

	f = r.During(c, subject, fraction, cells.And(c.Stall.Cells))
	f.Evidence = []Evidence{c.Figure(during, of, in, "ratio", cells),
		c.Figure(otherwise, of, out, "ratio", cells.Not())}
	return f, Values{"share": Part(Share(cells, c.Stall.Cells)), "in": Part(in), "out": Part(out)}, true
}

// During is a cause that holds in these cells and in a share of the stalled time.
func (r Rule) During(input *Case, subject string, share float64, cells timeline.Mask) Finding {
	finding := r.Finding(subject)
	finding.Weight, finding.Severity, finding.Windows = share, input.SeverityOf(share), input.Windows(cells)
	return finding
}

// LessThanCritical lowers critical to warning and leaves other severities alone.
func LessThanCritical(s Severity) Severity {
	if s == Critical {
		return Warning
	}
	return s
}

// Held marks the cells in which a rule's condition held, on any track.
func Held(tracks []timeline.Track) (cells timeline.Mask) {
	for _, t := range tracks {
		cells = cells.Or(timeline.Known(t.Values))
	}
	return cells
}
