package iostat

import "bytes"

// isHumanHeading recognises iostat -h, which has the device last and splits a report into several
// tables.
func isHumanHeading(line []byte) bool {
	return bytes.HasSuffix(bytes.TrimRight(line, " "), []byte(" Device")) &&
		(bytes.Contains(line, []byte("/s")) || bytes.Contains(line, []byte("util")))
}

// unitBytes are the units of --human (sysstat: cprintf_unit), in bytes.
var unitBytes = map[byte]float64{'B': 1, 'k': kib, 'M': mib, 'G': 1024 * mib, 'T': 1024 * 1024 * mib}

// human separates a figure of --human from its unit: 1.9M, 11.5%. bytes is 0 if the unit is not in
// bytes.
func human(field []byte) (digits []byte, bytes float64) {
	if len(field) < 2 {
		return field, 0
	}
	last := field[len(field)-1]
	if last == '%' {
		return field[:len(field)-1], 0
	}
	if unit, ok := unitBytes[last]; ok {
		return field[:len(field)-1], unit
	}
	return field, 0
}

// in returns the column for figures that have their own unit instead of the heading's.
func (c column) in(bytes float64) column {
	// A figure without a unit is in the unit of the heading.
	if bytes == 0 || !c.known {
		return c
	}
	switch c.q {
	case readBytes, writtenBytes:
		c.factor = bytes
	case discardedSectors:
		c.factor = bytes / sector
	}
	return c
}

// openHuman starts one of the tables of -h.
func (t *textReports) openHuman(line []byte) {
	t.begin()
	t.cur.hasDevices = true
	t.rows = deviceRows
	t.columns, t.last = t.columns[:0], true
	for _, h := range bytes.Fields(bytes.TrimSuffix(bytes.TrimRight(line, " "), []byte("Device"))) {
		c := columnOf(string(h))
		t.columns = append(t.columns, c)
		if c.known {
			t.cur.tables[c.q] = true
		}
	}
}

// repeats reports whether the report already has such a table of -h.
func (t *textReports) repeats(line []byte) bool {
	for _, h := range bytes.Fields(line) {
		if c := columnOf(string(h)); c.known && t.cur.tables[c.q] {
			return true
		}
	}
	return false
}

// merge adds the counters of another table of -h.
func (r *rates) merge(of *rates) {
	for i, v := range of {
		if v == v { // not NaN
			r[i] = v
		}
	}
}
