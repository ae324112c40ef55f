package diskstats

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// assumedPeriod is the interval between samples without times, unless the user gives one.
const assumedPeriod = time.Second

// untimed places the samples of a file without times: each begins with the row of the same device.
type untimed struct {
	first  string // the device
	next   time.Time
	period time.Duration
}

// survey finds out whether a file has times and, if not, how many samples it has.
// A read error occurs again when the file is read, and is reported then.
func survey(in io.Reader) (timed bool, first string, samples int) {
	lines := source.NewLineReader(in, lineBytesMax)
	for {
		line, long, err := lines.Next()
		if long {
			line = nil
		}
		if _, ok := timeOf(line, time.UTC); ok {
			return true, "", 0
		}
		if beginsWithNumber(line) && row.Match(line) {
			d, ok, bad := procfs.ParseDisk(strings.TrimSpace(string(line)))
			switch {
			case bad != nil || !ok:
			case first == "":
				first, samples = d.Name, 1
			case d.Name == first:
				samples++
			}
		}

		if err != nil {
			return false, first, samples
		}
	}
}

// placed returns the placement of a file without times; nil if it has times.
func (f *file) placed(period time.Duration) (*untimed, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}

	defer in.Close()
	timed, first, samples := survey(in)
	if timed || samples == 0 {
		return nil, nil
	}

	if period <= 0 {
		period = assumedPeriod
	}
	end := f.Modified.Truncate(time.Second)
	if f.Modified.IsZero() || f.Modified.Unix() <= 0 {
		end = time.Unix(1e9, 0)
	}

	return &untimed{first: first, next: end.Add(-time.Duration(samples-1) * period), period: period}, nil
}

// begins reports whether a row is the first of a sample, and returns the sample's time.
func (u *untimed) begins(line []byte) (time.Time, bool) {
	fields := bytes.Fields(line)
	if len(fields) < 3 || string(fields[2]) != u.first {
		return time.Time{}, false
	}
	at := u.next
	u.next = at.Add(u.period)
	return at, true
}

func (u *untimed) note(path string) recording.Note {
	return recording.Note{Kind: recording.NoteClock, Source: path, File: path, Text: fmt.Sprintf(
		"the samples have no times: they were placed %s apart, the last one at the file's modification time; record them with: while sleep 1; do date +%%s.%%N; cat /proc/diskstats; done",
		u.period)}
}
