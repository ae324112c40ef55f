package iostat

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/source"
)

// A report is iostat's output for one interval.
type report struct {
	run        int  // number of banners before it
	sinceBoot  bool // the first report of a run made without -y
	stamp      stamp
	hasCPU     bool
	cpu        [6]float64 // percent, in the order of cpuModes
	hasHost    bool
	host       [hostFigures]float64
	hasDevices bool             // a device table, which may be empty
	tables     [quantities]bool // columns of the tables of -h so far
	devices    []device
	comma      bool // decimals were written with a comma
	torn       bool // a part of it was unreadable
}

// device is one row of a device table.
type device struct {
	name  string
	rates rates
}

func (r *report) reset() {
	*r = report{devices: r.devices[:0]}
}

// begun reports whether it contains more than a time.
func (r *report) begun() bool { return r.hasCPU || r.hasDevices }

// textReports reads iostat's text.
type textReports struct {
	in  *source.LineReader
	err error // read error, io.EOF at the end

	found findings

	// The prefix of each line, nil if there is none, and the last time in it. year is used for
	// prefixes without a year.
	prefix *lineprefix.Form
	at     stamp
	year   int
	dated  bool // year comes from the banner
	day    int  // approximate day of the year

	cur, done *report
	columns   []column // of the device table being read
	last      bool     // the device is in the last column (-h)
	rows      rowsOf
	fields    [][]byte

	// A banner starts a run; the lines after it show whether the first report is the average since
	// boot.
	banner bool // the run has a banner
	first  bool // the next report is the first of the run
	blanks int  // empty lines since the banner
}

// rowsOf is the table that the current rows belong to.
type rowsOf uint8

const (
	nothing rowsOf = iota
	cpuRow
	deviceRows
)

func newTextReports(r io.Reader) *textReports {
	return &textReports{
		in:  source.NewLineReader(r, lineBytesMax),
		cur: new(report), done: new(report), first: true,
	}
}

func (t *textReports) about() *findings { return &t.found }

// next implements reports.
func (t *textReports) next() (*report, bool) {
	for t.err == nil {
		line, whole := t.readLine()
		if t.err != nil && !errors.Is(t.err, io.EOF) {
			t.damaged("read error: " + t.err.Error())
			continue
		}

		if !whole {
			// A last line without a line end may have lost digits: 34.0 of 340.00.
			if len(line) > 0 {
				t.damaged("the file ends in the middle of a line")
			}
			continue
		}

		if t.addLine(line) {
			t.cur, t.done = t.done, t.cur
			if t.done.begun() {
				// The line that ended this report opens the next one.
				t.cur.reset()
				t.open(line)
				return t.done, true
			}
			t.cur.reset()
			t.open(line)
		}
	}

	if t.cur.begun() {
		t.cur, t.done = t.done, t.cur
		t.cur.reset()
		return t.done, true
	}

	return nil, false
}

// readLine returns the next line without its line end. whole is false for a last line without a
// line end. A line that is too long is skipped and counted as damage.
func (t *textReports) readLine() (line []byte, whole bool) {
	b, long, err := t.in.Next()
	if long {
		t.damaged("line longer than " + strconv.Itoa(lineBytesMax) + " bytes")
		b = b[:0]
		if err == nil {
			return b, true
		}
	}

	if err != nil {
		t.err = err
		return b, false
	}

	return t.prefixed(bytes.TrimRight(b, "\r\n")), true
}

func (t *textReports) damaged(what string) {
	t.cur.torn = true
	t.found.damage.add(t.in.Number, t.in.From, what)
}

// addLine handles a line. If the line begins another report (or run) than the current one, it does
// nothing and returns true.
func (t *textReports) addLine(line []byte) (begins bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		t.rows = nothing
		if t.banner && t.first && !t.cur.begun() && !t.cur.stamp.hasTime {
			t.blanks++
		}
		return false
	}

	switch {
	case t.rows == cpuRow && t.readCPU(line):
		return false
	case isCPUHeading(line):
		if t.cur.begun() {
			return true
		}
	case isDeviceHeading(line):
		if t.cur.hasDevices {
			return true
		}
	case isHumanHeading(line):
		if t.repeats(line) {
			return true
		}
	case t.rows == deviceRows && t.readDevice(line):
		return false
	default:
		if _, ok := parseStamp(line); ok || isBanner(line) {
			// A second time without a table in between starts a new report.
			if t.cur.begun() || (t.cur.stamp.hasTime && !isBanner(line)) {
				return true
			}
		}
	}

	t.open(line)
	return false
}

// open handles a line that may start a report: a banner, a time or a heading.
func (t *textReports) open(line []byte) {
	if t.rows != deviceRows {
		t.rows = nothing // a stray line between device rows does not end the table
	}

	switch {
	case isCPUHeading(line):
		t.begin()
		t.rows = cpuRow
	case isDeviceHeading(line):
		t.begin()
		t.cur.hasDevices = true
		t.rows = deviceRows
		t.columns = t.columns[:0]
		t.last = false
		for _, h := range bytes.Fields(line)[1:] {
			t.columns = append(t.columns, columnOf(string(h)))
		}
	case isHumanHeading(line):
		t.openHuman(line)
	case isBanner(line):
		t.rows = nothing
		t.readBanner(line)
	default:
		if s, ok := parseStamp(line); ok {
			t.rows = nothing
			t.cur.stamp = s
			return
		}
		t.damaged("neither a heading nor a row of iostat")
	}
}

// begin records where the current report starts and whether it is the average since boot.
func (t *textReports) begin() {
	if t.cur.begun() {
		return
	}
	if !t.cur.stamp.hasTime {
		t.cur.stamp = t.at
	}
	t.cur.run = t.found.runs
	// -y leaves a second empty line after the banner; without it there is one. A log without a
	// banner is the rest of a longer one, and its first report may also be the average since boot.
	t.cur.sinceBoot = t.first && !(t.banner && t.blanks >= 2)
	t.first = false
}

// isBanner recognises "Linux 6.1.0 (host)  11/21/26  _x86_64_  (2 CPU)".
func isBanner(line []byte) bool {
	return bytes.HasPrefix(line, []byte("Linux ")) && bytes.Contains(line, []byte("("))
}

func (t *textReports) readBanner(line []byte) {
	t.found.runs++
	t.banner, t.first, t.blanks = true, true, 0

	for i, f := range bytes.Fields(line) {
		if i == 1 && t.found.kernel == "" {
			t.found.kernel = "Linux " + string(f)
		}

		if host, ok := bytes.CutPrefix(f, []byte("(")); ok {
			if h, ok := bytes.CutSuffix(host, []byte(")")); ok && t.found.host == "" {
				t.found.host = string(h)
			} else if n, digits := number(host); digits == len(host) && digits > 0 && t.found.cpus == 0 {
				t.found.cpus = n // "(2 CPU)"
			}
		}

		// The kernel's version is skipped, because 6.1.0 also looks like a date.
		if s, ok := parseDate(f); ok && i > 1 && !t.found.date.hasDate {
			t.found.date = s
		}
	}
}

// readCPU parses the row of avg-cpu; false if the line is not such a row.
func (t *textReports) readCPU(line []byte) bool {
	t.rows = nothing
	fields := t.split(line)
	if len(fields) != len(t.cur.cpu) {
		return false
	}

	var cpu [len(t.cur.cpu)]float64
	comma := false
	for i, f := range fields {
		f, _ = human(f)
		v, c, ok := figure(f)
		if !ok {
			return false
		}
		cpu[i], comma = v, comma || c
	}

	t.cur.cpu, t.cur.hasCPU, t.cur.comma = cpu, true, t.cur.comma || comma
	return true
}

// readDevice parses a row of the device table; false if the line is not such a row.
func (t *textReports) readDevice(line []byte) bool {
	fields := t.split(line)
	if len(fields) != len(t.columns)+1 {
		return false
	}

	name, figures := fields[0], fields[1:]
	if t.last {
		name, figures = fields[len(fields)-1], fields[:len(fields)-1]
	}

	row := noRates()
	for i, c := range t.columns {
		digits, unit := human(figures[i])
		t.found.human = t.found.human || unit != 0
		v, comma, ok := figure(digits)
		if !ok {
			return false
		}
		t.cur.comma = t.cur.comma || comma
		row.set(c.in(unit), v)
	}

	if !t.last && line[0] == ' ' {
		// -g prints the sum of a group's devices, indented. Using it would count them twice.
		t.found.groups++
		return true
	}

	// With -h the counters of a device are spread over several tables of one report.
	row.finish()
	if t.last {
		for i := range t.cur.devices {
			if d := &t.cur.devices[i]; d.name == string(name) {
				d.rates.merge(&row)
				return true
			}
		}
	}

	if len(t.cur.devices) >= devicesMax {
		t.damaged("more than " + strconv.Itoa(devicesMax) + " devices in one report")
		return true
	}

	t.cur.devices = append(t.cur.devices, device{name: string(name), rates: row})
	return true
}

// split is bytes.Fields with reused memory.
func (t *textReports) split(line []byte) [][]byte {
	t.fields = t.fields[:0]
	start := -1
	for i, c := range line {
		if c == ' ' || c == '\t' {
			if start >= 0 {
				t.fields = append(t.fields, line[start:i])
				start = -1
			}
		} else if start < 0 {
			start = i
		}
	}

	if start >= 0 {
		t.fields = append(t.fields, line[start:])
	}

	return t.fields
}

// tens are the powers of ten by which the digits of a figure are divided. Both operands are exact
// doubles, so the quotient is the double nearest to the figure.
var tens = [...]float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}

// figure parses a number of iostat: digits, with a point or comma and up to six decimals. It is
// several times faster than strconv, and accepts commas.
func figure(b []byte) (v float64, comma, ok bool) {
	var mantissa uint64
	point := -1
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			if mantissa >= 1<<53/10 {
				return 0, false, false // beyond rateMax
			}
			mantissa = mantissa*10 + uint64(c-'0')
		case (c == '.' || c == ',') && point < 0 && i > 0:
			point, comma = i, c == ','
		default:
			return 0, false, false
		}
	}

	decimals := 0
	if point >= 0 {
		decimals = len(b) - point - 1
	}

	if len(b) == 0 || decimals >= len(tens) || point == len(b)-1 {
		return 0, false, false
	}

	v = float64(mantissa) / tens[decimals]
	return v, comma, v < rateMax
}
