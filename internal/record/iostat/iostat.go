// Package iostat reads iostat's output: a log that was kept while the database stalled, made with
// any options.
//
// The idea is to turn iostat's rates back into the kernel's counters. Each report gives the mean
// rate between the previous report and itself. Multiplied by that interval and summed, the rates
// become counters under node_exporter's names. So irate over two consecutive samples gives the
// log's own figure again, and every rule written for node_exporter works on a log:
//
//	r/s, w/s, d/s, f/s       node_disk_reads_completed_total, ..._writes_completed_total, ...
//	rkB/s, wMB/s, rsec/s     node_disk_read_bytes_total, node_disk_written_bytes_total
//	w/s x w_await            node_disk_write_time_seconds_total (reads, discards, flushes alike)
//	%util                    node_disk_io_time_seconds_total
//	aqu-sz, avgqu-sz         node_disk_io_time_weighted_seconds_total
//	avg-cpu                  node_cpu_seconds_total{cpu="all", mode}
//
// iostat's kB are 1,024 bytes, its MB 1,048,576 and its sectors 512 (sysstat: iostat.c counts
// sectors of 512 bytes and divides by 2 or 2,048).
//
// It also reads sar's text (-d, -u, -A) and what sadf makes of sar's files (-d, -p, -j): the history that
// most hosts keep. These, and sysstat before 9.1.5, have one await for reads and writes; their requests are
// counted together, under names of our own: sysstat_disk_requests_total, _request_seconds_total.
//
// It reads the text of sysstat 9 to 12 with any of -x -k -m -t -y -z -d -c -s -p -h --human, in any
// locale's dates and decimals, several runs appended to one another, and -o JSON, also if cut short by
// a kill. What a pipeline wrote before each line (a time, a host, a process) is removed and used as the
// time of what follows, and so are lines of date and epoch seconds between reports. The best log is
// made by
//
//	S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log
//
// # What a log does not contain
//
// The first report of a run is the average since boot. It is dropped (its time is kept: the second
// report's interval starts there), unless the run was made with -y. iostat -y leaves a trace: one
// more empty line between the banner and the first report. Without that trace the first report is
// dropped: losing one real report is better than showing the mean of weeks as the first second.
//
// Without -t a log has no times, only a date. Reports are then placed one period apart
// (Options.Period, one second if unset) so that the last one falls on the file's modification time,
// and a note says so.
//
// Times are local to the host and carry no zone (except with S_TIME_FORMAT=ISO); Options.Location
// says which. Whether 05/04 is in May or in April is decided from all dates of the log: see
// [dateOrder].
//
// With -p a log has the partitions of a disk besides the disk. They are left out, with a note: a
// partition's requests are its disk's.
//
// With -z, iostat leaves out devices without activity. A device that is missing in a report counts
// as idle only if -z is evident: no report of the log has a row of zeros. Otherwise the series have
// a hole.
package iostat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Bounds on a log. They are far beyond any real one; a hostile file reaches them before it exhausts
// memory.
const (
	lineBytesMax   = 64 << 10 // a row of sysstat 12 is 250 bytes
	valueBytesMax  = 16 << 20 // one report of a JSON log
	devicesMax     = 4096     // distinct devices of a log
	stampsKept     = 4096     // timestamps the survey keeps for the median period
	rateMax        = 1e15     // a larger figure is a counter that wrapped in iostat itself
	datesKept      = 64       // distinct dates the survey keeps
	batchValuesMax = 1 << 18  // values gathered before they are handed on
	batchTimesMax  = 512
)

// New prepares a log. It reads only its beginning.
func New(from source.File) (source.Source, error) {
	r, err := from.Open()
	if err != nil {
		return nil, fmt.Errorf("iostat log: %w", err)
	}

	defer r.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(r, head)
	if n == 0 && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("iostat log %s: %w", from.Path, err)
	}

	head = head[:n]
	if !Sniff(from.Path, head) {
		return nil,
			fmt.Errorf("%s is not an iostat log: neither a \"Device\" nor an \"avg-cpu\" heading nor {\"sysstat\" in its first %d bytes; make one with: S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log",
				from.Path, n)
	}

	out := &log{from: from, json: isJSON(head), prefix: lineprefix.Detect(head)}
	out.sar = !out.json && isSar(head) || out.json && isSadf(head)
	out.SetDescription(recording.Source{Kind: out.kind(), Name: from.Path})

	return out, nil
}

// Sniff reports whether head, the first bytes of a file, are iostat's.
func Sniff(_ string, head []byte) bool {
	if isJSON(head) {
		return bytes.Contains(head, []byte(`"sysstat"`)) && (isSadf(head) ||
			// not mpstat's or pidstat's
			bytes.Contains(head, []byte(`"avg-cpu"`)) || bytes.Contains(head, []byte(`"disk_device"`)))
	}
	if isSar(head) {
		return true
	}

	for line := range bytes.Lines(lineprefix.Strip(head)) {
		line = bytes.TrimRight(line, "\r\n")
		if isCPUHeading(line) || isDeviceHeading(line) || isHumanHeading(line) {
			return true
		}
	}

	return false
}

func isJSON(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) }

// log is one iostat log, or a report of sar; it implements source.Source.
type log struct {
	source.Recorded

	from   source.File
	json   bool
	sar    bool
	prefix *lineprefix.Form // of each line; nil: none
}

// reports returns the reports of a log one after another; the caller owns the report until the next
// call. Damage does not end it. A failing reader (torn compressed bytes) does, and counts as damage
// too.
type reports interface {
	next() (r *report, ok bool)
	// about is what reading the log has shown so far.
	about() *findings
}

// findings are the facts about a log besides its reports: who wrote it, what could not be read.
type findings struct {
	host, kernel string
	cpus         int
	date         stamp // of the first banner
	runs         int   // banners
	groups       int64 // rows of -g
	human        bool  // figures have units: -h, --human
	damage       damage
}

// damage counts what could not be read, and remembers the first of it.
type damage struct {
	count  int64
	line   int64
	offset int64
	what   string
}

func (d *damage) add(line, offset int64, what string) {
	if d.count == 0 {
		d.line, d.offset, d.what = line, offset, what
	}
	d.count++
}

// kind is which program's output it is.
func (l *log) kind() string {
	if l.sar {
		return "sar"
	}
	return "iostat"
}

func (l *log) reports(r io.Reader) reports {
	switch {
	case l.json:
		return newJSONReports(r)
	case l.sar:
		return newSarReports(r)
	}
	t := newTextReports(r)
	t.prefix, t.year = l.prefix, l.from.Modified.Year()
	return t
}

// Read implements source.Source. It reads the log twice: the format of the dates, the number of
// reports and whether -z was used are known only at the end.
func (l *log) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	sv, err := l.survey(ctx, opt)
	if err != nil {
		return err
	}

	sv.sar = l.sar
	if err := sv.usable(l.from.Path); err != nil {
		return err
	}

	ck := newClock(sv, opt, l.from.Modified)
	it := newIntegrator(ctx, w, opt, sv)
	place := func(r *report) error {
		ms, ok := ck.at(r)
		if !ok {
			return nil
		}
		return it.add(sv.withoutPartitions(r), ms)
	}

	runs := sv.runs(ck.order, ck.loc)
	if runs == nil {
		err = l.each(ctx, opt, 1, place)
	}

	for _, run := range runs {
		if err == nil {
			err = l.each(ctx, opt, 1, func(r *report) error {
				if r.run != run {
					return nil
				}
				return place(r)
			})
		}
	}

	if err != nil {
		return err
	}

	if err := it.flush(); err != nil {
		return err
	}

	l.describe(w, sv, ck, it)
	if it.samples == 0 && it.outside == 0 {
		return fmt.Errorf("iostat log %s: none of its %d reports could be placed in time; record again with: S_TIME_FORMAT=ISO iostat -xt 1",
			l.from.Path, sv.reports)
	}

	return nil
}

// each calls visit for every report of the log. pass is 0 or 1, for progress.
func (l *log) each(ctx context.Context, opt source.Options, pass int64, visit func(*report) error) error {
	return l.eachOf(ctx, opt, pass, func(reports) {}, visit)
}

// eachOf is each, but first passes the reader on; its findings grow as it reads.
func (l *log) eachOf(ctx context.Context, opt source.Options, pass int64,
	start func(reports), visit func(*report) error) error {
	f, err := l.from.Open()
	if err != nil {
		return fmt.Errorf("iostat log: %w", err)
	}

	defer f.Close()
	count := &counter{r: f}
	rs := l.reports(count)
	start(rs)

	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if opt.Progress != nil {
				// Both passes count as one piece of work with twice the bytes.
				opt.Progress((pass*l.from.Bytes+count.n)/2, l.from.Bytes)
			}
		}

		r, ok := rs.next()
		if !ok {
			return nil
		}

		if err := visit(r); err != nil {
			return err
		}
	}
}

// counter counts the bytes read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// describe writes the source of the samples and the notes about them.
func (l *log) describe(w recording.Writer, sv *survey, ck *clock, it *integrator) {
	d := recording.Source{
		Kind: l.kind(), Name: l.from.Path, Host: sv.found.host,
		Period: ck.period, Samples: it.samples, Facts: map[string]string{},
	}

	if it.samples > 0 {
		d.From, d.To = time.UnixMilli(it.firstMs).UTC(), time.UnixMilli(it.lastMs).UTC()
	}

	if sv.found.kernel != "" {
		d.Facts["os"], d.Facts["kernel"] = strings.Fields(sv.found.kernel)[0], sv.found.kernel
	}

	if sv.found.cpus > 0 {
		d.Facts["cores"] = fmt.Sprint(sv.found.cpus)
	}

	l.SetDescription(d)
	w.Source(d)

	for _, n := range append(ck.notes(sv), it.notes(sv)...) {
		n.Source, n.File = l.from.Path, l.from.Path
		w.Note(n)
	}
}
