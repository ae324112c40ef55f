package iostat

import (
	"bytes"
	"time"

	"plimsoll/internal/record/lineprefix"
)

// A stamp is a date and time as printed in some locale: the numbers in the printed order, not yet
// interpreted. In a banner there is only a date.
type stamp struct {
	date    [3]int
	digits  [3]int // number of digits of each number in the date
	slash   bool   // numbers separated by '/'
	hasDate bool

	hour, min, sec int
	hasTime        bool
	ampm           bool // a 12-hour clock
	zone           int  // seconds east of UTC
	hasZone        bool
}

// stampBytesMax is longer than any locale's date and time.
const stampBytesMax = 64

// parseStamp parses a line that is a date and a time and nothing else, as printed by iostat -t:
// "11/21/2026 02:15:01 AM", "21.11.2026 02:15:01", "2026-11-21T02:15:01+0000", sysstat 9's "Time:
// 02:15:01 AM". ok is false for any other line.
func parseStamp(line []byte) (s stamp, ok bool) {
	if at, ok := lineprefix.Line(line); ok {
		return stampOf(at, at.Year), true
	}

	line = bytes.TrimSpace(line)
	rest, old := bytes.CutPrefix(line, []byte("Time: "))
	if len(line) > stampBytesMax || len(rest) < 8 || rest[0] < '0' || rest[0] > '9' {
		return s, false
	}

	if !old {
		if rest, ok = s.readDate(rest); !ok {
			return s, false
		}
	}

	rest, ok = s.readTime(rest)
	if !ok {
		return s, false
	}

	return s, s.readTail(rest)
}

// parseDate parses the date of a banner.
func parseDate(field []byte) (s stamp, ok bool) {
	if len(field) > stampBytesMax {
		return s, false
	}
	rest, ok := s.readDate(field)
	return s, ok && len(rest) == 0
}

// readDate reads three numbers and their separators: / . - or characters of a locale (年).
func (s *stamp) readDate(b []byte) (rest []byte, ok bool) {
	for i := range s.date {
		n, digits := number(b)
		if digits == 0 || digits > 4 {
			return b, false
		}

		s.date[i], s.digits[i] = n, digits
		b = b[digits:]

		sep := 0
		for sep < len(b) && (b[sep] == '/' || b[sep] == '.' || b[sep] == '-' || b[sep] >= 0x80) {
			s.slash = s.slash || b[sep] == '/'
			sep++
		}

		if i < 2 && sep == 0 {
			return b, false
		}

		b = b[sep:]
	}

	s.hasDate = true
	return b, true
}

// readTime reads hours, minutes and seconds.
func (s *stamp) readTime(b []byte) (rest []byte, ok bool) {
	b = bytes.TrimLeft(b, " T")
	for i, part := range []*int{&s.hour, &s.min, &s.sec} {
		n, digits := number(b)
		if digits == 0 || digits > 2 || n > 60 {
			return b, false
		}

		*part = n
		b = b[digits:]

		sep := 0
		for sep < len(b) && (b[sep] == ':' || b[sep] == '.' || b[sep] >= 0x80) {
			sep++
		}

		if i < 2 && sep == 0 {
			return b, false
		}

		b = b[sep:]
	}

	s.hasTime = s.hour < 24
	return b, s.hasTime
}

// readTail reads AM, PM, Z or an offset.
func (s *stamp) readTail(b []byte) bool {
	b = bytes.TrimSpace(b)
	switch {
	case len(b) == 0:
		return true
	case bytes.EqualFold(b, []byte("AM")) || bytes.EqualFold(b, []byte("PM")):
		s.ampm = true
		if s.hour > 12 {
			return false
		}
		s.hour %= 12
		// 12 AM is hour 0 and 12 PM is hour 12, which the remainder above provides.
		if b[0] == 'P' || b[0] == 'p' {
			s.hour += 12
		}
		return true
	case bytes.Equal(b, []byte("Z")):
		s.hasZone = true
		return true
	case (b[0] == '+' || b[0] == '-') && len(b) >= 5:
		digits := bytes.ReplaceAll(b[1:], []byte(":"), nil)
		n, k := number(digits)
		// The largest offset in use is +14:00.
		if k != 4 || len(digits) != 4 || n%100 > 59 || n > 1400 {
			return false
		}
		s.zone, s.hasZone = (n/100*60+n%100)*60, true
		if b[0] == '-' {
			s.zone = -s.zone
		}
		return true
	}

	return false
}

// number returns the unsigned decimal number at the start of b.
func number(b []byte) (n, digits int) {
	for digits < len(b) && digits < 9 && b[digits] >= '0' && b[digits] <= '9' {
		n = n*10 + int(b[digits]-'0')
		digits++
	}
	return n, digits
}

// secondOfDay does not depend on the order of the date.
func (s stamp) secondOfDay() int { return s.hour*3600 + s.min*60 + s.sec }

// A dateOrder says which number of a date is which.
type dateOrder uint8

const (
	yearMonthDay dateOrder = iota
	monthDayYear           // C, en_US
	dayMonthYear           // most of Europe
)

// day returns the date in an order, unless it begins with a year of four digits. ok is false if the
// result is not a valid date.
func (s stamp) day(o dateOrder) (year, month, day int, ok bool) {
	if s.digits[0] == 4 {
		o = yearMonthDay
	}

	switch o {
	case yearMonthDay:
		year, month, day = s.date[0], s.date[1], s.date[2]
	case monthDayYear:
		year, month, day = s.date[2], s.date[0], s.date[1]
	case dayMonthYear:
		year, month, day = s.date[2], s.date[1], s.date[0]
	}

	if year < 100 {
		year += 2000
	}

	// Anything else is not the date of a log.
	ok = year >= 1990 && year < 2200 && month >= 1 && month <= 12 && day >= 1 && day <= 31
	return year, month, day, ok
}

// midnight returns the beginning of the stamp's day.
func (s stamp) midnight(o dateOrder, loc *time.Location) (time.Time, bool) {
	y, m, d, ok := s.day(o)
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, loc), ok
}

// time returns the time of the stamp, in a given order, and in a location unless it has its own
// zone. When a wall clock is set back an hour in autumn, some times occur twice: the first one
// after notBefore is used.
func (s stamp) time(o dateOrder, loc *time.Location, notBefore time.Time) (time.Time, bool) {
	y, m, d, ok := s.day(o)
	if !ok {
		return time.Time{}, false
	}

	if s.hasZone {
		loc = time.FixedZone("", s.zone)
	}

	t := time.Date(y, time.Month(m), d, s.hour, s.min, s.sec, 0, loc)
	if s.hasZone {
		return t, true
	}

	for _, shift := range []time.Duration{-time.Hour, 0, time.Hour} {
		u := t.Add(shift)
		if u.Hour() == s.hour && u.Minute() == s.min && u.After(notBefore) {
			return u, true
		}
	}

	return t, true
}
