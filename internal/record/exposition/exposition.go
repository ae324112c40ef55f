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
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
				// A word and a number may be anything, so a page without HELP and TYPE needs 20
				// samples, or nothing else in head.
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
	loc := opt.Location
	if loc == nil {
		loc = time.Local
	}

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

	r := &fileReader{f: f, w: writer, opt: opt, pages: pages, period: opt.Period,
		parser: newParser(f.exporters, opt.Want)}
	if r.period <= 0 {
		r.period = time.Second
	}

	r.period = max(r.period, f.period)

	// Modification times are usable only if each file has exactly one page.
	r.saved = pages == len(f.parts) && f.savedApart()
	ordered := stretches.ordered()
	if where != before || ordered == nil {
		ordered = []segment{{to: pages}}
	}

	for i, part := range ordered {
		lost := r.noteLost
		if i > 0 {
			lost = nil // noted in the first pass
		}

		index := 0
		if _, err := f.each(ctx, opt, loc, 1, where, func(p *page) error {
			if index++; index <= part.from || index > part.to {
				return nil
			}
			return r.addPage(ctx, p)
		}, lost); err != nil {
			return err
		}
	}

	if r.parser.samples == 0 {
		return f.nothing(r)
	}

	r.describe()
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
	s := &splitter{br: bufio.NewReaderSize(in, lineBytesMax), loc: loc, dates: where, dump: f.dump}
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}

		p, err := s.next()
		// Text after the last complete page was lost if the file ended within it.
		if errors.Is(err, io.EOF) {
			if s.lost && lost != nil {
				lost(s.pos, s.failure)
			}
			return s.dated, nil
		}

		if err != nil {
			return false, fmt.Errorf("metrics file %s: read failed after %d bytes: %w", part.Path, s.pos, err)
		}

		p.path, p.saved = part.Path, part.Modified
		if err := visit(p); err != nil {
			return false, err
		}

		progress(s.pos)
	}
}

// fileReader converts pages to batches.
type fileReader struct {
	f      *file
	w      recording.Writer
	opt    source.Options
	parser *parser

	pages, index int
	period       time.Duration
	prev         time.Time
	saved        bool // the time of a page is when its file was saved
	dated        int  // pages that got that time
	guessed      int
	span         span
	damage       recording.Note // the first damage
	damaged      int
}

func (r *fileReader) addPage(ctx context.Context, p *page) error {
	samples, bad := r.parser.parse(p.body, p.contentType())
	r.noteBad(p, bad)

	// The sources of a page's time, from the most to the least reliable.
	at, known := p.time, p.timed

	// node_exporter reports the time of the scrape itself.
	if !known && r.parser.nodeTime > 0 {
		at, known = time.UnixMilli(int64(r.parser.nodeTime*1000)), true
	}

	if !known && r.saved {
		at, known = p.saved, true
		r.dated++
	}

	if !known {
		at = r.guess()
		if slices.ContainsFunc(samples, func(s sample) bool { return s.ms == 0 }) {
			r.guessed++
		}
	}

	r.index++
	r.prev = at

	for _, b := range batches(samples, at.UnixMilli()) {
		b = clip(b, r.opt)
		if len(b.TimesMs) == 0 {
			continue
		}
		r.span.add(b.TimesMs[0])
		if err := r.w.Append(ctx, &b); err != nil {
			return err
		}
	}

	return nil
}

// guess returns the time of a page that has none.
func (r *fileReader) guess() time.Time {
	if !r.prev.IsZero() {
		return r.prev.Add(r.period)
	}
	return r.f.parts[len(r.f.parts)-1].Modified.Add(-time.Duration(r.pages-1-r.index) * r.period)
}

func (r *fileReader) noteBad(p *page, bad []badLine) {
	if p.torn != "" {
		bad = append(bad, badLine{offset: int64(len(p.body)), text: p.torn})
	}
	if len(bad) > 0 && r.damaged == 0 {
		r.damage = recording.Note{File: p.path, Offset: p.offset + bad[0].offset, Text: bad[0].text}
	}
	r.damaged += len(bad)
}

// noteLost records that the rest of the file could not be read.
func (r *fileReader) noteLost(at int64, why error) {
	if r.damaged == 0 {
		r.damage = recording.Note{Offset: at, Text: "read error: " + why.Error()}
	}
	r.damaged++
}

// clip shifts a batch with one time by Options.ClockOffset, and empties it if it is outside From
// and To.
func clip(b recording.Batch, opt source.Options) recording.Batch {
	b.TimesMs[0] += opt.ClockOffset.Milliseconds()
	ms := b.TimesMs[0]
	if !opt.From.IsZero() && ms < opt.From.UnixMilli() || !opt.To.IsZero() && ms > opt.To.UnixMilli() {
		return recording.Batch{}
	}
	return b
}

func (r *fileReader) describe() {
	d := recording.Source{
		Kind: "openmetrics", Name: r.f.path(),
		Engine: r.parser.engine(), Version: r.parser.version, Host: r.parser.host,
		Samples: r.span.n, Period: r.span.period(),
	}

	if r.span.n > 0 {
		d.From, d.To = time.UnixMilli(r.span.firstMs).UTC(), time.UnixMilli(r.span.lastMs).UTC()
	}

	r.f.SetDescription(d)
	r.w.Source(d)
	note := func(n recording.Note) {
		n.Source, n.File = r.f.path(), cmp.Or(n.File, r.f.path())
		r.w.Note(n)
	}

	if r.damaged > 0 {
		r.damage.Kind = recording.NoteDamage
		r.damage.Text = fmt.Sprintf("skipped %d unreadable lines, the first at byte %d: %s",
			r.damaged, r.damage.Offset, r.damage.Text)
		note(r.damage)
	}

	if len(r.f.parts) > 1 {
		note(recording.Note{Kind: recording.NoteLimit, Text: r.f.joinedText()})
	}

	if r.dated > 0 {
		note(recording.Note{Kind: recording.NoteLimit,
			Text: fmt.Sprintf("%d of %d pages have no time: using the times at which their files were saved",
				r.dated, r.pages)})
	}

	if r.guessed > 0 {
		note(recording.Note{Kind: recording.NoteLimit, Text: fmt.Sprintf(
			"%d of %d pages have no time: placed them %s apart, ending at the file's modification time; write a time before each page with: date +'# scraped %%s'",
			r.guessed, r.pages, r.period)})
	}

	if r.span.n == 1 {
		note(recording.Note{Kind: recording.NoteLimit,
			Text: "the file has only one sample, which gives no rates; put several pages, taken a second apart, into one file"})
	}

	if r.parser.dropped > 0 {
		note(recording.Note{Kind: recording.NoteDropped, Text: overSeries(r.parser.dropped)})
	}
}

// span keeps track of sample times.
type span struct {
	n               int64
	firstMs, lastMs int64
	steps           []int64 // the first few thousand distances
}

func (s *span) add(ms int64) {
	switch {
	case s.n == 0:
		s.firstMs, s.lastMs = ms, ms
	case ms >= s.firstMs && ms <= s.lastMs:
		return // a dump starts over with each series
	default:
		if d := ms - s.lastMs; d > 0 && len(s.steps) < 4096 {
			s.steps = append(s.steps, d)
		}
		s.firstMs, s.lastMs = min(s.firstMs, ms), max(s.lastMs, ms)
	}
	s.n++
}

// period returns the median distance between sample times, or 0 if there is only one.
func (s *span) period() time.Duration {
	if len(s.steps) == 0 {
		return 0
	}
	steps := slices.Clone(s.steps)
	slices.Sort(steps)
	return time.Duration(steps[len(steps)/2]) * time.Millisecond
}
