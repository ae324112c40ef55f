package frame

import (
	"cmp"
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/diagnose"
)

// underWay returns the incident in progress at a time; nil if there is none. If there are several,
// it is the one that stalled last, because that is what users feel now.
func underWay(r *diagnose.Report, at time.Time) (best *diagnose.Incident) {
	for i := range r.Incidents {
		if x := &r.Incidents[i]; isNow(x, at) && (best == nil || lastStall(x, at).After(lastStall(best, at))) {
			best = x
		}
	}
	return best
}

// lastStall is when an incident last stalled up to a time, according to its windows.
func lastStall(x *diagnose.Incident, at time.Time) time.Time {
	// An incident ends with its last stall.
	if !x.To.After(at) {
		return x.To
	}

	// Otherwise the last window that began by then counts, up to the time itself: the end of a
	// window that lasts longer is in the future.
	last := x.From
	for _, w := range x.Stalls.Windows {
		if !w.From.After(at) && w.To.After(last) {
			last = w.To
			if last.After(at) {
				last = at
			}
		}
	}

	return last
}

// isNow reports whether an incident is in progress at a time. It is also in progress between its
// stalls.
func isNow(x *diagnose.Incident, at time.Time) bool {
	return !at.Before(x.From) && (x.Ongoing || !at.After(x.To))
}

// now describes the current state, and what to do about it first.
func now(moment *Moment, report *diagnose.Report, x *diagnose.Incident) Now {
	stalled := slices.IndexFunc(moment.Clients, func(c Client) bool { return c.Stalled })
	switch {
	// Slower is not stalled: clients still make progress.
	case x != nil && x.Kind == diagnose.Worse:
		why, fix := why(x.Findings)
		return Now{Warning, "slower than usual: " + x.Subject + ": " + why, fix}
	case x != nil:
		why, fix := why(x.Findings)
		return Now{Critical, x.Subject + ": " + why + traced(x.Measured), fix}
	// Clients are stalled, but the last diagnosis has no incident at this moment.
	case stalled >= 0:
		c := moment.Clients[stalled]
		text := c.Name
		if !math.IsNaN(c.Worst) && !math.IsNaN(c.Usual) {
			text += " rose from " + units.Seconds(c.Usual) + " to " + units.Seconds(c.Worst)
		}
		return Now{Critical, text + "; looking for the cause", ""}
	// Without a latency or a device there is nothing in which a stall could be seen, so "no
	// stall" would be a false all-clear.
	case len(moment.Clients) == 0 && len(moment.Devices) == 0:
		return Now{Unknown, "these sources report nothing that could stall", ""}
	}

	// A warning counts only if it still holds and the screen shows the present: nothing is
	// known about how long it held at an earlier moment.
	for _, f := range report.Findings {
		if f.Kind == diagnose.Cause && f.Severity == diagnose.Warning && f.Ongoing &&
			!moment.At.Before(moment.To) {
			_, fix := why([]diagnose.Finding{f})
			return Now{Warning, "no stall, but: " + f.Title + " (" + f.Subject + ")", fix}
		}
	}

	n := Now{Good, "no stall", ""}
	// Devices alone do not show whether clients waited.
	if len(moment.Clients) == 0 {
		n.Text = "no device stall; no source reports how long clients wait"
	}

	if len(moment.Incidents) > 0 {
		n.Text += " since " + units.Seconds(moment.At.Sub(moment.Incidents[0].To).Seconds())
	}

	return n
}

// why returns the first cause of an incident and its first fix.
func why(findings []diagnose.Finding) (cause, fix string) {
	for _, f := range findings {
		// Findings are ranked, most important first. One that is only information explains no stall.
		if f.Kind == diagnose.Cause && f.Severity != diagnose.Info {
			if len(f.Fixes) > 0 {
				fix = f.Fixes[0].Summary
			}
			return f.Title + " (" + f.Subject + ")", fix
		}
	}
	return "no cause found", ""
}

// traced describes the largest wait that a trace measured in the stalled time.
func traced(m *diagnose.Measured) string {
	if m == nil {
		return ""
	}
	return "; traced: " + units.Percent(m.Waits[0].Share) + " " + m.Waits[0].Text
}

// spent returns where the stalled time went: of the current incident, or of the worst one if none
// is in progress.
func spent(r *diagnose.Report, x *diagnose.Incident) Spent {
	if x == nil && r.Incident > 0 {
		x = &r.Incidents[r.Incident-1]
	}
	if x == nil {
		return Spent{}
	}
	out := Spent{Incident: x.ID}
	for _, s := range x.Account {
		if s.Of > 0 {
			out.Rows = append(out.Rows, Share{s.Share, s.Seconds / s.Of, s.Overlaps})
		}
	}
	slices.SortStableFunc(out.Rows, func(a, b Share) int { return cmp.Compare(b.Part, a.Part) })
	return out
}

// incidentsAt returns the incidents that had started by a time, newest first.
func incidentsAt(r *diagnose.Report, at time.Time) (out []Incident) {
	for i := range r.Incidents {
		x := &r.Incidents[i]
		if x.From.After(at) {
			continue
		}

		why, _ := why(x.Findings)
		in := Incident{ID: x.ID, From: x.From, To: x.To, Now: isNow(x, at), Who: x.Subject, Why: why,
			StalledS: x.Stalls.Seconds, WorstS: math.NaN()}
		for _, h := range x.Hurt {
			// The negated comparison also holds while WorstS is NaN.
			if h.WorstS != nil && !(in.WorstS >= *h.WorstS) {
				in.WorstS = *h.WorstS
			}
		}

		out = append(out, in)
	}

	slices.SortStableFunc(out, func(a,
		b Incident) int {
		return cmp.Compare(b.To.UnixMilli(), a.To.UnixMilli())
	})

	return out
}
