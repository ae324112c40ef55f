package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/source"
)

// A page is one scrape in a file.
type page struct {
	body   []byte
	offset int64 // of body in the file
	time   time.Time
	timed  bool
	eof    bool   // ends with OpenMetrics' # EOF
	torn   string // why its end is torn, "" if it is not
	path   string // of its file
	saved  time.Time
}

// contentType returns the content type that the exporter would have sent.
func (p *page) contentType() string {
	if p.eof {
		return openMetricsType
	}
	return textType
}

const (
	openMetricsType = "application/openmetrics-text; version=1.0.0"
	textType        = "text/plain; version=0.0.4"
)

var eofLine = []byte("# EOF")

// dates says where the dates in a file are.
type dates uint8

const (
	before dates = iota // before each page
	after               // after each page
	none
)

// splitter cuts a file into pages.
type splitter struct {
	in      *source.LineReader
	loc     *time.Location
	dates   dates
	dump    dump
	dated   bool // a date was seen
	err     error
	failure error // read error other than the end of the file
	lost    bool  // the failure came before the newest page had a sample, so no page reports it
	pages   int

	body     bytes.Buffer
	first    []byte // identity of the first line of the page
	samples  bool   // the page has samples
	pageTime time.Time
	timed    bool
	carry    []byte // the line that opens the next page
	carryPos int64
	large    bool
	done     page
}

// next returns the next page with samples. It is valid until the next call.
func (s *splitter) next() (*page, error) {
	s.body.Reset()
	s.first, s.samples, s.large = s.first[:0], false, false
	s.timed = false
	s.done = page{offset: s.in.To}

	if len(s.carry) > 0 {
		s.done.offset = s.carryPos
		line := s.carry
		s.carry = nil
		if s.addLine(line) {
			return s.finish(), nil
		}
	}

	for s.err == nil {
		line, at := s.readLine()
		if line == nil {
			continue
		}
		if s.opensNext(line) {
			s.carry, s.carryPos = bytes.Clone(line), at
			return s.finish(), nil
		}
		if s.addLine(line) {
			return s.finish(), nil
		}
	}

	if !errors.Is(s.err, io.EOF) {
		// The compressed bytes are torn. Everything before that is still valid.
		s.done.torn = "read error: " + s.err.Error()
		s.failure, s.err = s.err, io.EOF
	}

	if s.samples {
		return s.finish(), nil
	}
	if s.failure != nil && s.pages == 0 {
		return nil, s.failure
	}

	s.lost = s.failure != nil
	return nil, io.EOF
}

func (s *splitter) finish() *page {
	s.pages++
	if s.dump.seconds && !s.done.eof {
		s.body.WriteString("# EOF\n")
		s.done.eof = true
	}
	s.done.body, s.done.time, s.done.timed = s.body.Bytes(), s.pageTime, s.timed
	if s.large {
		s.done.torn = fmt.Sprintf("the page is larger than %d bytes", PageBytesMax)
	}
	return &s.done
}

// readLine returns the next complete line with its line end. It drops lines that are too long, and
// a last line without a line end, which may have lost digits.
func (s *splitter) readLine() (line []byte, at int64) {
	b, long, err := s.in.Next()
	at = s.in.From
	if long {
		s.done.torn = fmt.Sprintf("line longer than %d bytes", lineBytesMax)
		b = nil
	}

	if err != nil {
		s.err = err
		if !errors.Is(err, io.EOF) {
			return nil, at
		}
		if len(b) > 0 && !bytes.Equal(b, eofLine) {
			s.done.torn = "the file ends in the middle of a line"
			return nil, at
		}
	}

	return b, at
}

// opensNext reports whether a line belongs to the page after the current one.
func (s *splitter) opensNext(line []byte) bool {
	if !s.samples {
		return false
	}
	if s.dump.series {
		return s.body.Len() >= dumpPageBytes
	}
	line = bytes.TrimRight(line, "\r\n")
	if s.dates == before {
		if _, ok := parseTime(line, s.loc); ok {
			return true
		}
	}
	// The first line of the page again: nothing else separates the pages.
	return len(s.first) > 0 && bytes.Equal(identity(line), s.first)
}

// addLine adds a line to the current page and reports whether the page ends with it.
func (s *splitter) addLine(line []byte) (ends bool) {
	text := bytes.TrimRight(line, "\r\n")
	if bytes.Equal(text, eofLine) {
		if !s.samples {
			return false
		}
		s.done.eof = true
		s.body.WriteString("# EOF\n")
		return s.dates != after
	}

	if t, ok := parseTime(text, s.loc); ok {
		s.pageTime, s.timed, s.dated = t, true, true
		return s.samples && s.dates == after
	}

	if s.done.eof || s.large {
		return false
	}

	// The rest of the page is skipped, but its end is still found.
	if s.body.Len()+len(text)+1 > PageBytesMax {
		s.large = true
		return false
	}

	meta := len(text) > 0 && text[0] == '#'
	s.samples = s.samples || len(bytes.TrimSpace(text)) > 0 && !meta
	if len(s.first) == 0 && len(text) > 0 {
		s.first = append(s.first, identity(text)...)
	}

	if len(text) == 0 && (s.body.Len() == 0 || s.dump.seconds) {
		return false // OpenMetrics has no empty lines
	}

	s.body.Write(nameFirst(text))
	s.body.WriteByte('\n')
	return false
}

// identity returns the part of a line that repeats on each page: a whole description, or a sample
// without its value. A comment has none.
func identity(line []byte) []byte {
	if bytes.HasPrefix(line, []byte("# HELP ")) || bytes.HasPrefix(line, []byte("# TYPE ")) {
		return line
	}
	if len(line) == 0 || line[0] == '#' {
		return nil
	}
	if i := bytes.LastIndexByte(line, '}'); i >= 0 {
		return line[:i+1]
	}
	if i := bytes.IndexAny(line, " \t"); i >= 0 {
		return line[:i]
	}
	return line
}

// layouts are the usual formats of dates between pages: RFC 3339, date, date -R, date -Is, and date
// in other locales.
var layouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05-0700",
	"2006-01-02T15:04:05,999999999-07:00",
	"2006-01-02 15:04:05.999999999 -0700",
	"2006-01-02 15:04:05.999999999-07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04:05.999999999",
	time.UnixDate,
	"Mon _2 Jan 2006 15:04:05 MST",
	"Mon _2 Jan 2006 03:04:05 PM MST",
	"Mon Jan _2 03:04:05 PM MST 2006",
	time.RFC1123Z,
	time.RFC1123,
	time.ANSIC,
}

var weekdays = map[string]bool{"Mon": true, "Tue": true, "Wed": true, "Thu": true, "Fri": true, "Sat": true,
	"Sun": true}

// parseTime parses a line that is a date, or a number of seconds, milliseconds, microseconds or
// nanoseconds since 1970, with or without a # and one word before it ("scraped", "time:").
func parseTime(line []byte, loc *time.Location) (time.Time, bool) {
	if len(line) < 9 || len(line) > 80 {
		return time.Time{}, false
	}
	text, comment := strings.CutPrefix(strings.TrimSpace(string(line)), "#")
	text = strings.TrimSpace(text)
	if t, ok := parseMoment(text, loc); ok {
		return t, true
	}
	if word, rest, ok := strings.Cut(text, " "); ok && comment && isWord(word) {
		return parseMoment(strings.TrimSpace(rest), loc)
	}
	return time.Time{}, false
}

func isWord(s string) bool {
	s = strings.TrimRight(s, ":=@")
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	return s != "HELP" && s != "TYPE" && s != "UNIT"
}

func parseMoment(text string, loc *time.Location) (time.Time, bool) {
	if len(text) < 9 || (text[0] < '0' || text[0] > '9') && !weekdays[text[:3]] {
		return time.Time{}, false // most lines are not dates
	}

	if c := text[0]; c >= '0' && c <= '9' {
		if t, ok := parseEpoch(text); ok {
			return t, true
		}
	}

	for _, layout := range layouts {
		t, err := time.ParseInLocation(layout, text, loc)
		if err != nil {
			continue
		}
		// An abbreviation that loc does not know ("CEST") is parsed as a name without an offset.
		// The wall clock in loc is then the best estimate.
		if name, offset := t.Zone(); strings.Contains(layout, "MST") && offset == 0 && name != "UTC" &&
			name != "GMT" {
			t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, loc)
		}
		return t, true
	}

	return time.Time{}, false
}

// parseEpoch infers the unit from the magnitude: 1e9 to 1e10 seconds are the years 2001 to 2286.
func parseEpoch(text string) (time.Time, bool) {
	if strings.Trim(text, "0123456789.") != "" {
		return time.Time{}, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 1e9 {
		return time.Time{}, false
	}
	for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
		if s := v / unit; s < 1e10 {
			return time.UnixMilli(int64(math.Round(s * 1000))), true
		}
	}
	return time.Time{}, false
}

func isFloat(b []byte) bool {
	_, err := strconv.ParseFloat(string(b), 64)
	return err == nil
}
