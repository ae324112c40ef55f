// Package diskstats reads saved samples of /proc/diskstats, usually each after a line with its time: files
// of pt-diskstats and pt-stalk (TS 1298130003.07), or of a loop such as
//
//	while sleep 1; do date +%s.%N; cat /proc/diskstats; done > diskstats.txt
//
// Without times, a sample begins where the first device appears again. A single sample holds totals since
// boot, like a page of metrics.
//
// The counters keep node_exporter's names, so that every rule written for it works on them. A
// partition is skipped if its disk is in the file, because the disk counts its requests as well.
package diskstats

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Limits of a file.
const (
	lineBytesMax = 64 << 10
	devicesMax   = 4096
	batchTimes   = 512 // samples in one batch
)

// columns is the number of counters of a device. Older kernels lack some of them.
const columns = len(procfs.DiskColumns)

// row matches the line of a device.
var row = regexp.MustCompile(`(?m)^ *\d+ +\d+ [A-Za-z][^ ]*( +\d+){11,}\s*$`)

// Sniff reports whether head, the first bytes of a file, contains a device's row after a time, or
// begins with one.
func Sniff(_ string, head []byte) bool {
	timed := row.Match(head[:bytes.IndexByte(append(head[:len(head):len(head)], '\n'), '\n')])
	for line := range bytes.Lines(head) {
		if _, ok := timeOf(line, time.UTC); ok {
			timed = true
		} else if beginsWithNumber(line) && row.Match(line) {
			return timed
		}
	}
	return false
}

// beginsWithNumber reports whether a line may be a device's row. It is much cheaper than the
// pattern.
func beginsWithNumber(line []byte) bool {
	line = bytes.TrimLeft(line, " ")
	return len(line) > 0 && line[0] >= '0' && line[0] <= '9'
}

// timeOf parses a line with the time of a sample.
func timeOf(line []byte, loc *time.Location) (time.Time, bool) {
	if rest, ok := bytes.CutPrefix(line, []byte("TS ")); ok {
		if fields := bytes.Fields(rest); len(fields) > 0 {
			return lineprefix.Epoch(fields[0])
		}
		return time.Time{}, false
	}
	at, ok := lineprefix.Line(line)
	if !ok {
		return time.Time{}, false
	}
	return at.In(loc), true
}

// New prepares a file, which is read later.
func New(from source.File) source.Source {
	f := &file{from: from}
	f.SetDescription(recording.Source{Kind: "diskstats", Name: from.Path})
	return f
}

type file struct {
	source.Recorded

	from source.File
}

// Read implements source.Source.
func (f *file) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	in, err := f.from.Open()
	if err != nil {
		return fmt.Errorf("diskstats: %w", err)
	}

	defer in.Close()

	r := &reader{w: w, opt: opt, path: f.from.Path, devices: map[string]int{}, period: map[int64]int{}}
	if r.opt.Location == nil {
		r.opt.Location = time.Local
	}

	if r.untimed, err = f.placed(opt.Period); err != nil {
		return fmt.Errorf("diskstats %s: %w", f.from.Path, err)
	}

	if err := r.read(ctx, in); err != nil {
		return fmt.Errorf("diskstats %s: %w", f.from.Path, err)
	}
	// Counters give rates only between two samples. An untimed file can be one sample since boot.
	if r.samples < 2 && (r.untimed == nil || r.samples == 0) {
		return fmt.Errorf("diskstats %s: too few samples with a time and the row of a device (%d): want at least two; record them with: while sleep 1; do date +%%s.%%N; cat /proc/diskstats; done",
			f.from.Path, r.samples)
	}

	d := recording.Source{Kind: "diskstats", Name: f.from.Path, Samples: r.samples,
		From: time.UnixMilli(r.firstMs).UTC(), To: time.UnixMilli(r.lastMs).UTC(), Period: r.usualPeriod()}
	f.SetDescription(d)
	w.Source(d)
	if r.untimed != nil {
		w.Note(r.untimed.note(f.from.Path))
	}

	return nil
}

// A reader collects samples into batches.
type reader struct {
	w    recording.Writer
	opt  source.Options
	path string

	devices map[string]int // indexes in counters
	names   []string
	at      time.Time
	now     map[int][]float64 // the current sample, by device

	times    []int64
	counters [][]float64 // of the batch: for each device, its counters of each time in sequence

	untimed         *untimed // nil if the file has times
	line, offset    int64
	samples         int64
	firstMs, lastMs int64
	period          map[int64]int // number of samples by their distance from the previous one, in ms
	back, damaged   int64
}

func (r *reader) read(ctx context.Context, in io.Reader) error {
	br := bufio.NewReaderSize(in, lineBytesMax)
	for {
		line, err := br.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			r.damage("longer than " + strconv.Itoa(lineBytesMax) + " bytes")
			r.offset += int64(len(line))
			line, err = br.ReadSlice('\n')
		}

		r.line++
		if len(line) > 0 && (err == nil || len(line) < lineBytesMax) {
			if e := r.take(ctx, line, err == nil); e != nil {
				return e
			}
		}

		r.offset += int64(len(line))

		switch {
		case errors.Is(err, io.EOF):
			if e := r.sampled(ctx); e != nil {
				return e
			}
			return r.flush(ctx)
		case err != nil:
			// The samples read before the error are still worth a recording.
			r.damage("read error: " + err.Error())
			if e := r.sampled(ctx); e != nil {
				return e
			}
			return r.flush(ctx)
		}
	}
}

// take handles a line. A time ends the previous sample.
func (r *reader) take(ctx context.Context, line []byte, whole bool) error {
	if at, ok := timeOf(line, r.opt.Location); ok {
		if err := r.sampled(ctx); err != nil {
			return err
		}
		r.at, r.now = at.Add(r.opt.ClockOffset), map[int][]float64{}
		return nil
	}

	if r.untimed != nil {
		if at, ok := r.untimed.begins(line); ok {
			if err := r.sampled(ctx); err != nil {
				return err
			}
			r.at, r.now = at.Add(r.opt.ClockOffset), map[int][]float64{}
		}
	}

	row := strings.TrimSpace(string(line))
	switch {
	case row == "" || r.now == nil:
	case !whole:
		r.damage("the file ends in the middle of a line")
	default:
		r.takeRow(row)
	}

	return nil
}

func (r *reader) takeRow(row string) {
	d, ok, err := procfs.ParseDisk(row)
	if err != nil {
		r.damage(err.Error())
	}

	if !ok {
		return
	}

	// Counters that the kernel lacks are NaN, that is, absent.
	counters := make([]float64, columns)
	busy := false
	for i := range counters {
		counters[i] = math.NaN()
		if i < d.Known {
			counters[i] = d.Value(i)
			busy = busy || d.Raw[i] > 0
		}
	}

	device, known := r.devices[d.Name]
	if !known {
		if !busy {
			return // an unused loop or RAM device
		}
		if len(r.names) == devicesMax {
			r.damage(fmt.Sprintf("more than %d devices", devicesMax))
			return
		}
		device = len(r.names)
		r.devices[d.Name] = device
		r.names = append(r.names, d.Name)
		r.counters = append(r.counters, nil)
	}

	// A duplicate row replaces the earlier one.
	r.now[device] = counters
}

// sampled ends a sample.
func (r *reader) sampled(ctx context.Context) error {
	ms := r.at.UnixMilli()
	now := r.now
	r.now = nil

	switch {
	case len(now) == 0:
		return nil
	case r.samples > 0 && ms <= r.lastMs:
		r.back++
		if r.back == 1 {
			r.w.Note(recording.Note{Kind: recording.NoteClock, Source: r.path, File: r.path, From: r.at.UTC(),
				Text: "skipped samples that were not later than the previous one: the host's clock was set back, or files were joined out of order"})
		}
		return nil
	case !r.opt.From.IsZero() && r.at.Before(r.opt.From), !r.opt.To.IsZero() && r.at.After(r.opt.To):
		return nil
	}

	if r.samples == 0 {
		r.firstMs = ms
	} else if len(r.period) < devicesMax {
		r.period[ms-r.lastMs]++
	}

	r.samples++
	r.lastMs = ms

	for i := range r.names {
		values, ok := now[i]
		if !ok {
			values = slices.Repeat([]float64{math.NaN()}, columns)
		}
		// A device that appeared later lacks the earlier samples of the batch.
		for len(r.counters[i]) < len(r.times)*columns {
			r.counters[i] = append(r.counters[i], math.NaN())
		}
		r.counters[i] = append(r.counters[i], values...)
	}

	if r.times = append(r.times, ms); len(r.times) == batchTimes {
		return r.flush(ctx)
	}

	return nil
}

// flush writes the batch.
func (r *reader) flush(ctx context.Context) error {
	if len(r.times) == 0 {
		return nil
	}

	batch := &recording.Batch{TimesMs: r.times}
	for i, name := range r.names {
		// Decided per batch, because the disk may have its first row after the partition.
		if r.isPartOf(name) {
			continue
		}
		for c, x := range procfs.DiskColumns {
			if r.opt.Want != nil && !r.opt.Want(x.Metric) {
				continue
			}

			values := make([]float64, len(r.times))
			some := false
			for k := range values {
				values[k] = math.NaN()
				if at := k*columns + c; at < len(r.counters[i]) { // shorter for a device of skipped samples only
					values[k] = r.counters[i][at]
				}
				some = some || !math.IsNaN(values[k])
			}

			if some {
				batch.Columns = append(batch.Columns, recording.Column{Labels: labels.FromStrings(labels.MetricName,
					x.Metric,
					"device", name), Values: values})
			}
		}
	}

	if err := r.w.Append(ctx, batch); err != nil {
		return err
	}

	r.times = r.times[:0]
	for i := range r.counters {
		r.counters[i] = r.counters[i][:0]
	}

	return nil
}

// isPartOf reports whether a device is a partition of a disk that has its own rows.
func (r *reader) isPartOf(name string) bool {
	disk, ok := source.DiskOf(name)
	if !ok {
		return false
	}
	_, whole := r.devices[disk]
	return whole
}

// usualPeriod returns the most frequent distance between samples, to a tenth of a second.
func (r *reader) usualPeriod() time.Duration {
	tenths := map[int64]int{}
	for ms, n := range r.period {
		tenths[(ms+50)/100] += n
	}
	best := int64(0)
	for t, n := range tenths {
		if n > tenths[best] || n == tenths[best] && t < best {
			best = t
		}
	}
	return time.Duration(best) * 100 * time.Millisecond
}

// damage notes the first unreadable line and counts the others.
func (r *reader) damage(what string) {
	if r.damaged++; r.damaged == 1 {
		r.w.Note(recording.Note{Kind: recording.NoteDamage, Source: r.path, File: r.path, Offset: r.offset,
			Text: fmt.Sprintf("line %d was skipped: %s", r.line, what)})
	}
}
