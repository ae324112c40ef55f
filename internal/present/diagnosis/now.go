package diagnosis

import (
	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/present/document"
)

// now is the fact that says whether something is under way, of sources that are being watched.
func (d *diagnosed) now() []document.Fact {
	if !d.live || d.Stalls.Of <= 0 {
		return nil
	}

	var last, current *diagnose.Incident
	for i, x := range d.Incidents {
		if x.Ongoing && (current == nil || x.To.After(current.To)) {
			current = &d.Incidents[i] // of several, the one that stalled last
		}
		if x.Kind == diagnose.Stalled && (last == nil || x.To.After(last.To)) {
			last = &d.Incidents[i]
		}
	}

	if current != nil {
		return []document.Fact{{Label: "Now", Value: "under way", Note: current.Subject + ": " + whyOf(*current),
			Level: document.Critical, Href: "#timeline"}}
	}

	f := document.Fact{Label: "Now", Value: "no stall", Note: "none in this window", Level: document.Good}
	if last != nil {
		f.Note = "since " + d.clock.At(last.To) + "; what follows was earlier"
	}

	return []document.Fact{f}
}

// nowOrEarlier tells an incident that is under way from one that is over.
func nowOrEarlier(x diagnose.Incident) string {
	if x.Ongoing {
		return "now"
	}
	return "earlier"
}
