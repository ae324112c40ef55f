// Package fio reads fio's JSON output, and the latency, IOPS and bandwidth logs next to it, as time
// series, so that the same rules can judge a benchmark and a production recording.
//
//	fio --name=wal --rw=write --bs=2300 --fdatasync=1 --size=22m --ioengine=sync \
//	    --write_lat_log=wal --output-format=json --output=wal.json
//
// No exporter for fio is in common use, so the names are Plimsoll's own. Each series has the label
// job; processes of one job (numjobs) are combined.
//
//	fio_job_info{job, rw, bs, iodepth, numjobs, ioengine, direct, fdatasync, fsync, rate_iops}  1
//	fio_job_iodepth                           maximum requests in flight: iodepth x processes
//	fio_write_ios_total, fio_write_bytes_total  counters (likewise fio_read_, fio_trim_)
//	fio_write_iops                            per second, since the previous report
//	fio_write_latency_seconds{quantile}       since the job's start
//	fio_write_latency_mean_seconds, ..._max_seconds
//	fio_sync_ios_total, fio_sync_latency_seconds{quantile}, ..._mean_seconds, ..._max_seconds
//	fio_log_write_latency_mean_seconds{process}, fio_log_write_latency_seconds{process, quantile},
//	fio_log_write_iops{process}, fio_log_write_bytes_per_second{process}   from the logs, each second
//
// fio's percentiles are those of completion latency unless lat_percentiles is set; the mean and the
// maximum are those of total latency, submission included. A write followed by fdatasync shows as
// two operations: the write into the page cache in fio_write_latency, the wait for the device in
// fio_sync_latency.
//
// A report without --status-interval has one set of figures for a whole run: they are placed at its
// start and at its end. With --status-interval=1, each report is one sample. The end is the
// report's timestamp_ms; the start is job_start, or, with older versions of fio, the end minus the
// job's runtime.
package fio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	reportBytesMax = 64 << 20 // json+ with bins of hundreds of jobs has a few MB
	jobsMax        = 4096     // of one report
)

// New prepares a file with fio's JSON. Read also reads the logs next to it.
func New(from source.File) source.Source {
	return &file{source.OfFile(from, recording.Source{Kind: "fio"})}
}

// Sniff reports whether head, the first bytes of a file, is fio's JSON, with or without fio's
// warnings before it.
func Sniff(_ string, head []byte) bool {
	at := 0
	if len(head) == 0 || head[0] != '{' {
		if at = bytes.Index(head, []byte("\n{")) + 1; at == 0 {
			return false
		}
	}
	return bytes.Contains(head[at:], []byte(`"fio version"`))
}

// file is one JSON output; it implements source.Source.
type file struct{ *source.RecordedFile }

// Read implements source.Source.
func (f *file) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("fio JSON: %w", err)
	}

	defer in.Close()
	emit := &emitter{ctx: ctx, w: w, opt: opt, jobs: map[string]*history{}}
	scan := &scanner{br: bufio.NewReaderSize(in, 64<<10)}

	var bad *recording.Note
	for ordinal := 1; ; ordinal++ {
		if err := ctx.Err(); err != nil {
			return err
		}

		text, err := scan.next()
		if errors.Is(err, io.EOF) {
			break
		}

		if opt.Progress != nil {
			opt.Progress(scan.pos, f.Bytes)
		}

		var r result
		if err == nil {
			err = decode(text, &r)
		}

		if err == nil {
			err = emit.add(&r)
		} else {
			// Only the first damaged report is described; a torn file may have hundreds.
			if bad == nil {
				bad = &recording.Note{Kind: recording.NoteDamage, File: f.Path, Offset: scan.start,
					Text: fmt.Sprintf("skipped report %d, at byte %d: %v", ordinal, scan.start, err)}
			}
			continue
		}

		if err != nil {
			return err
		}
	}

	if emit.reports == 0 {
		why := "found no report that starts with {"
		if bad != nil {
			why = bad.Text
		}
		return fmt.Errorf("fio JSON %s: %s; create one with: fio --output-format=json --output=job.json JOBFILE",
			f.Path, why)
	}

	// Logs of latency or bandwidth, which fio writes next to its JSON file, have the times between
	// reports.
	if err := emit.logs(filepath.Dir(f.Path)); err != nil {
		return err
	}

	f.describe(emit, bad)
	return nil
}

func (f *file) describe(e *emitter, bad *recording.Note) {
	d := recording.Source{
		Kind: "fio", Name: f.Path, Version: e.version,
		Samples: int64(len(e.times)), Facts: map[string]string{},
	}

	// Reports with the same time are one sample, so the period is the interval between distinct times.
	if len(e.times) > 0 {
		times := slices.Sorted(maps.Keys(e.times))
		d.From, d.To = time.UnixMilli(times[0]).UTC(), time.UnixMilli(times[len(times)-1]).UTC()

		var steps []int64
		for i := 1; i < len(times); i++ {
			steps = append(steps, times[i]-times[i-1])
		}

		// A pause between two runs in one file is not the period.
		d.Period = recording.Median(steps)
	}

	f.SetDescription(d)
	e.w.Source(d)
	if bad != nil {
		e.notes = append(e.notes, *bad)
	}

	for _, n := range e.notes {
		n.Source = f.Path
		e.w.Note(n)
	}
}

// scanner splits fio's output into its JSON objects. It skips everything between them (warnings,
// the normal report): an object starts with a { at the start of a line.
type scanner struct {
	br    *bufio.Reader
	pos   int64
	start int64
	buf   []byte
	over  bool
}

var errTorn = errors.New("the report has no closing bracket: fio was stopped while writing, or the file was truncated")

func (s *scanner) next() ([]byte, error) {
	s.buf = s.buf[:0]

	// A scan by brackets, because other text may be between the objects.
	lineStart, inObject, inString, escaped := true, false, false, false

	depth := 0
	for {
		char, err := s.br.ReadByte()
		if err != nil {
			if s.over {
				return nil, io.EOF
			}

			s.over = true
			switch {
			case err != io.EOF: // torn compressed bytes
				s.start = s.pos
				return nil, fmt.Errorf("read error: %w", err)
			case inObject:
				return nil, errTorn
			}

			return nil, io.EOF
		}

		s.pos++
		if !inObject {
			if lineStart && char == '{' {
				inObject, s.start = true, s.pos-1
			} else {
				lineStart = char == '\n'
				continue
			}
		}

		// A report that is too large is scanned to its end, so that the next one can be found.
		if len(s.buf) < reportBytesMax {
			s.buf = append(s.buf, char)
		}

		// Braces inside strings do not count.
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = char == '\\'
			inString = char != '"'
		case char == '"':
			inString = true
		case char == '{':
			depth++
		case char == '}':
			if depth--; depth == 0 {
				return s.buf, nil
			}
		}
	}
}

// decode parses one report.
func decode(text []byte, r *result) error {
	if len(text) >= reportBytesMax {
		return fmt.Errorf("larger than %d bytes", reportBytesMax)
	}

	if err := json.Unmarshal(text, r); err != nil {
		return jsonerror.Explain(text, err)
	}

	switch {
	case r.Version == "":
		return errors.New(`no "fio version": want output of fio --output-format=json`)
	case r.endMs() <= 0:
		return errors.New(`no "timestamp_ms"`)
	case len(r.Jobs) == 0:
		return errors.New("no jobs")
	case len(r.Jobs) > jobsMax:
		return fmt.Errorf("%d jobs: want at most %d", len(r.Jobs), jobsMax)
	}

	return nil
}

// emitter writes the figures of the reports.
type emitter struct {
	ctx     context.Context
	w       recording.Writer
	opt     source.Options
	version string
	reports int
	jobs    map[string]*history // by job name
	procs   []process           // in the order in which fio numbers their logs
	times   map[int64]bool
	notes   []recording.Note
	noted   map[string]bool
}

// history is the state of a job between reports.
type history struct {
	startMs, lastMs int64
	ios             [directions]float64
	runtime         [directions]int64 // ms
	options         map[string]string
}

// process is one process of a job.
type process struct {
	job     string
	startMs int64
}

// values are the columns of each time.
type values map[int64][]recording.Column

func (v values) add(ms int64, value float64, name string, pairs ...string) {
	l := labels.FromStrings(append([]string{labels.MetricName, name}, pairs...)...)
	v[ms] = append(v[ms], recording.Column{Labels: l, Values: []float64{value}})
}

// flush writes the values of the selected times, in order.
func (e *emitter) flush(v values) error {
	if e.times == nil {
		e.times = map[int64]bool{}
	}

	for _, t := range slices.Sorted(maps.Keys(v)) {
		ms := t + e.opt.ClockOffset.Milliseconds()
		if !e.opt.From.IsZero() && ms < e.opt.From.UnixMilli() || !e.opt.To.IsZero() && ms > e.opt.To.UnixMilli() {
			continue
		}

		cols := slices.DeleteFunc(v[t], func(c recording.Column) bool {
			return e.opt.Want != nil && !e.opt.Want(c.Labels.Get(labels.MetricName))
		})
		if len(cols) == 0 {
			continue
		}

		e.times[ms] = true
		if err := e.w.Append(e.ctx, &recording.Batch{TimesMs: []int64{ms}, Columns: cols}); err != nil {
			return err
		}
	}

	return nil
}

// limit adds each note once.
func (e *emitter) limit(text string) {
	if e.noted == nil {
		e.noted = map[string]bool{}
	}
	if !e.noted[text] {
		e.noted[text] = true
		e.notes = append(e.notes, recording.Note{Kind: recording.NoteLimit, Text: text})
	}
}
