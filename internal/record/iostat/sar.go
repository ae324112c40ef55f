package iostat

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"

	"plimsoll/internal/record/lineprefix"
)

// sarRowsMax bounds the rows of a sar report in memory: a day of seconds of ten devices. The tables
// come in sequence, each with all its times, so they must be joined in memory.
const sarRowsMax = 1_000_000

// sarReports reads the output of sar (-d, -u, -A) and the text of sadf (-d, -p): a table per
// activity, each line with its own time. Other activities are skipped.
type sarReports struct {
	found findings
	at    map[sarKey]*report
	order []sarKey
	given int

	line, offset int64
	key          sarKey // the current table's banner and restart
	clock        int    // the last time of day in the table, in seconds
	day          int    // midnights so far in the table
	heading      sarHeading
	banner       stamp
	rows         int
	whole        bool
	in           *bufio.Reader
}

// sarKey is a point in time: the number of banners and of restarts of the host before it, and the
// seconds since midnight, or since 1970.
type sarKey struct {
	banner, restart int
	second          int64
}

// sarHeading is the meaning of the columns of a table, after the time.
type sarHeading struct {
	text    string
	columns []column
	device  int // the column with the name of the device, -1 if the rows are not devices
	cpu     []int
	host    []hostFigure // by column; hostFigures if the column is another
}

func newSarReports(r io.Reader) *sarReports {
	return &sarReports{in: bufio.NewReaderSize(r, lineBytesMax), at: map[sarKey]*report{},
		heading: sarHeading{device: -1}}
}

func (s *sarReports) about() *findings { return &s.found }

// next implements reports. The first call reads the whole file.
func (s *sarReports) next() (*report, bool) {
	if !s.whole {
		s.whole = true
		s.readAll()
		slices.SortFunc(s.order, func(a, b sarKey) int {
			return cmp.Or(cmp.Compare(a.banner, b.banner), cmp.Compare(a.restart, b.restart),
				cmp.Compare(a.second, b.second))
		})
	}
	if s.given == len(s.order) {
		return nil, false
	}
	r := s.at[s.order[s.given]]
	s.given++
	return r, true
}

func (s *sarReports) readAll() {
	for {
		b, err := s.in.ReadSlice('\n')
		s.offset += int64(len(b))
		s.line++

		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			s.damaged("line longer than " + strconv.Itoa(lineBytesMax) + " bytes")
			for errors.Is(err, bufio.ErrBufferFull) {
				b, err = s.in.ReadSlice('\n')
				s.offset += int64(len(b))
			}
			b = nil
		case err != nil && !errors.Is(err, io.EOF):
			s.damaged("read error: " + err.Error())
		case err != nil && len(b) > 0:
			s.damaged("the file ends in the middle of a line")
			b = nil
		}

		if err == nil || len(b) > 0 {
			s.addLine(bytes.TrimRight(b, "\r\n"))
		}

		if err != nil {
			return
		}
	}
}

func (s *sarReports) damaged(what string) { s.found.damage.add(s.line, s.offset, what) }

// addLine handles a line.
func (s *sarReports) addLine(line []byte) {
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return
	case isBanner(line):
		var t textReports
		t.readBanner(line)
		if s.found.kernel == "" {
			s.found = findings{host: t.found.host, kernel: t.found.kernel, cpus: t.found.cpus, date: t.found.date,
				damage: s.found.damage}
		}
		s.banner = t.found.date
		s.key = sarKey{banner: s.key.banner + 1}
		s.found.runs++
		s.heading = sarHeading{device: -1}
		return
	case bytes.HasPrefix(line, []byte("Average:")) || bytes.HasPrefix(line, []byte("Summary:")):
		return
	case bytes.Contains(line, []byte(";")):
		s.readSeparated(bytes.Split(bytes.TrimPrefix(line, []byte("# ")), []byte(";")))
		return
	case bytes.Count(line, []byte("\t")) == 5:
		s.readPairs(bytes.Split(line, []byte("\t")))
		return
	}

	stamp, rest, ok := sarTime(line)
	if !ok {
		return
	}

	if bytes.Contains(rest, []byte("LINUX RESTART")) {
		s.key.restart++
		s.clock, s.day = 0, 0
		return
	}

	fields := bytes.Fields(rest)
	if h, ok := sarHeadingOf(fields); ok {
		if h.text != s.heading.text {
			s.key.restart, s.clock, s.day = 0, 0, 0
		}
		s.heading = h
		return
	}

	if !s.heading.used() || len(fields) != len(s.heading.columns) {
		return
	}

	// sar prints times of day only, and a table continues past midnight.
	second := stamp.secondOfDay()
	if second < s.clock {
		s.day++ // past midnight
	}

	s.clock = second
	key := s.key
	key.second = int64(s.day)*86400 + int64(second)

	if s.found.runs > 1 && s.banner.hasDate {
		stamp.date, stamp.digits, stamp.slash, stamp.hasDate = s.banner.date, s.banner.digits, s.banner.slash, true
	}

	s.row(key, stamp, fields)
}

// report returns the report of a point in time, or nil beyond the bound.
func (s *sarReports) report(key sarKey, at stamp) *report {
	if s.rows++; s.rows > sarRowsMax {
		if s.rows == sarRowsMax+1 {
			s.damaged("more than " + strconv.Itoa(sarRowsMax) + " rows: split the report by time (sar -s, -e)")
		}
		return nil
	}
	r := s.at[key]
	if r == nil {
		r = &report{line: s.line, run: 1000*key.banner + key.restart, stamp: at}
		s.at[key] = r
		s.order = append(s.order, key)
	}
	return r
}

// row parses a row of the current table.
func (s *sarReports) row(key sarKey, at stamp, fields [][]byte) {
	sarHeading := &s.heading
	if sarHeading.cpu != nil {
		// The rows of single CPUs are skipped.
		if string(fields[0]) != "all" && string(fields[0]) != "-1" {
			return
		}

		var cpu [6]float64
		for i, mode := range sarHeading.cpu {
			v, comma, ok := figure(fields[i])
			if mode >= 0 && ok {
				cpu[mode] += v
				s.commaIn(key, comma)
			}
		}

		if r := s.report(key, at); r != nil {
			r.cpu, r.hasCPU = cpu, true
		}

		return
	}

	if sarHeading.host != nil {
		r := s.report(key, at)
		for i, f := range sarHeading.host {
			v, comma, ok := figure(fields[i])
			if r != nil && f < hostFigures && ok {
				r.setHost(f, v)
				r.comma = r.comma || comma
			}
		}
		return
	}

	rates := noRates()
	comma := false
	for i, c := range sarHeading.columns {
		if i == sarHeading.device {
			continue
		}
		v, withComma, ok := figure(fields[i])
		if !ok {
			s.damaged("a value of sar is not a number")
			return
		}
		comma = comma || withComma
		rates.set(c, v)
	}

	rates.finish()
	if r := s.report(key, at); r != nil {
		r.hasDevices, r.comma = true, r.comma || comma
		r.devices = append(r.devices, device{name: string(fields[sarHeading.device]), rates: rates})
	}
}

func (s *sarReports) commaIn(key sarKey, comma bool) {
	if r := s.at[key]; r != nil {
		r.comma = r.comma || comma
	}
}

// readSeparated parses a line of sadf -d: a heading, which starts with #, or a row.
func (s *sarReports) readSeparated(fields [][]byte) {
	const before = 3 // host, interval, time
	if len(fields) <= before {
		return
	}
	if string(fields[0]) == "hostname" {
		s.heading, _ = sarHeadingOf(fields[before:])
		return
	}
	at, ok := sadfTime(fields[2])
	if !ok || !s.heading.used() || len(fields)-before != len(s.heading.columns) {
		return
	}
	s.found.host = string(fields[0])
	s.row(sarKey{second: at.unix()}, at, fields[before:])
}

// readPairs parses a line of sadf -p: host, interval, time, device, name and value.
func (s *sarReports) readPairs(fields [][]byte) {
	at, ok := sadfTime(fields[2])
	c := columnOf(string(fields[4]))
	v, _, number := figure(fields[5])
	// Figures of the whole host, such as %iowait or pgpgout/s, have no device.
	if f, known := hostColumns[string(fields[4])]; ok && number && known && !c.known {
		if r := s.report(sarKey{second: at.unix()}, at); r != nil {
			r.setHost(f, v)
		}
		return
	}
	if !ok || !c.known || !number {
		return
	}

	s.found.host = string(fields[0])
	r := s.report(sarKey{second: at.unix()}, at)
	if r == nil {
		return
	}

	r.hasDevices = true
	name := string(fields[3])
	// sadf -p prints one line for each figure, so a device's rates come from several lines.
	i := slices.IndexFunc(r.devices, func(d device) bool { return d.name == name })
	if i < 0 {
		i = len(r.devices)
		r.devices = append(r.devices, device{name: name, rates: noRates()})
	}

	d := &r.devices[i].rates
	if c.q == requestTime {
		v *= d[requests] // tps comes first
	}

	d.set(c, v)
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
func sarHeadingOf(fields [][]byte) (h sarHeading, ok bool) {
	h = sarHeading{text: string(bytes.Join(fields, []byte(" "))),
		device: slices.IndexFunc(fields, func(f []byte) bool { return string(f) == "DEV" })}
	units, digits := 0, false
	for _, f := range fields {
		c := columnOf(string(f))
		h.columns = append(h.columns, c)
		// Units and percent signs distinguish a heading from a row of names.
		if bytes.HasSuffix(f, []byte("/s")) || bytes.HasPrefix(f, []byte("%")) || string(f) == "tps" {
			units++
		}
		digits = digits || len(f) == 0 || f[0] >= '0' && f[0] <= '9' // separators may enclose nothing
	}

	switch {
	case len(fields) < 2 || digits:
		return sarHeading{device: -1}, false
	case h.device >= 0 && units > 0:
		return h, true
	case string(fields[0]) == "CPU" && units > 2:
		h.cpu = make([]int, len(fields))
		for i, f := range fields {
			mode, known := sarModes[string(f)]
			if h.cpu[i] = mode; !known {
				h.cpu[i] = -1
			}
		}
		return h, true
	}

	// Not a table of devices or CPUs: either figures of the host, or an activity that is skipped.
	h.device = -1
	for _, f := range fields {
		figure, known := hostColumns[string(f)]
		if !known {
			figure = hostFigures
		}
		h.host = append(h.host, figure)
	}
	if !slices.ContainsFunc(h.host, func(f hostFigure) bool { return f < hostFigures }) {
		h.host = nil
	}
	return h, true
}

// used reports whether the rows of a table are read.
func (h *sarHeading) used() bool { return h.device >= 0 || h.cpu != nil || h.host != nil }

// isSar reports whether the beginning of a text is from sar or sadf: the heading of a table after a
// time, or after the columns that sadf adds. mpstat has the states of a CPU in another order.
func isSar(head []byte) bool {
	banner := false
	for line := range bytes.Lines(head) {
		line = bytes.TrimRight(line, "\r\n")
		banner = banner || isBanner(line)
		if bytes.HasPrefix(line, []byte("# hostname;interval;timestamp;")) {
			return true
		}

		if f := bytes.Split(line, []byte("\t")); len(f) == 6 && (columnOf(string(f[4])).known || isHostColumn(f[4])) {
			if _, ok := sadfTime(f[2]); ok {
				return true
			}
		}

		_, rest, ok := sarTime(line)
		if !ok {
			continue
		}

		h, ok := sarHeadingOf(bytes.Fields(rest))
		if ok && (h.device >= 0 || banner && (h.cpu != nil && !ofMpstat.Match(rest) || ofSar.Match(rest))) {
			return true
		}
		// Its names alone suffice: a part of a report often has no banner.
		if ok && h.host != nil && ofSar.Match(rest) {
			return true
		}
	}

	return false
}

func isHostColumn(name []byte) bool {
	_, ok := hostColumns[string(name)]
	return ok
}

var (
	ofMpstat = regexp.MustCompile(`%iowait\s+%irq`) // sar has %steal there
	ofSar    = regexp.MustCompile(`\b(runq-sz|pgpgin/s|kbmemfree|pswpin/s|proc/s|rtps|kbswpfree|dentunusd)`)
)
