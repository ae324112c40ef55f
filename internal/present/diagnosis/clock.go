package diagnosis

import (
	"time"

	"plimsoll/internal/judge/diagnose"
)

// A Clock prints times within a span, with the date only if the span has several dates.
type Clock struct {
	loc     *time.Location
	oneDay  bool
	oneYear bool
}

// NewClock returns the clock of a span in a time zone; nil is UTC.
func NewClock(s diagnose.Span, loc *time.Location) Clock {
	if loc == nil {
		loc = time.UTC
	}
	from, to := s.From.In(loc), s.To.In(loc)
	return Clock{loc: loc, oneDay: sameDay(from, to), oneYear: from.Year() == to.Year()}
}

func sameDay(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}

// At prints one time: "15:58:06", or "07-31 15:58:06" if the span has several dates.
func (c Clock) At(t time.Time) string {
	t = t.In(c.loc)
	switch {
	case c.oneDay:
		return t.Format("15:04:05")
	case c.oneYear:
		return t.Format("01-02 15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// Window prints a time window: "15:58:06-15:58:14"; "" if unknown.
func (c Clock) Window(from, to time.Time) string {
	switch {
	case from.IsZero() && to.IsZero():
		return ""
	case from.IsZero():
		return "until " + c.At(to)
	case to.IsZero():
		return "from " + c.At(from)
	}

	// A window shorter than a second is printed as one time.
	a, b := c.At(from), c.At(to)
	switch {
	case a == b:
		return a
	case c.oneDay:
		return a + "-" + b
	case sameDay(from.In(c.loc), to.In(c.loc)):
		return a + "-" + to.In(c.loc).Format("15:04:05")
	}

	return a + " - " + b
}

// Whole prints the span itself with date and zone, once for the entire report.
func (c Clock) Whole(s diagnose.Span) string {
	from, to := s.From.In(c.loc), s.To.In(c.loc)
	layout := "2006-01-02 15:04:05 MST"
	if c.oneDay {
		layout = "15:04:05 MST"
	}
	return from.Format("2006-01-02 15:04:05") + " to " + to.Format(layout)
}
