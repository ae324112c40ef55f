package exposition

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/source"
)

const (
	// joinedBytesMax bounds the size of files that are compared in order to join them.
	joinedBytesMax = 16 << 20
	// savedApartMin is the minimum distance between modification times to use them as the times of
	// the pages: copies are often made within one second.
	savedApartMin = 500 * time.Millisecond
	// countersMin is the number of counters needed to show that pages are from one server: fewer
	// may agree by chance.
	countersMin = 3
	// apartMax is the maximum distance between pages of one server. The CPU time of another host
	// usually differs by more than that.
	apartMax = 24 * time.Hour
	// alikeMin is the minimum share of series that two pages of one server have in common. Some
	// series appear only with the first request of a kind.
	alikeMin = 0.8
)

// Joined merges files with one page each of the same server into one source, in order of time; a
// loop over `curl -o` writes such files. Elements that were merged into another become nil. Pages
// are from one server if they have the same series, the process started at the same time, and no
// counter falls from page to page. Pages that several servers had at the same time do not pass
// these tests.
func Joined(all []source.Source) {
	var left []*single
	for i, s := range all {
		if f, ok := s.(*file); ok {
			if one := readSingle(f); one != nil {
				one.index = i
				left = append(left, one)
			}
		}
	}

	for len(left) > 1 {
		first := left[0]
		var same, others []*single
		for _, one := range left {
			if one == first || one.alike(first) {
				same = append(same, one)
			} else {
				others = append(others, one)
			}
		}

		left = others

		// Without times, the sum of all counters gives the order: it only grows while the server
		// runs.
		slices.SortStableFunc(same, func(a, b *single) int { return cmp.Compare(a.sum, b.sum) })

		// If counters fall or the pages are too far apart, they are not from one running server.
		if len(same) < 2 || !rising(same) || apart(same) > apartMax {
			continue
		}

		joined := &file{exporters: first.file.exporters}
		for _, one := range same {
			all[one.index] = nil
			joined.parts = append(joined.parts, one.file.parts...)
		}

		joined.period = apart(same)
		joined.SetDescription(first.file.Describe())
		all[first.index] = joined
	}
}

// A single is a file with one page.
type single struct {
	file     *file
	index    int
	began    string // start times of the process and the host, and info series
	series   map[string]bool
	counters map[string]float64
	sum      float64 // of the counters, which grows with time
}

// errSecond stops reading a file that has more than one page.
var errSecond = errors.New("a second page")

// readSingle reads a file that may have a single page. It returns nil if the file does not.
func readSingle(f *file) *single {
	if f.parts[0].Bytes > joinedBytesMax {
		return nil
	}

	one := &single{file: f, series: map[string]bool{}, counters: map[string]float64{}}
	pages := 0
	_, err := f.each(context.Background(), source.Options{}, time.UTC, 0, before, func(p *page) error {
		if pages++; pages > 1 || len(p.body) > joinedBytesMax {
			return errSecond
		}
		one.read(p.body)
		return nil
	}, nil)
	if err != nil || pages != 1 {
		return nil
	}

	return one
}

// read collects the series of a page, and which of them are counters, by type or by name.
func (o *single) read(body []byte) {
	typed := map[string]bool{}
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if rest, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
			if f := bytes.Fields(rest); len(f) == 2 && string(f[1]) == "counter" {
				typed[string(f[0])] = true
			}
			continue
		}

		series := identity(line)
		if len(series) == 0 || line[0] == '#' {
			continue
		}

		text := string(series)
		o.series[text] = true
		name, _, _ := bytes.Cut(series, []byte("{"))

		fields := bytes.Fields(line[len(series):])
		if len(fields) == 0 {
			continue
		}

		switch {
		case string(name) == "process_start_time_seconds", string(name) == "node_boot_time_seconds":
			// A restarted process has the same series with another start time, so the start time is part of
			// its identity.
			o.began += text + string(fields[0])
		case bytes.HasSuffix(name, []byte("_info")): // contains the host's name, among others
			o.began += text
		}

		v, err := strconv.ParseFloat(string(fields[0]), 64)
		// NaN is not equal to itself: as a counter's value it would never compare as increasing.
		if err != nil || v != v {
			continue
		}

		if typed[string(name)] || bytes.HasSuffix(name, []byte("_total")) ||
			bytes.HasSuffix(name, []byte("_count")) || bytes.HasSuffix(name, []byte("_bucket")) {
			o.counters[text] = v
			o.sum += v
		}
	}
}

// alike reports whether two pages have the series of the same process.
func (o *single) alike(p *single) bool {
	common := 0
	for s := range o.series {
		if p.series[s] {
			common++
		}
	}
	return o.began == p.began && float64(common) >= alikeMin*float64(max(len(o.series), len(p.series)))
}

// rising reports whether, from each page to the next, no counter falls and at least one rises.
func rising(pages []*single) bool {
	for i := 1; i < len(pages); i++ {
		compared, rises := 0, false
		for s, was := range pages[i-1].counters {
			now, ok := pages[i].counters[s]
			if !ok {
				continue
			}
			if now < was {
				return false
			}
			compared, rises = compared+1, rises || now > was
		}

		if compared < countersMin || !rises {
			return false
		}
	}
	return true
}

// apart returns the minimum distance between undated pages, or 0 if they do not show it: all modes
// of a CPU together count one second per second, and a device is busy for at most one second per
// second.
func apart(pages []*single) time.Duration {
	most := 0.0
	for i := 1; i < len(pages); i++ {
		processors := map[string]float64{}
		for s, was := range pages[i-1].counters {
			now, ok := pages[i].counters[s]
			if !ok {
				continue
			}
			if rest, ok := strings.CutPrefix(s, "node_cpu_seconds_total{"); ok {
				processors[cpuLabel.FindString(rest)] += now - was
			} else if strings.HasPrefix(s, "node_disk_io_time_seconds_total{") {
				most = max(most, now-was)
			}
		}

		for _, seconds := range processors {
			most = max(most, seconds)
		}
	}

	return time.Duration(math.Round(most*1000)) * time.Millisecond
}

// cpuLabel matches the label that identifies a CPU.
var cpuLabel = regexp.MustCompile(`\bcpu="[^"]*"`)

// savedApart reports whether the modification times of the files can be the times of the pages.
func (f *file) savedApart() bool {
	for i := 1; i < len(f.parts); i++ {
		if f.parts[i].Modified.Sub(f.parts[i-1].Modified) < savedApartMin {
			return false
		}
	}
	return len(f.parts) > 1
}

// joinedText says which files a source was joined from.
func (f *file) joinedText() string {
	return fmt.Sprintf("joined %d files with one page each into one source, in the order of their counters: %s to %s",
		len(f.parts), f.parts[0].Path, f.parts[len(f.parts)-1].Path)
}
