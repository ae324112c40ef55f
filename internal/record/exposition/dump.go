package exposition

import (
	"bytes"
	"math"
	"strconv"
)

const (
	// detectBytes and detectLines bound the beginning of a file that decides whether it is a dump.
	detectBytes = 256 << 10
	detectLines = 1000
	// dumpPageBytes is the size of the pieces in which a dump is parsed.
	dumpPageBytes = 1 << 20

	// A time between these is in seconds: in milliseconds it would be in the first four months of
	// 1970.
	secondsMin, secondsMax = 1e9, 1e10
)

// A dump is a file that does not consist of pages: each series is written with all its samples,
// then the next one. `promtool tsdb dump` and `promtool tsdb dump-openmetrics` write dumps.
type dump struct {
	// series is set if the samples of a series follow each other.
	series bool
	// seconds is set if times are in seconds, as in OpenMetrics, although nothing else in the file
	// says that it is OpenMetrics. The text format has milliseconds.
	seconds bool
}

// detectDump decides from the beginning of a file whether it is a dump: each sample has its own
// time.
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

		// A mix of units means that the numbers are not times.
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

// nameLabel starts a sample of `promtool tsdb dump`.
var nameLabel = []byte(`{__name__="`)

// nameFirst rewrites a sample that has the metric's name among its labels: the name comes before
// the labels, or as the first label in quotes if it is not a plain name. Other lines are unchanged.
func nameFirst(line []byte) []byte {
	if len(line) == 0 || line[0] != '{' {
		return line // the usual case
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
