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
	// joinedBytesMax bounds the files of one page that are compared before they are joined.
	joinedBytesMax = 16 << 20
	// savedApartMin is how far apart files must have been saved for their dates to be those of their
	// pages: copies are often made within one second.
	savedApartMin = 500 * time.Millisecond
	// countersMin is how many counters show that pages are of one server: fewer may agree by chance.
	countersMin = 3
	// apartMax is how far apart two pages of one server may be. What a processor has counted since
	// another host began is usually more.
	apartMax = 24 * time.Hour
	// alikeMin is the share of the series that two pages of one server have in common at least. Some
	// appear with the first request of a kind.
	alikeMin = 0.8
)

// Joined makes one source of files that hold one page each of the same server, in order of time, as a
// loop over `curl -o` leaves them. Elements that became part of another are nil afterwards. Pages are
// of one server if they have the same series, the process began at the same time, and no counter of
// any falls: pages that several servers had at the same time differ in that.
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
		slices.SortStableFunc(same, func(a, b *single) int { return cmp.Compare(a.sum, b.sum) })
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
	began    string // when its process and host did, and what the page says of them
	series   map[string]bool
	counters map[string]float64
	sum      float64 // of the counters: it rises with time
}

// errSecond ends reading a file that has more than one page.
var errSecond = errors.New("a second page")

// readSingle reads a file that may hold one page; nil if it does not.
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

// read takes a page's series, and which of them are counters: by their type, or by their name.
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
			o.began += text + string(fields[0])
		case bytes.HasSuffix(name, []byte("_info")): // the host's name, among others
			o.began += text
		}

		v, err := strconv.ParseFloat(string(fields[0]), 64)
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

// alike reports whether two pages have the same process's series.
func (o *single) alike(p *single) bool {
	common := 0
	for s := range o.series {
		if p.series[s] {
			common++
		}
	}
	return o.began == p.began && float64(common) >= alikeMin*float64(max(len(o.series), len(p.series)))
}

// rising reports whether no counter falls from one page to the next, and some rise.
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

// apart is how far apart undated pages must have been taken, 0 if they do not show it: a processor's
// modes together count each second once, and a device is busy for a second of each second at most.
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

// cpuLabel is the part of a series that names a processor.
var cpuLabel = regexp.MustCompile(`\bcpu="[^"]*"`)

// savedApart reports whether the dates of the files can be those of their pages.
func (f *file) savedApart() bool {
	for i := 1; i < len(f.parts); i++ {
		if f.parts[i].Modified.Sub(f.parts[i-1].Modified) < savedApartMin {
			return false
		}
	}
	return len(f.parts) > 1
}

// joinedText says which files a source was joined of.
func (f *file) joinedText() string {
	return fmt.Sprintf("%d files of one page each are one source, in the order of their counters: %s to %s",
		len(f.parts), f.parts[0].Path, f.parts[len(f.parts)-1].Path)
}
