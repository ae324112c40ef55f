// Package serverlog reads the logs of database servers. It handles lines, prefixes, times and bounds; an
// engine's package describes the content of its lines, as a [Format].
//
// A log is a list of events, most of them about something slow, and not a measurement taken at
// regular times. To put events on a timeline with other sources, they become counters with one
// value per second, or coarser if the log is long:
//
//	NAME_total                   events of a kind so far
//	NAME_seconds_total           what they took, added when each ended
//	NAME_running_seconds_total   the same, added while each ran; its rate is how many ran at a time
//	NAME_longest_seconds         the longest that ended in this interval, 0 if none did
//
// A server usually logs only calls over a threshold. So these counters describe the slow calls and
// say nothing about how many others there were: no rule may compute a share of all calls from them.
// A counter of zero means that nothing was logged, which is not the same as nothing was slow.
//
// A pipeline may have put its own time in front of each line, or wrapped it in JSON: journald, docker
// and Kubernetes. If a line has two times, the one with a zone counts. Files that log rotation made,
// compressed or not, are one source.
package serverlog

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// A Format is the log of one kind of server.
type Format struct {
	// Kind and Engine describe the source: "etcd-log", "etcd".
	Kind, Engine string
	// Product is its display name.
	Product string
	// Series are the kinds of events that a Parser records, by index.
	Series []Series
	// Is reports whether a line certainly comes from such a log. raw is the whole line, which may
	// name the program; text is the line without a pipeline's prefix.
	Is func(raw, text []byte) bool
	// Stamp reads the time that the server itself wrote at the beginning of a line.
	Stamp func(text []byte) (lineprefix.Time, bool)
	// Keep reports whether a line may be about an event. It must be cheap, because it is called for every
	// line, and it may err on the side of keeping a line. In JSON, quotes in a line are escaped.
	Keep func(raw []byte) bool
	// New returns a reader of lines, which adds what it finds to e.
	New func(e *Events) Parser
}

// A Parser reads the lines that [Format.Keep] kept, in order.
type Parser interface {
	// Line reads a line without its prefix. The text is only valid until it returns.
	Line(at time.Time, text []byte)
	// End is called after the last line of all files.
	End(at time.Time)
}

// Limits of a log.
const (
	lineBytesMax = 1 << 20
	// headLinesMax is how many lines at the beginning decide what a file is, and linesLeast the share
	// of them that must be the server's own: traces and other programs' lines come in between.
	headLinesMax = 400
	linesLeast   = 0.1
)

// Sniff reports whether head, the first bytes of a file, is of this format.
func (f *Format) Sniff(head []byte) bool {
	_, ok := f.detect(head)
	return ok
}

// detect returns the wrapper of a log's lines; false if it is not such a log.
func (f *Format) detect(head []byte) (wrapper, bool) {
	var best wrapper
	most, lines := 0, 0

	for i, w := range wrappers(head) {
		hits, seen := 0, 0
		for line := range bytes.Lines(head) {
			if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
				continue
			}
			if seen++; seen > headLinesMax {
				break
			}
			if text, _, ok := w.cut(line); ok && f.Is(line, text) {
				hits++
			}
		}

		if i == 0 {
			lines = seen
		}
		if hits > most {
			best, most = w, hits
		}
	}

	return best, most > 0 && float64(most) >= linesLeast*float64(min(lines, headLinesMax))
}

// Open prepares a log, which is read later.
func (f *Format) Open(from source.File) source.Source {
	l := &log{format: f, parts: []source.File{from}}
	l.SetDescription(recording.Source{Kind: f.Kind, Name: from.Path, Engine: f.Engine})
	return l
}

type log struct {
	source.Recorded

	format *Format
	parts  []source.File
}

// rotated matches what log rotation adds to or changes in a file's name: a number or a date at the
// end, a date in the middle, the day of the week, a suffix of compression.
var rotated = regexp.MustCompile(`(?i)(\.(gz|zst|bz2))$|\.\d{1,4}$|[-_.]?\d{4}-?\d\d-?\d\d([T_-]?\d\d[-:]?\d\d[-:]?\d\d)?|-(mon|tue|wed|thu|fri|sat|sun)\b`)

// Whole implements source.Part: files in one folder whose names differ only by what rotation adds.
func (l *log) Whole() string {
	name := filepath.Base(l.parts[0].Path)
	for {
		shorter := rotated.ReplaceAllString(name, "")
		if shorter == name {
			return l.format.Kind + "\x00" + filepath.Join(filepath.Dir(l.parts[0].Path), name)
		}
		name = shorter
	}
}

// With implements source.Part.
func (l *log) With(others []source.Source) source.Source {
	whole := &log{format: l.format, parts: slices.Clone(l.parts)}
	for _, o := range others {
		whole.parts = append(whole.parts, o.(*log).parts...)
	}
	whole.SetDescription(l.Describe())
	return whole
}

// names lists the files of a log for a note.
func (l *log) names() string {
	var out []string
	for _, p := range l.parts {
		out = append(out, filepath.Base(p.Path))
	}
	return strings.Join(out, ", ")
}
