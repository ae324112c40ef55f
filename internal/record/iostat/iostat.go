// Package iostat reads iostat's output: a log recorded during a stall, with any options.
//
// It turns iostat's rates back into the kernel's counters. Each report has the mean rate since the
// previous report. Multiplied by that interval and summed, the rates become counters with
// node_exporter's names. So irate over two consecutive samples returns the figures of the log, and
// every rule written for node_exporter works on a log:
//
//	r/s, w/s, d/s, f/s       node_disk_reads_completed_total, ..._writes_completed_total, ...
//	rkB/s, wMB/s, rsec/s     node_disk_read_bytes_total, node_disk_written_bytes_total
//	w/s x w_await            node_disk_write_time_seconds_total (reads, discards, flushes alike)
//	%util                    node_disk_io_time_seconds_total
//	aqu-sz, avgqu-sz         node_disk_io_time_weighted_seconds_total
//	avg-cpu                  node_cpu_seconds_total{cpu="all", mode}
//
// iostat's kB has 1,024 bytes, its MB 1,048,576 and its sector 512 (sysstat: iostat.c counts
// sectors of 512 bytes and divides by 2 or 2,048).
//
// It also reads sar's text (-d, -u, -q, -B, -W, -A) and sadf's output from sar's files (-d, -p, -j,
// -x): the history that most hosts keep. Tasks, paging and swapping of -q, -B and -W have
// node_exporter's names. sar, sadf and sysstat before 9.1.5 have one await for reads and writes, so their
// requests are counted together, with Plimsoll's own names: sysstat_disk_requests_total,
// _request_seconds_total.
//
// It reads the text of sysstat 9 to 12 with any of -x -k -m -t -y -z -d -c -s -p -h --human, with
// the dates and decimals of any locale, several appended runs, and -o JSON, even if a kill cut it
// short. A prefix of each line from a pipeline (a time, a host, a process) is removed and used as
// the time of what follows, and so are lines with a date or epoch seconds between reports. The best
// log is recorded with
//
//	S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log
//
// # What a log does not contain
//
// The first report of a run is the average since boot. It is dropped (but the second report's
// interval starts at its time), unless the run used -y. iostat -y leaves a trace: one more empty
// line between the banner and the first report. Without that trace the first report is dropped:
// losing one real report is better than showing the mean of weeks as the first second.
//
// Without -t a log has no times, only a date. Its reports are then placed one period apart
// (Options.Period, one second if unset), the last one at the modification time of the file, and a
// note says so.
//
// Times are local to the host and have no zone (except with S_TIME_FORMAT=ISO); Options.Location
// sets it. All dates of the log decide whether 05/04 is in May or in April: see [dateOrder].
//
// With -p a log has the partitions in addition to the disk. They are skipped, with a note: the
// requests of a partition are also those of its disk.
//
// With -z, iostat omits devices without activity. A device that is missing from a report counts as
// idle only if -z is evident: no report of the log has a row of zeros. Otherwise the series have a
// gap.
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

// Limits of a log. They are far beyond any real log; a hostile file reaches them before it exhausts
// memory.
const (
	lineBytesMax   = 64 << 10 // a row of sysstat 12 is 250 bytes
	valueBytesMax  = 16 << 20 // one report of a JSON log
	devicesMax     = 4096     // distinct devices of a log
	stampsKept     = 4096     // timestamps in the survey, for the median period
	rateMax        = 1e15     // a larger figure is a counter that wrapped in iostat itself
	datesKept      = 64       // distinct dates in the survey
	batchValuesMax = 1 << 18  // values in one batch
	batchTimesMax  = 512
)

// New prepares a log. It reads only the beginning.
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
			fmt.Errorf("%s is not an iostat log: found neither a \"Device\" nor an \"avg-cpu\" heading nor {\"sysstat\" in its first %d bytes; record one with: S_TIME_FORMAT=ISO iostat -xt 1 > iostat.log",
				from.Path, n)
	}

	out := &log{from: from, json: isJSON(head), xml: isXML(head), prefix: prefixOf(head)}
	out.sar = out.xml || !out.json && isSar(head) || out.json && isSadf(head)
	out.SetDescription(recording.Source{Kind: out.kind(), Name: from.Path})

	return out, nil
}

// Sniff reports whether head, the first bytes of a file, is output of iostat.
func Sniff(_ string, head []byte) bool {
	if isJSON(head) {
		return bytes.Contains(head, []byte(`"sysstat"`)) && (isSadf(head) ||
			// not mpstat's or pidstat's
			bytes.Contains(head, []byte(`"avg-cpu"`)) || bytes.Contains(head, []byte(`"disk_device"`)))
	}
	if isXML(head) || isSar(head) {
		return true
	}

	return hasHeading(prefixOf(head).Strip(head))
}

func hasHeading(text []byte) bool {
	for line := range bytes.Lines(text) {
		if isHeading(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

func isHeading(line []byte) bool {
	return isCPUHeading(line) || isDeviceHeading(line) || isHumanHeading(line)
}

// prefixOf returns the form of the prefix of each line, nil if there is none.
func prefixOf(head []byte) *lineprefix.Form {
	// Most files are something else, and looking into each line is slow.
	if !bytes.Contains(head, []byte("Device")) && !bytes.Contains(head, []byte("avg-cpu:")) {
		return lineprefix.Detect(head)
	}
	return lineprefix.For(head, func(line []byte) bool { return isHeading(line) || isBanner(line) })
}

func isJSON(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) }

// log is an iostat log, or a report of sar; it implements source.Source.
type log struct {
	source.Recorded

	from   source.File
	json   bool
	xml    bool
	sar    bool
	prefix *lineprefix.Form // of each line; nil if there is none
}

// reports returns the reports of a log in sequence; the caller may use a report until the next
// call. Damage does not end the log, except for a failing reader (torn compressed bytes), which
// also counts as damage.
type reports interface {
	next() (r *report, ok bool)
	// about returns what reading the log has shown so far.
	about() *findings
}

// findings are facts about a log apart from its reports: who wrote it, what was unreadable.
type findings struct {
	host, kernel string
	cpus         int
	date         stamp // of the first banner
	runs         int   // banners
	groups       int64 // rows of -g
	human        bool  // figures have units: -h, --human
	damage       damage
}

// damage counts unreadable places and remembers the first one.
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

// kind returns the program that wrote the log.
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
	case l.xml:
		return newXMLReports(r)
	case l.sar:
		return newSarReports(r)
	}
	t := newTextReports(r)
	t.prefix, t.year = l.prefix, l.from.Modified.Year()
	return t
}

// Read implements source.Source. It reads the log twice: the format of the dates, the number of
// reports and whether -z was used are known only at the end.
func (l *log) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	sv, err := l.survey(ctx, opt)
	if err != nil {
		return err
	}

	sv.sar = l.sar
	if err := sv.usable(l.from.Path); err != nil {
		return err
	}

	ck := newClock(sv, opt, l.from.Modified)
	if sv.counted == 0 {
		return l.readSinceBoot(ctx, writer, opt, sv, ck)
	}

	it := newIntegrator(ctx, writer, opt, sv)
	place := func(r *report) error {
		ms, ok := ck.at(r)
		if !ok {
			return nil
		}
		return it.add(sv.withoutPartitions(r), ms)
	}

	// Runs in the wrong order are read one by one, in further passes over the file.
	runs := sv.runs(ck.order, ck.loc)
	if runs == nil {
		_, err = l.each(ctx, opt, 1, place)
	}

	for _, run := range runs {
		if err == nil {
			_, err = l.each(ctx, opt, 1, func(r *report) error {
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

	l.describe(writer, sv, ck, it)
	if it.samples == 0 && it.outside == 0 {
		return fmt.Errorf("iostat log %s: cannot determine the times of its %d reports; record again with: S_TIME_FORMAT=ISO iostat -xt 1",
			l.from.Path, sv.reports)
	}

	return nil
}

// each calls visit for every report of the log, and returns what reading it has shown. pass is 0 or 1,
// for progress.
func (l *log) each(ctx context.Context, opt source.Options, pass int64,
	visit func(*report) error) (*findings, error) {
	f, err := l.from.Open()
	if err != nil {
		return nil, fmt.Errorf("iostat log: %w", err)
	}

	defer f.Close()
	count := &counter{r: f}
	rs := l.reports(count)

	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if opt.Progress != nil {
				// Both passes together count as one piece of work with twice the bytes.
				opt.Progress((pass*l.from.Bytes+count.n)/2, l.from.Bytes)
			}
		}

		r, ok := rs.next()
		if !ok {
			return rs.about(), nil
		}

		if err := visit(r); err != nil {
			return nil, err
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

// describe writes the source of the samples and the notes about it.
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
