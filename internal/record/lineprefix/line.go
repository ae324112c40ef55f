package lineprefix

import (
	"bytes"
	"strconv"
	"time"
)

// lineBytesMax is longer than any line that consists of a time.
const lineBytesMax = 64

// dateLayouts are the default layouts of date(1) in the C and the English locales.
var dateLayouts = []string{
	"Mon Jan _2 15:04:05 MST 2006", "Mon Jan _2 03:04:05 PM MST 2006",
	"Mon _2 Jan 15:04:05 MST 2006", "Mon _2 Jan 03:04:05 PM MST 2006",
}

// Line parses a line that consists of a time, as printed by date: in its default format, in ISO
// 8601, or in seconds since 1970. In the default format, zones other than UTC are abbreviations, so
// they stay unknown.
func Line(line []byte) (at Time, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || len(line) > lineBytesMax {
		return at, false
	}

	for _, read := range []func([]byte) ([]byte, bool){at.readEpoch, at.readCalendar} {
		at = Time{}
		if rest, ok := read(line); ok && len(rest) == 0 {
			return at, true
		}
	}

	if line[0] < 'A' || line[0] > 'Z' {
		return Time{}, false
	}

	text := string(bytes.Join(bytes.Fields(line), []byte(" ")))
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			zone := t.Location().String()
			at = Of(t)
			at.HasZone = zone == "UTC" || zone == "GMT"
			return at, true
		}
	}

	return Time{}, false
}

// Epoch parses seconds since 1970, with or without a fraction.
func Epoch(field []byte) (time.Time, bool) {
	s, err := strconv.ParseFloat(string(field), 64)
	if err != nil || s < 1e9 || s >= 1e10 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(s * 1e3)).UTC(), true
}

// Of returns the calendar and clock of a time, whose zone stays unknown.
func Of(t time.Time) Time {
	return Time{Year: t.Year(), Month: t.Month(), Day: t.Day(), Hour: t.Hour(), Minute: t.Minute(),
		Second: t.Second(), Nanosecond: t.Nanosecond()}
}

// In returns the time, in the given location if its zone is unknown.
func (t Time) In(loc *time.Location) time.Time {
	if t.HasZone {
		loc = time.FixedZone("", t.ZoneS)
	}
	return time.Date(t.Year, t.Month, t.Day, t.Hour, t.Minute, t.Second, t.Nanosecond, loc)
}
