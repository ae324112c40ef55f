package exposition

import (
	"bytes"
	"math"
	"strconv"
)

const (
	// detectBytes and detectLines are the beginning that decides whether a file is a dump.
	detectBytes = 256 << 10
	detectLines = 1000
	// dumpPageBytes is how much of a dump is parsed at a time.
	dumpPageBytes = 1 << 20

	// A time between these is in seconds: as milliseconds it would be in the first four months of 1970.
	secondsMin, secondsMax = 1e9, 1e10
)

// A dump is a file that is not made of pages: a series is written with all its samples, then the next
// one, as by `promtool tsdb dump` and `promtool tsdb dump-openmetrics`.
type dump struct {
	// series is set if a series is written with its samples one after another.
	series bool
	// seconds is set if the samples' times are seconds, as OpenMetrics has them, though nothing else in
	// the file says that it is OpenMetrics. The text format has milliseconds.
	seconds bool
}

// detectDump tells from a file's beginning whether it is a dump: each of its samples has its own time.
func detectDump(head []byte) (d dump) {
	var last []byte
	var at float64

	lines := 0
	for line := range bytes.Lines(head) {
		if line[len(line)-1] != '\n' || lines == detectLines {
			break // it may be cut short
		}

		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}

		series := identity(line)
		fields := bytes.Fields(line[len(series):])
		if len(fields) != 2 {
			return dump{}
		}

		t, err := strconv.ParseFloat(string(fields[1]), 64)
		if err != nil || math.IsNaN(t) {
			return dump{}
		}

		seconds := t >= secondsMin && t < secondsMax
		if lines > 0 && seconds != d.seconds {
			return dump{}
		}

		d.seconds = seconds
		d.series = d.series || bytes.Equal(series, last) && t > at
		last, at = series, t
		lines++
	}

	return d
}

// nameLabel begins a sample of `promtool tsdb dump`.
var nameLabel = []byte(`{__name__="`)

// nameFirst returns a sample that has the metric's name among its labels in the form that has it
// before them, or as the first in quotes where it is not a plain name. Other lines it leaves.
func nameFirst(line []byte) []byte {
	if len(line) == 0 || line[0] != '{' {
		return line // nearly all
	}

	rest, ok := bytes.CutPrefix(line, nameLabel)
	if !ok {
		return line
	}

	name, rest, ok := bytes.Cut(rest, []byte(`"`))
	if !ok || bytes.IndexByte(name, '\\') >= 0 {
		return line
	}

	out := make([]byte, 0, len(line))
	for i, c := range name {
		if !isNameByte(c, i > 0) {
			out = append(append(append(out, `{"`...), name...), '"')
			return append(out, rest...)
		}
	}

	rest = bytes.TrimPrefix(rest, []byte(","))
	return append(append(append(out, name...), '{'), bytes.TrimLeft(rest, " ")...)
}
