package headroom

import (
	"fmt"
	"math"

	"plimsoll/internal/base/units"
)

// daysFromS is the time, in seconds, above which days are used instead of hours.
const daysFromS = 48 * 3600.0

// Ahead formats a time in the future, in days if it is far ahead.
func Ahead(s float64) string {
	switch {
	case math.IsInf(s, 0) || math.IsNaN(s):
		return "?"
	case s >= daysFromS:
		return units.Number(s/86400) + " days"
	case s >= 3600:
		return fmt.Sprintf("%dh%02dm", int(s)/3600, int(s)/60%60)
	}
	return units.Seconds(math.Round(s))
}

// In formats the time to the limit, with its interval if it is not exact.
func (e *Ends) In() string {
	if e.Exact {
		return Ahead(e.InS)
	}
	return fmt.Sprintf("%s (%s to %s)", Ahead(e.InS), Ahead(e.LowS), Ahead(e.HighS))
}

// Sentence says what will be used up, when, and what happens then. at, if not "", is the moment in
// words.
func (h *Headroom) Sentence(at string) string {
	e := h.Ends
	text := fmt.Sprintf("Headroom of %s: %s used up", h.Subject, h.Title)
	if e.InS > 0 {
		text += fmt.Sprintf(" in %s at the present rate", e.In())
		if at != "" {
			text += ", " + at
		}
	}

	if e.Assumes != "" {
		text += ", if " + e.Assumes
	}

	text += "."
	if e.Then != "" {
		text += " Then " + e.Then + "."
	}

	return text
}
