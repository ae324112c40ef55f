// Package vmstat reads the output of vmstat (procps 3 and 4, any of -t -w -n -a -S), with or without
// the times of a pipeline before its lines. It keeps node_exporter's names:
//
//	r, b                 node_procs_running, node_procs_blocked
//	si, so, bi, bo       node_vmstat_pswpin, ..._pswpout, ..._pgpgin, ..._pgpgout (rates, summed)
//	in, cs               node_intr_total, node_context_switches_total
//	us, sy, id, wa, st   node_cpu_seconds_total{cpu="all", mode}
//
// vmstat has no figures of single devices and no latency, and -S changes the unit of memory without
// saying so: memory is left out. Its first line is the average since boot
// and is dropped.
package vmstat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/samples"
	"plimsoll/internal/record/source"
)

const (
	columnsMax = 32
	// swapPageKiB is the size of a page on x86-64 and most arm64 kernels: node_exporter counts
	// pages, vmstat KiB.
	swapPageKiB = 4
)

// A column is the meaning of a heading.
type column struct {
	metric, mode string
	factor       float64
	rate         bool // per second, so that it becomes a counter
}

var columns = map[string]column{
	"r": {metric: "node_procs_running", factor: 1}, "b": {metric: "node_procs_blocked", factor: 1},
	"si": {metric: "node_vmstat_pswpin", factor: 1. / swapPageKiB, rate: true},
	"so": {metric: "node_vmstat_pswpout", factor: 1. / swapPageKiB, rate: true},
	"bi": {metric: "node_vmstat_pgpgin", factor: 1, rate: true},
	"bo": {metric: "node_vmstat_pgpgout", factor: 1, rate: true},
	"in": {metric: "node_intr_total", factor: 1, rate: true},
	"cs": {metric: "node_context_switches_total", factor: 1, rate: true},
	"us": cpu("user"), "sy": cpu("system"), "id": cpu("idle"), "wa": cpu("iowait"), "st": cpu("steal"),
}

func cpu(mode string) column {
	return column{metric: "node_cpu_seconds_total", mode: mode, factor: 0.01, rate: true}
}

// Sniff reports whether a text is vmstat's output: its heading of columns.
func Sniff(head []byte) bool {
	if !bytes.Contains(head, []byte("swpd")) || !bytes.Contains(head, []byte("procs")) {
		return false
	}
	for line := range bytes.Lines(head) {
		if headingAt(bytes.Fields(line)) >= 0 {
			return true
		}
	}
	return false
}

func isHeading(line []byte) bool {
	return bytes.HasPrefix(line, []byte("procs ")) || headingAt(bytes.Fields(line)) == 0
}

// headingAt returns where the heading starts among the fields of a line: after a prefix's. It is -1 if
// the line is not a heading.
func headingAt(fields [][]byte) int {
	for i := 0; i+2 < len(fields); i++ {
		if string(fields[i]) == "r" && string(fields[i+1]) == "b" && string(fields[i+2]) == "swpd" {
			return i
		}
	}
	return -1
}

// New prepares a file, which is read later.
func New(from source.File) source.Source {
	return &file{source.OfFile(from, recording.Source{Kind: "vmstat"})}
}

type file struct{ *source.RecordedFile }

// Read implements source.Source. It reads the file twice: where lines without a date belong depends
// on how many there are.
func (f *file) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	// The first pass only counts rows and finds dates.
	first := &reader{opt: opt}
	if _, err := f.pass(ctx, opt, first, func(row) error { return nil }); err != nil {
		return err
	}

	if first.rows < 2 {
		return fmt.Errorf("vmstat output %s has %d lines of figures, and the first is the average since boot: record with vmstat -t 1",
			f.Path, first.rows)
	}

	place := newPlacer(first, f.Modified, opt)
	out := samples.NewWriter(ctx, w, opt, f.Path)
	e := &emitter{w: out, ids: map[string]samples.ID{}}

	lines, err := f.pass(ctx, opt, &reader{opt: opt}, func(x row) error {
		return e.add(x, place.at(x))
	})
	if err != nil {
		return err
	}

	if err := out.End(&f.Recorded); err != nil {
		return err
	}
	for _, n := range lines.Notes() {
		w.Note(n)
	}
	if text := place.note(); text != "" {
		out.Note(recording.NoteClock, text)
	}

	return nil
}

// pass reads the file once.
func (f *file) pass(ctx context.Context, opt source.Options, r *reader,
	visit func(row) error) (*samples.Lines,
	error) {
	lines, err := samples.OpenAs(ctx, f.File, opt, isHeading)
	if err != nil {
		return nil, fmt.Errorf("vmstat output: %w", err)
	}

	defer lines.Close()
	for {
		line, ok := lines.Next()
		if !ok {
			return lines, lines.Err()
		}
		x, ok, err := r.line(line, lines.Stamp)
		if err != nil {
			lines.Damaged(err.Error())
		}
		if ok {
			if err := visit(x); err != nil {
				return nil, err
			}
		}
	}
}

// A row is a line of figures.
type row struct {
	number  int64 // from 0
	stamp   time.Time
	day     int // midnights before it, if clock is known
	clockS  int // seconds of the day, -1 if unknown
	columns []column
	values  []float64
}

// reader recognises rows.
type reader struct {
	opt     source.Options
	columns []column
	clock   bool // a time of day comes before the figures
	stamped bool // -t
	rows    int64
	day     int
	lastS   int
	x       row
}

func (r *reader) line(line []byte, stamp time.Time) (parsed row, ok bool, err error) {
	fields := bytes.Fields(line)
	if at := headingAt(fields); at >= 0 {
		r.heading(fields[at:])
		return parsed, false, nil
	}
	if bytes.Contains(line, []byte("procs")) {
		r.clock = len(fields) > 0 && string(fields[0]) == "--time--"
		r.stamped = bytes.Contains(line, []byte("timestamp"))
		return parsed, false, nil
	}
	if len(r.columns) == 0 || len(fields) == 0 {
		return parsed, false, nil
	}

	clockS := -1
	if r.clock {
		if clockS = clockOf(fields[0]); clockS >= 0 {
			fields = fields[1:]
		}
	}

	// Rows of other programs, such as those of dmesg, have other fields.
	if len(fields) < len(r.columns) || fields[0][0] < '0' || fields[0][0] > '9' {
		return parsed, false, nil
	}

	values := r.x.values[:0]
	for i := range r.columns {
		v, err := strconv.ParseFloat(string(fields[i]), 64)
		if err != nil || v < 0 {
			return parsed, false, fmt.Errorf("%q is not a figure of vmstat", fields[i])
		}
		values = append(values, v)
	}

	if rest := fields[len(r.columns):]; r.stamped && len(rest) >= 2 {
		at, err := time.ParseInLocation("2006-01-02 15:04:05", string(rest[0])+" "+string(rest[1]),
			cmp.Or(r.opt.Location, time.Local))
		if err != nil {
			return parsed, false, errors.New("the time stamp is not a time")
		}
		stamp = at
	}

	if clockS >= 0 && clockS < r.lastS {
		r.day++
	}
	r.lastS = max(clockS, 0)

	r.x = row{number: r.rows, stamp: stamp, day: r.day, clockS: clockS, columns: r.columns, values: values}
	r.rows++
	return r.x, true, nil
}

func (r *reader) heading(fields [][]byte) {
	r.columns = r.columns[:0:0]
	for _, f := range fields[:min(len(fields), columnsMax)] {
		// -t adds the zone's name, or nothing, after the last column.
		c, known := columns[string(f)]
		if !known && len(f) > 0 && f[0] >= 'A' && f[0] <= 'Z' {
			break
		}
		r.columns = append(r.columns, c)
	}
}

// clockOf parses a time of day; -1 if it is none.
func clockOf(f []byte) int {
	t, err := time.Parse("15:04:05", string(f))
	if err != nil {
		return -1
	}
	return t.Hour()*3600 + t.Minute()*60 + t.Second()
}

// placer gives rows their times.
type placer struct {
	rows     int64
	days     int
	lastS    int
	midnight time.Time // of the last day
	last     time.Time
	period   time.Duration
	clock    bool
	stamped  bool
}

func newPlacer(r *reader, modified time.Time, opt source.Options) *placer {
	p := &placer{rows: r.rows, days: r.day, lastS: r.lastS, period: opt.Period, clock: r.x.clockS >= 0,
		stamped: !r.x.stamp.IsZero(), last: modified.Truncate(time.Second)}
	if p.period <= 0 {
		p.period = time.Second
	}
	if modified.IsZero() || modified.Unix() <= 0 {
		p.last = time.Unix(1e9, 0)
	}

	// Times of day belong to the last day on which the file can have been written.
	l := p.last.In(cmp.Or(opt.Location, time.Local))
	p.midnight = time.Date(l.Year(), l.Month(), l.Day(), 0, 0, 0, 0, l.Location())
	if p.midnight.Add(time.Duration(p.lastS) * time.Second).After(l.Add(time.Minute)) {
		p.midnight = p.midnight.AddDate(0, 0, -1)
	}

	return p
}

func (p *placer) at(x row) time.Time {
	switch {
	case !x.stamp.IsZero():
		return x.stamp
	case x.clockS >= 0:
		return p.midnight.AddDate(0, 0, x.day-p.days).Add(time.Duration(x.clockS) * time.Second)
	}
	return p.last.Add(-time.Duration(p.rows-1-x.number) * p.period)
}

// note says which times were assumed.
func (p *placer) note() string {
	switch {
	case p.stamped:
		return ""
	case p.clock:
		return "the lines have a time of day without a date: the last one was placed on the day of the file's modification"
	}
	return fmt.Sprintf("the lines have no times: they were placed %s apart, the last one at the file's modification time; record with vmstat -t 1, or give --period",
		p.period)
}

// emitter writes rows as samples.
type emitter struct {
	w    *samples.Writer
	ids  map[string]samples.ID
	last time.Time
}

func (e *emitter) add(x row, at time.Time) error {
	previous := e.last
	e.last = at

	// The first row is the average since boot. It marks the start of the second one's interval.
	if err := e.w.Time(at); err != nil || x.number == 0 {
		return err
	}

	interval := at.Sub(previous)
	for i, c := range x.columns {
		if c.metric == "" {
			continue
		}

		key := c.metric + c.mode
		id, known := e.ids[key]
		if !known {
			var pairs []string
			if c.mode != "" {
				pairs = []string{"cpu", "all", "mode", c.mode}
			}
			id = e.w.ID(c.metric, pairs...)
			e.ids[key] = id
		}

		switch v := x.values[i] * c.factor; {
		case math.IsInf(v, 0):
		case c.rate && interval > 0:
			e.w.SetOver(id, interval, v)
		case !c.rate:
			e.w.Set(id, v)
		}
	}

	return nil
}
