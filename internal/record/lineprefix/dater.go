package lineprefix

import (
	"cmp"
	"time"
)

// halfYear is how many days a prefix without a year must go back to start a new year.
const halfYear = 183

// A Dater cuts the prefixes of one text and completes their times.
type Dater struct {
	Form *Form
	// Year is that of the first prefix without a year. It grows when the months start over.
	Year int
	// Location is the zone of times without one; nil means time.Local.
	Location *time.Location

	day int
}

// Cut separates the prefix of a line from the rest. ok is false if it has none. The time is zero if
// the prefix has no date.
func (d *Dater) Cut(line []byte) (at time.Time, rest []byte, ok bool) {
	t, rest, ok := d.Form.Cut(line)
	if !ok {
		return at, line, false
	}

	if t.Month == 0 {
		return at, rest, true
	}

	if t.Year == 0 {
		day := 31*int(t.Month) + t.Day
		if day < d.day-halfYear {
			d.Year++
		}
		d.day, t.Year = day, d.Year
	}

	return t.In(cmp.Or(d.Location, time.Local)), rest, true
}
