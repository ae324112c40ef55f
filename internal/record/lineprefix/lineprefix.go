// Package lineprefix recognises and removes the prefixes that a pipeline wrote before each line of
// a text: a time, and often the names of a host and a process.
//
//	2026-01-05T10:00:00.123456789Z LINE               kubectl logs --timestamps, docker logs -t
//	2026-01-05 10:00:00.000000 LINE                   a script
//	[2026-01-05 10:00:00] LINE                        a script
//	Jan 15 10:00:00 LINE                              ts (moreutils)
//	Jan 15 10:00:00 host iostat[812]: LINE            journalctl, syslog
//	2026-01-15T10:00:00+0000 host iostat[812]: LINE   journalctl -o short-iso
//	1768471200.123456 LINE                            ts %.s, journalctl -o short-unix
//
// A text has a prefix only if all its lines have one of the same form. So a log that prints its own
// times, on separate lines, has none.
package lineprefix

import (
	"bytes"
	"time"
)

// A Time is the time in a prefix. Its zone is unknown unless HasZone is set, and its year is 0 if
// the prefix has none, as in syslog.
type Time struct {
	Year                 int
	Month                time.Month
	Day                  int
	Hour, Minute, Second int
	Nanosecond           int
	ZoneS                int // seconds east of UTC
	HasZone              bool
}

// A Form is a format of prefixes.
type Form struct {
	clock  clockForm
	tagged bool // the names of a host and a process follow the time
	// The shape of a prefix that was learned from lines.
	learned learned
}

type clockForm uint8

const (
	calendar    clockForm = iota // 2026-01-05 10:00:00
	syslog                       // Jan 15 10:00:00
	epoch                        // 1768471200.123
	learnedForm                  // any shape; see Learn
)

// linesMin is the minimum number of lines with a prefix to recognise it.
const linesMin = 3

// Detect returns the form of the prefix that each complete line of a text's beginning has, or nil
// if there is none.
func Detect(head []byte) *Form {
	for _, clock := range []clockForm{calendar, syslog, epoch} {
		f, lines := Form{clock: clock, tagged: true}, 0
		plain := Form{clock: clock}

		ok := true
		for line := range bytes.Lines(head) {
			if line[len(line)-1] != '\n' {
				break // it may be cut short
			}

			line = bytes.TrimRight(line, "\r\n")
			if _, _, ok = plain.Cut(line); !ok {
				break
			}

			// One line without names is enough to show that the names are not part of the prefix.
			if _, _, tagged := f.Cut(line); !tagged {
				f.tagged = false
			}

			lines++
		}

		if ok && lines >= linesMin {
			return &f
		}
	}
	return nil
}

// Strip returns a text without this prefix. A nil form removes nothing.
func (f *Form) Strip(text []byte) []byte {
	if f == nil {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if _, rest, ok := f.Cut(line); ok {
			line = rest
		}
		out = append(out, line...)
	}
	return out
}

// Cut separates the prefix of a line from the rest. ok is false if the line does not have this
// prefix.
func (f *Form) Cut(line []byte) (at Time, rest []byte, ok bool) {
	if f.clock == learnedForm {
		return f.learned.cut(line)
	}

	// A bracket belongs to the form only if it is closed after the time.
	rest, bracket := bytes.CutPrefix(line, []byte("["))
	switch f.clock {
	case calendar:
		rest, ok = at.readCalendar(rest)
	case syslog:
		rest, ok = at.readSyslog(rest)
	case epoch:
		rest, ok = at.readEpoch(rest)
	}

	if !ok {
		return at, line, false
	}

	if bracket {
		if rest, ok = bytes.CutPrefix(rest, []byte("]")); !ok {
			return at, line, false
		}
	}

	if rest, ok = cutSpace(rest); !ok {
		return at, line, false
	}

	if f.tagged {
		if rest, ok = cutTag(rest); !ok {
			return at, line, false
		}
	}

	return at, rest, true
}

// cutSpace removes the single character after a prefix. An empty line may have lost it.
func cutSpace(b []byte) ([]byte, bool) {
	switch {
	case len(bytes.TrimRight(b, "\r\n")) == 0:
		return b, true
	case b[0] == ' ' || b[0] == '\t':
		return b[1:], true
	}
	return b, false
}

// cutTag removes "host process[pid]: ".
func cutTag(b []byte) ([]byte, bool) {
	host := bytes.IndexByte(b, ' ')
	if host <= 0 {
		return b, false
	}
	end := bytes.IndexAny(b[host+1:], ": \t")
	if end <= 0 || b[host+1+end] != ':' {
		return b, false
	}
	return cutSpace(b[host+end+2:])
}

// readCalendar reads a date and a time of day, with or without a zone.
func (t *Time) readCalendar(b []byte) ([]byte, bool) {
	var ok bool
	var month int
	if b, ok = digitsOf(b, &t.Year, 4, '-'); !ok || t.Year < 1970 {
		return b, false
	}

	if b, ok = digitsOf(b, &month, 2, '-'); !ok || month < 1 || month > 12 {
		return b, false
	}

	t.Month = time.Month(month)
	if b, ok = digitsOf(b, &t.Day, 2, 0); !ok || t.Day < 1 || t.Day > 31 || len(b) == 0 ||
		b[0] != 'T' && b[0] != ' ' {
		return b, false
	}

	if b, ok = t.readClock(b[1:]); !ok {
		return b, false
	}

	return t.readZone(b), true
}

// readSyslog reads "Jan 15 10:00:00", with a day of one or two digits.
func (t *Time) readSyslog(b []byte) ([]byte, bool) {
	if len(b) < len("Jan 15 10:00:00") {
		return b, false
	}

	if t.Month = monthOf(b[:3]); t.Month == 0 || b[3] != ' ' {
		return b, false
	}

	b = bytes.TrimLeft(b[4:], " ")
	digits := 2
	if len(b) > 1 && b[1] == ' ' {
		digits = 1
	}

	b, ok := digitsOf(b, &t.Day, digits, ' ')
	if !ok || t.Day < 1 || t.Day > 31 {
		return b, false
	}

	return t.readClock(b)
}

// monthOf returns a month by its English abbreviation, or 0.
func monthOf(b []byte) time.Month {
	for m := time.January; m <= time.December; m++ {
		if m.String()[:3] == string(b) {
			return m
		}
	}
	return 0
}

// readEpoch reads seconds since 1970 with ten digits, that is, since 2001.
func (t *Time) readEpoch(b []byte) ([]byte, bool) {
	var s int
	b, ok := digitsOf(b, &s, 10, 0)
	if !ok || len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		return b, false
	}
	b, ns := fraction(b)
	*t = Of(time.Unix(int64(s), int64(ns)).UTC())
	t.HasZone = true
	return b, true
}

// readClock reads hours, minutes and seconds, with or without a fraction.
func (t *Time) readClock(b []byte) ([]byte, bool) {
	var ok bool
	if b, ok = digitsOf(b, &t.Hour, 2, ':'); !ok || t.Hour > 23 {
		return b, false
	}
	if b, ok = digitsOf(b, &t.Minute, 2, ':'); !ok || t.Minute > 59 {
		return b, false
	}
	if b, ok = digitsOf(b, &t.Second, 2, 0); !ok || t.Second > 60 {
		return b, false
	}
	b, t.Nanosecond = fraction(b)
	return b, true
}

// readZone reads Z or an offset, if there is one.
func (t *Time) readZone(b []byte) []byte {
	if len(b) > 0 && b[0] == 'Z' {
		t.HasZone = true
		return b[1:]
	}

	if len(b) < len("+0000") || b[0] != '+' && b[0] != '-' {
		return b
	}

	var hours, minutes int
	rest, ok := digitsOf(b[1:], &hours, 2, 0)
	if !ok {
		return b
	}

	rest = bytes.TrimPrefix(rest, []byte(":"))
	if rest, ok = digitsOf(rest, &minutes, 2, 0); !ok {
		return b
	}

	t.ZoneS, t.HasZone = (hours*60+minutes)*60, true
	if b[0] == '-' {
		t.ZoneS = -t.ZoneS
	}

	return rest
}

// digitsOf reads a number with exactly that many digits, and the character after it. If then is 0,
// anything may follow.
func digitsOf(b []byte, n *int, digits int, then byte) ([]byte, bool) {
	if len(b) < digits {
		return b, false
	}

	*n = 0
	for _, c := range b[:digits] {
		if c < '0' || c > '9' {
			return b, false
		}
		*n = *n*10 + int(c-'0')
	}

	b = b[digits:]
	if then == 0 {
		return b, true
	}
	if len(b) == 0 || b[0] != then {
		return b, false
	}

	return b[1:], true
}

// fraction reads a fraction of a second, if there is one, and returns its nanoseconds.
func fraction(b []byte) ([]byte, int) {
	if len(b) < 2 || b[0] != '.' && b[0] != ',' || b[1] < '0' || b[1] > '9' {
		return b, 0
	}
	ns, unit, i := 0, 100_000_000, 1
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		ns += int(b[i]-'0') * unit
		unit /= 10
	}
	return b[i:], ns
}

// Forms returns every form, those with the names of a host and a process first. A reader that knows
// what follows a prefix can try them all; others use [Detect].
func Forms() []Form {
	var out []Form
	for _, tagged := range []bool{true, false} {
		for _, clock := range []clockForm{calendar, syslog, epoch} {
			out = append(out, Form{clock: clock, tagged: tagged})
		}
	}
	return out
}
