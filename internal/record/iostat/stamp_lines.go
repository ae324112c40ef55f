package iostat

import (
	"bytes"
	"strconv"
	"time"

	"plimsoll/internal/record/lineprefix"
)

// stampOf is the stamp of a line's prefix. A prefix without a year gets the given one.
func stampOf(at lineprefix.Time, year int) stamp {
	if at.Year != 0 {
		year = at.Year
	}
	return stamp{
		date: [3]int{year, int(at.Month), at.Day}, digits: [3]int{4, 2, 2}, hasDate: true,
		hour: at.Hour, min: at.Minute, sec: at.Second, hasTime: true, zone: at.ZoneS, hasZone: at.HasZone,
	}
}

// dateLayouts are those of date(1) without a format, in the C and the English locales.
var dateLayouts = []string{
	"Mon Jan _2 15:04:05 MST 2006", "Mon Jan _2 03:04:05 PM MST 2006", "Mon _2 Jan 15:04:05 MST 2006", "Mon _2 Jan 03:04:05 PM MST 2006",
}

// parseDateOutput reads a line that date printed: its own format, or seconds since 1970 (date +%s). A
// zone other than UTC is only an abbreviation, so the time is taken as the host's.
func parseDateOutput(line []byte) (s stamp, ok bool) {
	if len(line) == 0 || len(line) > stampBytesMax {
		return s, false
	}

	if seconds, _, _ := bytes.Cut(line, []byte(".")); len(seconds) == len("1768471200") && line[0] == '1' {
		if v, err := strconv.ParseFloat(string(line), 64); err == nil {
			return stampOfTime(time.Unix(int64(v), 0).UTC(), true), true
		}
	}
	if line[0] < 'A' || line[0] > 'Z' {
		return s, false
	}

	text := string(bytes.Join(bytes.Fields(line), []byte(" ")))
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			zone := t.Location().String()
			return stampOfTime(t, zone == "UTC" || zone == "GMT"), true
		}
	}
	return s, false
}

func stampOfTime(t time.Time, utc bool) stamp {
	return stamp{
		date: [3]int{t.Year(), int(t.Month()), t.Day()}, digits: [3]int{4, 2, 2}, hasDate: true,
		hour: t.Hour(), min: t.Minute(), sec: t.Second(), hasTime: true, hasZone: utc,
	}
}

// halfYear is how many days a prefix without a year goes back when a new year begins.
const halfYear = 183

// prefixed removes a line's prefix and keeps its time for the report that begins there.
func (t *textReports) prefixed(line []byte) []byte {
	if t.prefix == nil {
		return line
	}
	at, rest, ok := t.prefix.Cut(line)
	if !ok {
		return line
	}

	// The banner's year is the log's, unless the months begin again after it.
	if d := &t.found.date; d.hasDate && !t.dated {
		t.dated = true
		switch {
		case d.digits[0] == 4:
			t.year = d.date[0]
		case d.digits[2] == 4:
			t.year = d.date[2]
		}
	}
	day := 31*int(at.Month) + at.Day
	if day < t.day-halfYear {
		t.year++
	}
	t.day = day
	t.at = stampOf(at, t.year)
	return rest
}
