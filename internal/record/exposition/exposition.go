// Package exposition reads the pages that exporters serve under /metrics: live from a URL, or from
// a file of saved pages.
//
// One page is one sample of every series: the state at one moment. A stall shows only between two
// pages, so a file should contain many. The simplest way to make one is a loop that writes a time
// before each page:
//
//	while sleep 1; do date +'# scraped %s'; curl -s http://host:2379/metrics; done > metrics.txt
//
// The package separates pages no matter how they were joined: at OpenMetrics' "# EOF", at a line
// that is a date (with or without a # and a word before it), or, if there is nothing between them,
// where the first line of a page repeats. The time of a page is, in this order: the timestamps of
// its own samples, the line with the date, or the gauge node_time_seconds. Pages without any of
// these are placed one period apart, the last one at the file's modification time, and a note says
// so.
//
// A dump of a Prometheus server's database (promtool tsdb dump, dump-openmetrics) consists of
// series with all their samples instead. The package recognises it by that.
//
// Names and labels are unchanged. Histograms and summaries remain classic series (_bucket, _sum,
// _count). A sample with the value NaN, such as the quantile of a summary without observations,
// counts as absent. Unreadable lines are skipped one by one, and a note counts them.
package exposition

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Limits. The largest known pages (kube-state-metrics) have about 100 MB; a database's page has
// one.
const (
	PageBytesMax = 64 << 20 // of one page, decompressed
	lineBytesMax = 1 << 20
	seriesMax    = 200_000 // distinct series of a source
	resumesMax   = 100     // bad lines to skip in a page before its rest is skipped
)

// New prepares a file of pages. exporters are the known exporters.
func New(from source.File, exporters []Exporter) source.Source {
	out := &file{parts: []source.File{from}, exporters: exporters}
	out.SetDescription(recording.Source{Kind: "openmetrics", Name: from.Path})
	return out
}

// Sniff reports whether head, the first bytes of a file, looks like a page of metrics.
func Sniff(_ string, head []byte) bool {
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1] // whole lines
	}

	samples := 0
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("# HELP ")), bytes.HasPrefix(line, []byte("# TYPE ")):
			return true
		case len(line) == 0 || line[0] == '#':
		case isSample(line):
			if samples++; samples == 20 {
				// A line of a word and a number may be anything, so a page without HELP and TYPE is
				// recognised only if it has 20 samples, or if head contains nothing else.
				return true
			}
		default:
			if _, ok := parseTime(line, time.UTC); !ok {
				return false
			}
		}
	}

	return samples > 0
}

// isSample reports whether a line looks like name{labels} value [timestamp].
func isSample(line []byte) bool {
	if bytes.HasPrefix(line, nameLabel) {
		line = append([]byte("x"), line...) // the name is among the labels
	}

	n := 0
	for n < len(line) && isNameByte(line[n], n > 0) {
		n++
	}

	if n == 0 {
		return false
	}

	rest := line[n:]
	if len(rest) > 0 && rest[0] == '{' {
		// Quoted label values may contain braces, so the last one ends the labels.
		end := bytes.LastIndexByte(rest, '}')
		if end < 0 {
			return false
		}
		rest = rest[end+1:]
	}

	fields := bytes.Fields(rest)
	if len(fields) < 1 || len(fields) > 2 || rest[0] != ' ' && rest[0] != '\t' {
		return false
	}

	// The timestamp is a float too: OpenMetrics has seconds with a fraction.
	for _, f := range fields {
		if !isFloat(f) {
			return false
		}
	}

	return true
}

func isNameByte(c byte, inside bool) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || inside && c >= '0' && c <= '9'
}

// file is a file of pages; it implements source.Source.
type file struct {
	source.Recorded

	parts     []source.File // if there are several, each has one page
	exporters []Exporter
	dump      dump
	period    time.Duration // minimum for undated pages; 0 if unknown
}

// path returns the file that the source is named after.
func (f *file) path() string { return f.parts[0].Path }

// Read implements source.Source. It reads the file twice: the number of pages, which places those
// without a time, is known only at the end.
func (f *file) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	loc := cmp.Or(opt.Location, time.Local)

	if err := f.detect(); err != nil {
		return err
	}

	pages, first := 0, false
	var stretches segments
	dated, err := f.each(ctx, opt, loc, 0, before, func(p *page) error {
		first = first || pages == 0 && p.timed
		stretches.add(p)
		pages++
		return nil
	}, nil)
	if err != nil {
		return err
	}

	// A file whose first page has a date before it is read that way throughout, because the other
	// order would shift every page by one.
	where := none
	if first {
		where = before
	} else if dated {
		where = after
	}

	pageReader := &fileReader{f: f, w: writer, opt: opt, pages: pages, period: opt.Period,
		parser: newParser(f.exporters, opt.Want)}
	if pageReader.period <= 0 {
		pageReader.period = time.Second
	}

	pageReader.period = max(pageReader.period, f.period)

	// Modification times are usable only if each file has exactly one page.
	pageReader.saved = pages == len(f.parts) && f.savedApart()
	ordered := stretches.ordered()
	if where != before || ordered == nil {
		ordered = []segment{{to: pages}}
	}

	for i, part := range ordered {
		lost := pageReader.noteLost
		if i > 0 {
			lost = nil // noted in the first pass
		}

		index := 0
		if _, err := f.each(ctx, opt, loc, 1, where, func(p *page) error {
			if index++; index <= part.from || index > part.to {
				return nil
			}
			return pageReader.addPage(ctx, p)
		}, lost); err != nil {
			return err
		}
	}

	if pageReader.parser.samples == 0 {
		return f.nothing(pageReader)
	}

	pageReader.describe()
	return nil
}

// detect reads the beginning of the file to find out whether it is a dump.
func (f *file) detect() error {
	in, err := f.parts[0].Open()
	if err != nil {
		return fmt.Errorf("metrics file: %w", err)
	}
	defer in.Close()

	head := make([]byte, detectBytes)
	n, err := io.ReadFull(in, head)
	if n == 0 && !errors.Is(err, io.EOF) {
		return fmt.Errorf("metrics file %s: %w", f.path(), err)
	}
	f.dump = detectDump(head[:n])
	return nil
}

// nothing returns the error for a file without any samples.
func (f *file) nothing(r *fileReader) error {
	if r.damage.Text != "" {
		return fmt.Errorf("metrics file %s: no readable samples; first error at byte %d: %s; save a page with: curl -s http://host:port/metrics",
			f.path(), r.damage.Offset, r.damage.Text)
	}
	return fmt.Errorf("metrics file %s has no samples; save a page with: curl -s http://host:port/metrics",
		f.path())
}

// each passes the pages of the file to visit, in order, and reports whether any of them had a date.
// lost, if not nil, is called if reading failed before the newest page had a sample.
func (f *file) each(ctx context.Context, opt source.Options, loc *time.Location, pass int64, where dates,
	visit func(*page) error, lost func(at int64, why error)) (dated bool, err error) {
	var done, total int64
	for _, part := range f.parts {
		total += part.Bytes
	}

	for _, part := range f.parts {
		progress := func(pos int64) {
			if opt.Progress != nil {
				opt.Progress((pass*total+done+pos)/2, total) // each of the two passes is half of the work
			}
		}
		d, err := f.eachOf(ctx, part, loc, where, visit, lost, progress)
		if err != nil {
			return false, err
		}
		dated = dated || d
		done += part.Bytes
	}

	return dated, nil
}

// eachOf is each for one part.
func (f *file) eachOf(ctx context.Context, part source.File, loc *time.Location, where dates,
	visit func(*page) error, lost func(at int64, why error), progress func(int64)) (dated bool, err error) {
	in, err := part.Open()
	if err != nil {
		return false, fmt.Errorf("metrics file: %w", err)
	}

	defer in.Close()
	s := &splitter{in: source.NewLineReader(in, lineBytesMax), loc: loc, dates: where, dump: f.dump}
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}

		p, err := s.next()
		// Text after the last complete page was lost if the file ended within it.
		if errors.Is(err, io.EOF) {
			if s.lost && lost != nil {
				lost(s.in.To, s.failure)
			}
			return s.dated, nil
		}

		if err != nil {
			return false, fmt.Errorf("metrics file %s: read failed after %d bytes: %w", part.Path, s.in.To, err)
		}

		p.path, p.saved = part.Path, part.Modified
		if err := visit(p); err != nil {
			return false, err
		}

		progress(s.in.To)
	}
}
