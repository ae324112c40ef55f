package diagnosis

import (
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// now returns the fact that says whether an incident is in progress, for sources that are being
// watched.
func (d *diagnosed) now() []document.Fact {
	if !d.Live || d.Stalls.Of <= 0 {
		return nil
	}

	var last, current *diagnose.Incident
	for i, x := range d.Incidents {
		if x.Ongoing && (current == nil || x.To.After(current.To)) {
			current = &d.Incidents[i] // if several are ongoing, the one that stalled last
		}
		if x.Kind == diagnose.Stalled && (last == nil || x.To.After(last.To)) {
			last = &d.Incidents[i]
		}
	}

	if current != nil {
		return []document.Fact{{Label: "Now", Value: "ongoing", Note: current.Subject + ": " + whyOf(*current),
			Level: document.Critical, Href: "#timeline"}}
	}

	f := document.Fact{Label: "Now", Value: "no stall", Note: "none in this window", Level: document.Good}
	if last != nil {
		f.Note = "since " + d.clock.At(last.To) + "; the findings below are from before"
	}

	return []document.Fact{f}
}

// nowOrEarlier distinguishes an ongoing incident from one that is over.
func nowOrEarlier(x diagnose.Incident) string {
	if x.Ongoing {
		return "now"
	}
	return "earlier"
}
