package lineprefix

import (
	"bytes"
	"slices"
	"time"
)

// A learned prefix is any text of the same shape in front of each line: the names of hosts and
// containers, and times in forms that [Detect] does not recognise.
//
//	db1: LINE                                    pdsh, ansible
//	db-0 iostat LINE                             stern
//	iostat-1  | 2026-01-05T10:00:00.1Z LINE      docker compose logs -t
//	Thu Jan 15 10:00:00 UTC 2026 LINE            a script
//	2026/01/15 10:00:00 | LINE                   a script
//	<14>1 2026-01-05T10:00:00Z db iostat 8 - - LINE
//
// Only a reader that knows what its lines look like can learn one: see [Learn].
type learned []element

// An element is a part of a prefix's shape.
type element struct {
	kind kind
	text string // of a literal
	role role
}

type kind uint8

const (
	literal kind = iota
	digits
	letters // the name of a day or a month, AM or PM
	blanks
)

// A role is what an element means for the time.
type role uint8

const (
	none role = iota
	year
	month
	day
	hour
	minute
	second
	nanosecond
	seconds1970
	monthName
	half
	zoneHours
	zoneMinutes
)

const (
	// learnedBytesMax bounds a prefix, and anchorsMax the lines from which one is learned.
	learnedBytesMax = 120
	anchorsMax      = 4
	// learnedShare is the share of lines that must have the prefix: a command may come before them.
	learnedShare = 0.9
)

// Learn returns the form of the prefix of a text's lines, or nil if there is none. is reports
// whether a line without a prefix certainly begins there, such as a heading.
func Learn(head []byte, is func(line []byte) bool) *Form {
	tried := 0
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		// A recognised line shows where the prefix ends.
		at := anchor(line, is)
		if at == 0 {
			return nil // the text has no prefix
		}
		if at < 0 {
			continue
		}

		f := &Form{clock: learnedForm, learned: shapeOf(line[:at])}
		if f.fits(head) {
			return f
		}
		if tried++; tried == anchorsMax {
			return nil
		}
	}

	return nil
}

// For returns the form of the prefix of a text in which is recognises some lines: a known form if
// such lines follow it, otherwise one that is learned.
func For(head []byte, is func(line []byte) bool) *Form {
	known := Detect(head)
	for line := range bytes.Lines(known.Strip(head)) {
		if is(bytes.TrimRight(line, "\r\n")) {
			return known
		}
	}
	// A known prefix may be followed by a separator, or by another prefix.
	if f := Learn(head, is); f != nil {
		return f
	}
	return known
}

// anchor returns where the line's own text begins; -1 if it is not a line that is recognised.
func anchor(line []byte, is func(line []byte) bool) int {
	if is(line) {
		return 0
	}
	for i := 1; i < len(line) && i <= learnedBytesMax; i++ {
		if bytes.IndexByte([]byte(" \t|:]>"), line[i-1]) >= 0 && line[i] != ' ' && line[i] != '\t' && is(line[i:]) {
			return i
		}
	}
	return -1
}

// fits reports whether nearly all complete lines have the prefix.
func (f *Form) fits(head []byte) bool {
	lines, with := 0, 0
	for line := range bytes.Lines(head) {
		// The last line of the beginning of a file may be cut.
		if line[len(line)-1] != '\n' {
			break
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			continue
		}
		lines++
		if _, _, ok := f.Cut(line); ok {
			with++
		}
	}

	return lines >= linesMin && float64(with) >= learnedShare*float64(lines)
}

// shapeOf returns the shape of a prefix, with the roles of its parts.
func shapeOf(prefix []byte) learned {
	var out learned
	runOf := func(is func(byte) bool) int {
		n := 0
		for n < len(prefix) && is(prefix[n]) {
			n++
		}
		return n
	}

	for len(prefix) > 0 {
		n := 1
		e := element{kind: literal}
		switch c := prefix[0]; {
		case isDigit(c):
			n, e.kind = runOf(isDigit), digits
		case isLetter(c):
			n = runOf(isLetter)
			e.kind, e.role = nameOf(prefix[:n])
		case c == ' ' || c == '\t':
			n, e.kind = runOf(func(c byte) bool { return c == ' ' || c == '\t' }), blanks
		}
		e.text = string(prefix[:n])
		out, prefix = append(out, e), prefix[n:]
	}

	out.assign()
	return out
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// nameOf recognises words that change with the time.
func nameOf(word []byte) (kind, role) {
	w := string(word)
	switch {
	case w == "AM" || w == "PM":
		return letters, half
	case len(w) >= 3 && monthOf(word[:3]) != 0 && (len(w) == 3 || monthNamed(w)):
		return letters, monthName
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if w == d.String() || w == d.String()[:3] {
			return letters, none
		}
	}
	return literal, none
}

func monthNamed(w string) bool {
	for m := time.January; m <= time.December; m++ {
		if w == m.String() {
			return true
		}
	}
	return false
}

// assign finds the parts of a date and of a time of day.
func (l learned) assign() {
	between := func(i int, text string) bool { return i < len(l) && l[i].text == text }
	number := func(i int) bool { return i >= 0 && i < len(l) && l[i].kind == digits && l[i].role == none }

	clock := false
	for i := range l {
		// Two colons between three numbers are a time of day; only the first one is the line's.
		if !clock && number(i) && between(i+1, ":") && number(i+2) && between(i+3, ":") && number(i+4) &&
			len(l[i].text) <= 2 {
			l[i].role, l[i+2].role, l[i+4].role = hour, minute, second
			clock = true
			l.afterSeconds(i + 5)
		}
	}

	for i := range l {
		sep := ""
		if i+1 < len(l) {
			sep = l[i+1].text
		}
		if number(i) && (sep == "-" || sep == "/" || sep == ".") && number(i+2) && between(i+3, sep) && number(i+4) {
			l.date(i, sep)
			break
		}
	}

	for i := range l {
		if l[i].role != monthName {
			continue
		}
		// Jan 15, or 15 Jan; the year is a number of four digits.
		for _, k := range []int{i + 2, i - 2} {
			if number(k) && len(l[k].text) <= 2 {
				l[k].role = day
				break
			}
		}
		for k := range l {
			if number(k) && len(l[k].text) == 4 && (l[k].text[:2] == "19" || l[k].text[:2] == "20") {
				l[k].role = year
			}
		}
	}

	for i := range l {
		// Ten digits that begin with 1 are seconds since 1970, from 2001 to 2033.
		if !clock && number(i) && len(l[i].text) == 10 && l[i].text[0] == '1' {
			l[i].role = seconds1970
			if between(i+1, ".") && number(i+2) {
				l[i+2].role = nanosecond
			}
			break
		}
	}
}

// afterSeconds assigns a fraction and a zone.
func (l learned) afterSeconds(i int) {
	if i+1 < len(l) && (l[i].text == "." || l[i].text == ",") && l[i+1].kind == digits {
		l[i+1].role = nanosecond
		i += 2
	}
	if i+1 < len(l) && (l[i].text == "+" || l[i].text == "-") && l[i+1].kind == digits {
		switch n := len(l[i+1].text); {
		case n == 4:
			l[i+1].role = zoneMinutes
		case n == 2:
			l[i+1].role = zoneHours
			if i+3 < len(l) && l[i+2].text == ":" && l[i+3].kind == digits {
				l[i+3].role = zoneMinutes
			}
		}
	}
}

// date assigns the three numbers of a date from element i on. If neither of the first two is a
// year nor over 12, a slash means that the month comes first, as in the C locale.
func (l learned) date(i int, sep string) {
	first, second := atoi(l[i].text), atoi(l[i+2].text)
	switch {
	case len(l[i].text) == 4:
		l[i].role, l[i+2].role, l[i+4].role = year, month, day
	case second > 12 || sep == "/" && first <= 12:
		l[i].role, l[i+2].role, l[i+4].role = month, day, year
	default:
		l[i].role, l[i+2].role, l[i+4].role = day, month, year
	}
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = min(n*10+int(c-'0'), 1e9)
	}
	return n
}

// cut matches a line's prefix. An empty line may have lost the blanks at its end.
func (l learned) cut(line []byte) (at Time, rest []byte, ok bool) {
	rest = line
	pm, zoned := "", 1
	for i := range l {
		element := &l[i]
		pos := 0
		switch element.kind {
		case literal:
			if pos = len(element.text); len(rest) < pos || string(rest[:pos]) != element.text {
				return at, line, false
			}
			// The sign of a zone is a literal before its digits.
			if element.text == "-" {
				zoned = -1
			}

		case digits, letters:
			is := isDigit
			if element.kind == letters {
				is = isLetter
			}
			for pos < len(rest) && is(rest[pos]) {
				pos++
			}
			if pos == 0 {
				return at, line, false
			}
			if element.role == half {
				pm = string(rest[:pos])
			}
			at.fill(element.role, rest[:pos], zoned)
			if element.role == second || element.role == nanosecond {
				zoned = 1
			}

		case blanks:
			if len(rest) == 0 {
				return at, rest, i == len(l)-1
			}
			pos = l.blanksAt(i, rest)
			if pos == 0 {
				return at, line, false
			}
		}
		rest = rest[pos:]
	}

	// 12 AM is midnight, 12 PM is noon.
	if pm != "" {
		at.Hour %= 12
		if pm == "PM" {
			at.Hour += 12
		}
	}
	at.HasZone = at.HasZone || l.utc()
	return at, rest, at.Hour < 24 && at.Minute < 60 && at.Second <= 60 && at.Month <= 12 && at.Day <= 31
}

// blanksAt returns how many blanks of a line belong to the prefix. Those after it are indentation,
// so the last ones must be as many as in the line from which it was learned.
func (l learned) blanksAt(i int, rest []byte) int {
	n := 0
	for n < len(rest) && (rest[n] == ' ' || rest[n] == '\t') {
		n++
	}
	if i == len(l)-1 {
		return min(n, len(l[i].text))
	}
	return n
}

// utc reports whether the time is in UTC: Z or UTC follows the clock.
func (l learned) utc() bool {
	clock := false
	for _, e := range l {
		clock = clock || e.role == second
		if clock && (e.text == "Z" || e.text == "UTC" || e.text == "GMT") {
			return true
		}
	}
	return false
}

// fill sets a part of a time.
func (t *Time) fill(r role, text []byte, sign int) {
	number := atoi(string(text))
	switch r {
	case year:
		t.Year = number
		// Two digits: logs of the last century are not expected.
		if len(text) == 2 {
			t.Year += 2000
		}
	case month:
		t.Month = time.Month(number)
	case monthName:
		t.Month = monthOf(text[:min(3, len(text))])
	case day:
		t.Day = number
	case hour:
		t.Hour = number
	case minute:
		t.Minute = number
	case second:
		t.Second = number
	case nanosecond:
		_, t.Nanosecond = fraction(append([]byte("."), text...))
	case zoneHours:
		t.ZoneS, t.HasZone = sign*number*3600, true
	case zoneMinutes:
		t.HasZone = true
		// Four digits are hours and minutes together, as in +0530.
		if len(text) == 4 {
			t.ZoneS = sign * (number/100*60 + number%100) * 60
		} else {
			t.ZoneS += sign * number * 60
		}
	case seconds1970:
		// Fractions are a separate part of the prefix and may have been read before.
		*t = Of(time.Unix(int64(number), int64(t.Nanosecond)).UTC())
		t.HasZone = true
	}
}

// HasTime reports whether the prefix has a time of day.
func (f *Form) HasTime() bool {
	return f.clock != learnedForm ||
		slices.ContainsFunc(f.learned, func(e element) bool { return e.role == hour || e.role == seconds1970 })
}
