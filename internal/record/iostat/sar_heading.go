package iostat

import (
	"bytes"
	"regexp"
	"slices"

	"plimsoll/internal/record/lineprefix"
)

// sarHeading is the meaning of the columns of a table, after the time.
type sarHeading struct {
	text    string
	columns []column
	device  int // the column with the name of the device, -1 if the rows are not devices
	cpu     []int
	host    []hostFigure // by column; hostFigures for any other column
}

// sarTime cuts the time of day off a line.
func sarTime(line []byte) (at stamp, rest []byte, ok bool) {
	rest, ok = at.readTime(line)
	if !ok {
		return at, line, false
	}

	trimmed := bytes.TrimLeft(rest, " \t")
	if len(trimmed) == len(rest) {
		return at, line, false
	}

	for _, half := range []string{"AM", "PM"} {
		if after, ok := bytes.CutPrefix(trimmed, []byte(half)); ok && len(after) > 0 &&
			(after[0] == ' ' || after[0] == '\t') {
			at.ampm = true
			at.hour %= 12
			if half == "PM" {
				at.hour += 12
			}
			trimmed = bytes.TrimLeft(after, " \t")
		}
	}

	return at, trimmed, true
}

// sadfTime parses "2026-01-05 10:00:00 UTC", with or without the zone (-t), or seconds since 1970
// (-U).
func sadfTime(field []byte) (stamp, bool) {
	if at, ok := lineprefix.Epoch(field); ok {
		return stamp{
			date: [3]int{at.Year(), int(at.Month()), at.Day()}, digits: [3]int{4, 2, 2}, hasDate: true,
			hour: at.Hour(), min: at.Minute(), sec: at.Second(), hasTime: true, hasZone: true,
		}, true
	}
	utc := bytes.HasSuffix(field, []byte(" UTC"))
	at, ok := parseStamp(bytes.TrimSuffix(field, []byte(" UTC")))
	if utc {
		at.hasZone, at.zone = true, 0
	}
	return at, ok && at.hasDate && at.hasTime
}

// unix orders times with a date. It need not be the real number of seconds.
func (s stamp) unix() int64 {
	return (int64(s.date[0])*372+int64(s.date[1])*31+int64(s.date[2]))*86400 + int64(s.secondOfDay())
}

// sarModes maps sar's names for the states of a CPU to indexes of cpuModes. Interrupts count as
// system time.
var sarModes = map[string]int{
	"%user": 0, "%usr": 0, "%nice": 1, "%system": 2, "%sys": 2, "%irq": 2, "%soft": 2, "%iowait": 3,
	"%steal": 4, "%idle": 5,
}

// sarHeadingOf recognises the heading of a table, without the time before it. For other activities,
// it recognises only that a table begins.
func sarHeadingOf(fields [][]byte) (heading sarHeading, ok bool) {
	heading = sarHeading{text: string(bytes.Join(fields, []byte(" "))),
		device: slices.IndexFunc(fields, func(f []byte) bool { return string(f) == "DEV" })}
	units, digits := 0, false
	for _, f := range fields {
		c := columnOf(string(f))
		heading.columns = append(heading.columns, c)
		// Units and percent signs distinguish a heading from a row of names.
		if bytes.HasSuffix(f, []byte("/s")) || bytes.HasPrefix(f, []byte("%")) || string(f) == "tps" {
			units++
		}
		digits = digits || len(f) == 0 || f[0] >= '0' && f[0] <= '9' // separators may enclose nothing
	}

	switch {
	case len(fields) < 2 || digits:
		return sarHeading{device: -1}, false
	case heading.device >= 0 && units > 0:
		return heading, true
	case string(fields[0]) == "CPU" && units > 2:
		heading.cpu = make([]int, len(fields))
		for i, f := range fields {
			mode, known := sarModes[string(f)]
			if heading.cpu[i] = mode; !known {
				heading.cpu[i] = -1
			}
		}
		return heading, true
	}

	// Not a table of devices or CPUs: either figures of the host, or an activity that is skipped.
	heading.device = -1
	for _, f := range fields {
		figure, known := hostColumns[string(f)]
		if !known {
			figure = hostFigures
		}
		heading.host = append(heading.host, figure)
	}
	if !slices.ContainsFunc(heading.host, func(f hostFigure) bool { return f < hostFigures }) {
		heading.host = nil
	}
	return heading, true
}

// used reports whether the rows of a table are read.
func (h *sarHeading) used() bool { return h.device >= 0 || h.cpu != nil || h.host != nil }

func isHostColumn(name []byte) bool {
	_, ok := hostColumns[string(name)]
	return ok
}

var (
	ofMpstat = regexp.MustCompile(`%iowait\s+%irq`) // sar has %steal there
	ofSar    = regexp.MustCompile(`\b(runq-sz|pgpgin/s|kbmemfree|pswpin/s|proc/s|rtps|kbswpfree|dentunusd)`)
)
