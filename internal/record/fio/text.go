package fio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// fio's normal report (fio: stat.c, show_ddir_status and show_thread_status_normal; 2.x and 3.x).
// It has no syncs before 3.5, and less detail than the JSON.

const (
	textBytesMax = 16 << 20
	textLineMax  = 64 << 10
)

var (
	textSetup   = regexp.MustCompile(`^(\S.*): \(g=\d+\): (rw=.*)$`)
	textJob     = regexp.MustCompile(`^(\S.*): \(groupid=\d+, jobs=(\d+)\): err= ?(-?\d+)[^:]*: pid=\d+(?:: (.*))?$`)
	textVersion = regexp.MustCompile(`^(fio-[0-9][0-9A-Za-z.+-]*)$`)
	textNew     = regexp.MustCompile(`^(read|write|trim)\s*: IOPS=([0-9.]+[kMG]?), BW=.*\(([0-9.]+)([KMGTP]?i?B)/(\d+)(msec|sec)\)`)
	textOld     = regexp.MustCompile(`^(read|write|trim)\s*: io=([0-9.]+)([KMGTP]?i?B), .*iops=\s*([0-9.]+[kMG]?), runt=\s*(\d+)(msec|sec)`)
	textLatency = regexp.MustCompile(`^(slat|clat|lat|sync) \((nsec|usec|msec|sec)\): min=\s*([0-9.]+[kMG]?), max=\s*([0-9.]+[kMG]?), avg=\s*([0-9.]+[kMG]?)`)
	textQuants  = regexp.MustCompile(`^(clat|lat|sync) percentiles \((nsec|usec|msec|sec)\):`)
	textQuant   = regexp.MustCompile(`([0-9.]+)th=\[\s*([0-9.]+)\]`)
	textIssued  = regexp.MustCompile(`^issued rwt(?:s)?: total=(\d+),(\d+),(\d+)(?:,(\d+))?`)
	textOption  = regexp.MustCompile(`(rw|ioengine|iodepth|bs)=([^,\s]+)`)
	textSniff   = regexp.MustCompile(`(?m)^\S.*: (\(g=\d+\): rw=|\(groupid=\d+, jobs=\d+\): err=)`)
)

// SniffText reports whether head has a job of fio's text report, with or without other text before
// it. The plain searches come first, because most files are something else and regular expressions
// are slow.
func SniffText(_ string, head []byte) bool {
	if !bytes.Contains(head, []byte(": (g=")) && !bytes.Contains(head, []byte(": (groupid=")) {
		return false
	}
	return textSniff.Match(head)
}

// NewText prepares a file with fio's text report.
func NewText(from source.File) source.Source { return &textFile{file: New(from).(*file)} }

// textFile is one text report; it implements source.Source.
type textFile struct{ *file }

// Read implements source.Source.
func (f *textFile) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	p := &textParser{modified: f.Modified, options: map[string]map[string]any{}}
	if err := f.eachLine(ctx, "fio text", p.line); err != nil {
		return err
	}
	if len(p.jobs) == 0 {
		return fmt.Errorf("fio text %s: no results of a job: include the report from \"(groupid=\" on, or run fio with --output-format=json",
			f.Path)
	}

	return f.report(ctx, w, opt, p.result())
}

// eachLine calls visit for each line of the file. what is the format, for errors.
func (f *file) eachLine(ctx context.Context, what string, visit func(line string) error) error {
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}

	defer in.Close()
	lines := bufio.NewScanner(io.LimitReader(in, textBytesMax+1))
	lines.Buffer(make([]byte, 0, 4096), textLineMax)
	for n := 1; lines.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(lines.Text()); err != nil {
			return fmt.Errorf("%s %s: line %d: %w", what, f.Path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", what, f.Path, err)
	}
	return nil
}

// report writes a report that was converted to the form of the JSON, so that all formats share
// everything after it.
func (f *file) report(ctx context.Context, w recording.Writer, opt source.Options, r *result) error {
	e := &emitter{ctx: ctx, w: w, opt: opt, jobs: map[string]*history{}}
	if err := e.add(r); err != nil {
		return err
	}
	f.describe(e, nil)
	return nil
}

// endMs returns the time of a report, or a time long ago if it is unknown.
func endMs(at time.Time) int64 {
	if at.IsZero() || at.UnixMilli() <= 0 {
		return yearsMs / 4
	}
	return at.UnixMilli()
}

// textParser collects the jobs of a report.
type textParser struct {
	modified time.Time
	version  string
	options  map[string]map[string]any
	jobs     []job
	ended    time.Time

	ddir  *direction // the direction that the next latencies belong to
	quant *latency   // the latency that the next percentiles belong to
	scale float64    // nanoseconds per unit of the percentiles
}

func (p *textParser) line(text string) error {
	text = strings.TrimSpace(text)
	switch {
	case textVersion.MatchString(text):
		p.version = text
		return nil
	case textSetup.MatchString(text):
		m := textSetup.FindStringSubmatch(text)
		p.setup(m[1], m[2])
		return nil
	case textJob.MatchString(text):
		return p.begin(textJob.FindStringSubmatch(text))
	case len(p.jobs) == 0:
		return nil
	}

	if m := textNew.FindStringSubmatch(text); m != nil {
		return p.direction(m[1], m[2], m[3], m[4], m[5], m[6])
	}

	if m := textOld.FindStringSubmatch(text); m != nil {
		return p.direction(m[1], m[4], m[2], m[3], m[5], m[6])
	}

	if m := textLatency.FindStringSubmatch(text); m != nil {
		return p.latency(m)
	}

	if m := textQuants.FindStringSubmatch(text); m != nil {
		p.quant, p.scale = p.latencyOf(m[1]), nanoseconds[m[2]]
		return nil
	}

	if p.quant != nil && strings.HasPrefix(text, "|") {
		return p.percentiles(text)
	}

	// Only fio 3.5 and later print the number of syncs.
	if m := textIssued.FindStringSubmatch(text); m != nil && m[4] != "" {
		if syncs, err := strconv.ParseFloat(m[4], 64); err == nil {
			p.jobs[len(p.jobs)-1].Sync.Lat.N = syncs
		}
	}

	return nil
}

// setup stores the options of a job.
func (p *textParser) setup(name, text string) {
	if len(p.options) >= jobsMax {
		return
	}
	options := map[string]any{}
	for _, m := range textOption.FindAllStringSubmatch(text, -1) {
		options[m[1]] = m[2]
	}
	p.options[name] = options
}

// begin starts the result of a job.
func (p *textParser) begin(m []string) error {
	if len(p.jobs) >= jobsMax {
		return fmt.Errorf("more than %d jobs", jobsMax)
	}

	code, err := strconv.Atoi(m[3])
	if err != nil {
		return fmt.Errorf("error %q: want a number", m[3])
	}

	options := map[string]any{"numjobs": m[2]}
	for k, v := range p.options[m[1]] {
		options[k] = v
	}

	p.jobs = append(p.jobs, job{Name: m[1], Error: code, Options: options})
	p.ddir, p.quant = nil, nil

	// The time has no zone and the machine's is unknown, so it counts as UTC.
	if at, err := time.Parse("Mon Jan _2 15:04:05 2006", m[4]); err == nil && at.After(p.ended) {
		p.ended = at
	}

	return nil
}

// nanoseconds per unit of a latency.
var nanoseconds = map[string]float64{"nsec": 1, "usec": 1e3, "msec": 1e6, "sec": 1e9}

// amounts are the bytes of a unit. In fio 2, KB means 1,024 bytes (kb_base); fio 3 writes KiB.
var amounts = map[byte]float64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40, 'P': 1 << 50, 'B': 1}

func (p *textParser) direction(name, iops, amount, unit, runtime, inUnit string) error {
	j := &p.jobs[len(p.jobs)-1]
	p.ddir, p.quant = map[string]*direction{"read": &j.Read, "write": &j.Write, "trim": &j.Trim}[name], nil
	rate, err := number(iops)
	if err != nil {
		return err
	}

	bytes, err := number(amount)
	if err != nil {
		return err
	}

	ms, err := strconv.ParseInt(runtime, 10, 64)
	if err != nil {
		return fmt.Errorf("runtime %q: want a number", runtime)
	}

	if inUnit == "sec" {
		ms *= 1000
	}

	if ms < 0 || ms > yearsMs {
		return errors.New("runtime out of range")
	}

	p.ddir.IOPS, p.ddir.Bytes, p.ddir.Runtime = rate, bytes*amounts[unit[0]], ms

	// The report has no count of requests per direction, so it follows from the rate.
	p.ddir.IOs = rate * float64(ms) / 1000
	j.Runtime = max(j.Runtime, ms)

	return nil
}

// latencyOf returns where a kind of latency is stored, or nil if it is not.
func (p *textParser) latencyOf(kind string) *latency {
	switch {
	case kind == "sync":
		return &p.jobs[len(p.jobs)-1].Sync.Lat
	case p.ddir == nil:
		return nil
	case kind == "clat":
		return &p.ddir.Clat
	case kind == "lat":
		return &p.ddir.Lat
	}
	return nil
}

func (p *textParser) latency(m []string) error {
	to := p.latencyOf(m[1])
	if to == nil {
		return nil
	}

	most, err := number(m[4])
	if err != nil {
		return err
	}

	mean, err := number(m[5])
	if err != nil {
		return err
	}

	to.Max, to.Mean = most*nanoseconds[m[2]], mean*nanoseconds[m[2]]
	if to.N == 0 && p.ddir != nil {
		to.N = p.ddir.IOs
	}

	// A sync job without submission latency prints no lat: completion latency is the total.
	if m[1] == "clat" && p.ddir != nil && p.ddir.Lat.N == 0 {
		p.ddir.Lat = latency{Max: to.Max, Mean: to.Mean, N: to.N}
	}

	return nil
}

func (p *textParser) percentiles(s string) error {
	for _, m := range textQuant.FindAllStringSubmatch(s, -1) {
		value, err := number(m[2])
		if err != nil {
			return err
		}

		q, err := strconv.ParseFloat(m[1], 64)
		if err != nil || q < 0 || q > 100 {
			return fmt.Errorf("percentile %q: want 0 to 100", m[1])
		}

		if p.quant.Percentile == nil {
			p.quant.Percentile = map[string]float64{}
		}

		p.quant.Percentile[fmt.Sprintf("%.6f", q)] = value * p.scale
	}
	return nil
}

// number parses a figure with fio's decimal suffixes: 1192, 12.3k, 1.2M.
func number(s string) (float64, error) {
	scale := 1.0
	switch {
	case strings.HasSuffix(s, "k"):
		scale = 1e3
	case strings.HasSuffix(s, "M"):
		scale = 1e6
	case strings.HasSuffix(s, "G"):
		scale = 1e9
	}
	x, err := strconv.ParseFloat(strings.TrimRight(s, "kMG"), 64)
	if err != nil {
		return 0, fmt.Errorf("%q: want a number", s)
	}
	return x * scale, nil
}

// result returns the report in the form of the JSON.
func (p *textParser) result() *result {
	at := p.ended
	if at.IsZero() {
		at = p.modified
	}
	return &result{Version: cmp.Or(p.version, "fio"), TimestampMs: endMs(at), Jobs: p.jobs}
}
