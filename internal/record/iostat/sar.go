package iostat

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"

	"plimsoll/internal/record/source"
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

	key     sarKey // the current table's banner and restart
	clock   int    // the last time of day in the table, in seconds
	day     int    // midnights so far in the table
	heading sarHeading
	banner  stamp
	rows    int
	whole   bool
	in      *source.LineReader
}

// sarKey is a point in time: the number of banners and of restarts of the host before it, and the
// seconds since midnight, or since 1970.
type sarKey struct {
	banner, restart int
	second          int64
}

func newSarReports(r io.Reader) *sarReports {
	return &sarReports{in: source.NewLineReader(r, lineBytesMax), at: map[sarKey]*report{},
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
		b, long, err := s.in.Next()
		switch {
		case long:
			s.damaged("line longer than " + strconv.Itoa(lineBytesMax) + " bytes")
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

func (s *sarReports) damaged(what string) { s.found.damage.add(s.in.Number, s.in.From, what) }

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
		r = &report{run: 1000*key.banner + key.restart, stamp: at}
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
