package report

import (
	"time"

	"plimsoll/diagnose"
)

// A clock prints times within a span, with the date only where the span has several.
type clock struct {
	loc     *time.Location
	oneDay  bool
	oneYear bool
}

func newClock(s diagnose.Span, loc *time.Location) clock {
	from, to := s.From.In(loc), s.To.In(loc)
	return clock{loc: loc, oneDay: sameDay(from, to), oneYear: from.Year() == to.Year()}
}

func sameDay(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}

// at prints one time: "15:58:06", or "07-31 15:58:06" where the span has several days.
func (c clock) at(t time.Time) string {
	t = t.In(c.loc)
	switch {
	case c.oneDay:
		return t.Format("15:04:05")
	case c.oneYear:
		return t.Format("01-02 15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// window prints a stretch: "15:58:06-15:58:14"; "" if it is not known.
func (c clock) window(from, to time.Time) string {
	switch {
	case from.IsZero() && to.IsZero():
		return ""
	case from.IsZero():
		return "until " + c.at(to)
	case to.IsZero():
		return "from " + c.at(from)
	}
	a, b := c.at(from), c.at(to)
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

// whole prints the span itself with date and zone, once for the whole report.
func (c clock) whole(s diagnose.Span) string {
	from, to := s.From.In(c.loc), s.To.In(c.loc)
	layout := "2006-01-02 15:04:05 MST"
	if c.oneDay {
		layout = "15:04:05 MST"
	}
	return from.Format("2006-01-02 15:04:05") + " to " + to.Format(layout)
}
