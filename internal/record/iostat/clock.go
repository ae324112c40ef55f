package iostat

import (
	"cmp"
	"fmt"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A clock assigns times to reports.
type clock struct {
	order  dateOrder
	guess  string // why the order is a guess, "" if it is certain
	loc    *time.Location
	period time.Duration
	anchor time.Time // time of the first report, if the log has no times
	dated  bool      // anchor comes from the banner's date
	day    time.Time // for sysstat 9, which prints the time without a date
	// assumed means that day is not in the log: a part of a report has no banner.
	assumed bool

	prev time.Time
	back int64 // reports that are not later than the previous one
	from time.Time
}

func newClock(s *survey, opt source.Options, modified time.Time) *clock {
	c := &clock{loc: cmp.Or(opt.Location, time.Local), period: s.period(opt.Period)}

	c.order, c.guess = s.dateOrder(c.loc, modified)
	day, hasDay := s.found.date.midnight(c.order, c.loc)
	if s.found.date.hasDate && hasDay {
		c.day = day
	} else if len(s.dates) == 0 && s.stamped > 0 && modified.Unix() > 0 {
		c.day, c.assumed = dayBefore(modified.In(c.loc), s), true
	}

	if s.stamped == 0 {
		c.anchor = modified.Truncate(time.Second).Add(-time.Duration(s.reports-1) * c.period)
		// The modification time of a copied file may be that of the copy; the banner's date shows
		// that.
		if !c.day.IsZero() && (c.anchor.Before(c.day) || c.anchor.After(c.day.Add(24*time.Hour))) {
			c.anchor, c.dated = c.day, true
		}
	}

	return c
}

// dayBefore returns the last day on which a log with times of day only can have begun: it was written until
// its file was modified.
func dayBefore(modified time.Time, s *survey) time.Time {
	day := time.Date(modified.Year(), modified.Month(), modified.Day(), 0, 0, 0, 0, modified.Location())
	last := day.Add(time.Duration(s.last.secondOfDay()) * time.Second)
	if last.After(modified.Add(time.Minute)) {
		day = day.AddDate(0, 0, -1)
	}
	if s.last.secondOfDay() < s.first.secondOfDay() {
		day = day.AddDate(0, 0, -1)
	}
	return day
}

// at returns the time of a report in milliseconds since the epoch. It must be called for the
// reports in order. ok is false if a report cannot be placed.
func (c *clock) at(r *report) (ms int64, ok bool) {
	t, ok := c.place(r)
	if !ok {
		return 0, false
	}
	// Counters need ascending times, so such a report is skipped and counted.
	if !c.prev.IsZero() && !t.After(c.prev) {
		if c.back == 0 {
			c.from = t
		}
		c.back++
		return 0, false
	}
	c.prev = t
	return t.UnixMilli(), true
}

func (c *clock) place(r *report) (time.Time, bool) {
	switch {
	case !r.stamp.hasTime && c.prev.IsZero():
		return c.anchor, !c.anchor.IsZero()
	case !r.stamp.hasTime:
		return c.prev.Add(c.period), true
	case r.stamp.hasDate:
		return r.stamp.time(c.order, c.loc, c.prev)
	case c.day.IsZero():
		return time.Time{}, false
	}

	// A time without a date is the first such time of day after the previous report.
	base := c.day
	if c.prev.After(base) {
		base = c.prev
	}

	t := time.Date(base.Year(), base.Month(), base.Day(), r.stamp.hour, r.stamp.min, r.stamp.sec, 0, c.loc)
	if t.Before(c.prev) {
		t = t.AddDate(0, 0, 1)
	}

	return t, true
}

// dateOrder determines which number in the log's dates is the day and which the month. First come
// the signs that exclude an order: a number over 12 (or of four digits), a separator other than a
// slash, a decimal comma, a 12-hour clock; then dates that would be far apart or run backwards;
// then dates after the file was last written. If both orders remain possible, it uses that of the C
// locale, and a note says so.
func (s *survey) dateOrder(loc *time.Location, modified time.Time) (o dateOrder, guess string) {
	if len(s.dates) == 0 {
		return yearMonthDay, ""
	}

	d := s.dates[0]
	switch {
	case d.digits[0] == 4:
		return yearMonthDay, ""
	case !d.slash && d.digits[2] != 4 && d.digits[0] == 2 && d.date[0] > 31:
		return yearMonthDay, ""
	case !d.slash:
		return dayMonthYear, "" // de_DE, nl_NL (21-11-26), and others
	}

	us, usSpan := s.fits(monthDayYear, loc)
	eu, euSpan := s.fits(dayMonthYear, loc)
	switch {
	case us && !eu:
		return monthDayYear, ""
	case eu && !us:
		return dayMonthYear, ""
	case !us:
		return monthDayYear, "they match no known order"
	case s.ampm:
		return monthDayYear, ""
	case s.comma:
		return dayMonthYear, ""
	case usSpan != euSpan && min(usSpan, euSpan) <= 31*24*time.Hour:
		// 06/04 after 05/04 is a day or a month later.
		if euSpan < usSpan {
			return dayMonthYear, ""
		}
		return monthDayYear, ""
	}

	last := s.dates[len(s.dates)-1]
	usDay, _ := last.midnight(monthDayYear, loc)
	euDay, _ := last.midnight(dayMonthYear, loc)
	if usDay.Equal(euDay) {
		return monthDayYear, ""
	}

	if !modified.IsZero() {
		near := func(t time.Time) bool { return modified.Sub(t).Abs() < 48*time.Hour }
		switch {
		case near(usDay) && !near(euDay):
			return monthDayYear, ""
		case near(euDay) && !near(usDay):
			return dayMonthYear, ""
		case euDay.Before(modified) && usDay.After(modified):
			return dayMonthYear, "only because this order gives dates before the file was last written"
		}
	}

	return monthDayYear, "nothing in the log distinguishes month and day"
}

// fits reports whether all dates are valid in an order and never run backwards, and the time from
// the first to the last.
func (s *survey) fits(o dateOrder, loc *time.Location) (bool, time.Duration) {
	var first, prev time.Time
	for i, d := range s.dates {
		t, ok := d.midnight(o, loc)
		if !ok || t.Before(prev) {
			return false, 0
		}
		if i == 0 {
			first = t
		}
		prev = t
	}
	return true, prev.Sub(first)
}

// notes describe what was assumed about the times.
func (c *clock) notes(s *survey) []recording.Note {
	var out []recording.Note
	if s.stamped == 0 {
		how := "the last one at the file's modification time"
		if c.dated {
			how = "the first one at midnight of the banner's date, because the file was written on another day"
		}
		out = append(out, recording.Note{Kind: recording.NoteLimit, Text: fmt.Sprintf(
			"the log has no times (iostat without -t): placed its reports %s apart, %s; record with S_TIME_FORMAT=ISO iostat -xt 1, or give the period",
			c.period, how)})
	}

	if c.assumed {
		out = append(out, recording.Note{Kind: recording.NoteClock, Text: "the log has times of day without a date: placed the last one on the day of the file's modification"})
	}

	if c.guess != "" && !c.dated {
		as := map[dateOrder]string{yearMonthDay: "year-month-day", monthDayYear: "month/day",
			dayMonthYear: "day/month"}[c.order]
		out = append(out, recording.Note{Kind: recording.NoteClock, Text: fmt.Sprintf(
			"read the dates of the log as %s, but %s; record with S_TIME_FORMAT=ISO to be sure", as, c.guess)})
	}

	if c.back > 0 {
		out = append(out, recording.Note{Kind: recording.NoteClock, From: c.from.UTC(),
			Lost: float64(c.back) / float64(s.reports), Text: fmt.Sprintf(
				"skipped %d reports that were not later than the previous one: the host's clock was set back, or logs were joined out of order",
				c.back)})
	}

	return out
}
