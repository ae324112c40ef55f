package iostat

import "plimsoll/internal/record/lineprefix"

// stampOf returns the stamp of a line's prefix. A prefix without a year gets the given one.
func stampOf(at lineprefix.Time, year int) stamp {
	if at.Year != 0 {
		year = at.Year
	}
	return stamp{
		date: [3]int{year, int(at.Month), at.Day}, digits: [3]int{4, 2, 2}, hasDate: true,
		hour: at.Hour, min: at.Minute, sec: at.Second, hasTime: true, zone: at.ZoneS, hasZone: at.HasZone,
	}
}

// halfYear is how many days a prefix without a year must go back to start a new year.
const halfYear = 183

// prefixed removes the prefix of a line and keeps its time for a report that starts there.
func (t *textReports) prefixed(line []byte) []byte {
	if t.prefix == nil {
		return line
	}

	at, rest, ok := t.prefix.Cut(line)
	if !ok {
		return line
	}

	// A prefix may name a host only, or have a time of day that belongs to the banner's date.
	switch {
	case !t.prefix.HasTime():
		return rest
	case at.Month == 0:
		t.at = stamp{hour: at.Hour, min: at.Minute, sec: at.Second, hasTime: true}
		return rest
	}

	// The year of the banner is that of the log, until the months start over.
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
