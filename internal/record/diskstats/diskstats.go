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
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/record/lineprefix"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/samples"
	"plimsoll/internal/record/source"
)

// Limits of a file.
const (
	lineBytesMax = 64 << 10
	devicesMax   = 4096
	// deviceSeriesMax is how many figures /proc/diskstats has of a device.
	deviceSeriesMax = 17
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
	return &file{source.OfFile(from, recording.Source{Kind: "diskstats"})}
}

type file struct{ *source.RecordedFile }

// Read implements source.Source.
func (f *file) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("diskstats: %w", err)
	}

	defer in.Close()

	r := &reader{w: w, out: samples.NewWriter(ctx, w, opt, f.Path), loc: cmp.Or(opt.Location, time.Local),
		path: f.Path, devices: map[string]*device{}}
	r.out.SeriesMax = deviceSeriesMax * devicesMax
	if r.untimed, err = f.placed(opt.Period); err != nil {
		return fmt.Errorf("diskstats %s: %w", f.Path, err)
	}

	if err := r.read(in); err != nil {
		return fmt.Errorf("diskstats %s: %w", f.Path, err)
	}
	// Counters give rates only between two samples. An untimed file can be one sample since boot.
	n := r.out.Samples()
	if n < 2 && (r.untimed == nil || n == 0) {
		return fmt.Errorf("diskstats %s: too few samples with a time and the row of a device (%d): want at least two; record them with: while sleep 1; do date +%%s.%%N; cat /proc/diskstats; done",
			f.Path, n)
	}

	if err := r.out.End(&f.Recorded); err != nil {
		return err
	}
	if r.untimed != nil {
		w.Note(r.untimed.note(f.Path))
	}

	return nil
}

// A reader passes samples to a writer.
type reader struct {
	w    recording.Writer
	out  *samples.Writer
	loc  *time.Location
	path string

	devices map[string]*device
	names   []string // of the devices, in the order of the file

	at      time.Time
	now     map[string]procfs.Disk // the current sample, by device; nil before a time
	untimed *untimed               // nil if the file has times

	in      *source.LineReader
	damaged int64
}

// A device has the series of its counters, once it has a sample.
type device struct {
	disk  string // if it may be a partition
	known bool
	ids   [columns]samples.ID
}

func (r *reader) read(in io.Reader) error {
	r.in = source.NewLineReader(in, lineBytesMax)
	for {
		line, long, err := r.in.Next()
		if long {
			r.damage("longer than " + strconv.Itoa(lineBytesMax) + " bytes")
		} else if len(line) > 0 {
			if e := r.take(line, err == nil); e != nil {
				return e
			}
		}

		// The samples read before an error are still worth a recording.
		if err != nil && !errors.Is(err, io.EOF) {
			r.damage("read error: " + err.Error())
		}
		if err != nil {
			return r.sampled()
		}
	}
}

// take handles a line. A time ends the previous sample.
func (r *reader) take(line []byte, whole bool) error {
	at, begins := timeOf(line, r.loc)
	timed := begins
	if !begins && r.untimed != nil {
		at, begins = r.untimed.begins(line)
	}
	if begins {
		if err := r.sampled(); err != nil {
			return err
		}
		r.at, r.now = at, map[string]procfs.Disk{}
	}

	row := strings.TrimSpace(string(line))
	switch {
	case timed || row == "" || r.now == nil:
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

	if r.devices[d.Name] == nil {
		if !slices.ContainsFunc(d.Raw[:d.Known], func(n uint64) bool { return n > 0 }) {
			return // an unused loop or RAM device
		}
		if len(r.names) == devicesMax {
			r.damage(fmt.Sprintf("more than %d devices", devicesMax))
			return
		}
		disk, _ := source.DiskOf(d.Name)
		r.devices[d.Name] = &device{disk: disk}
		r.names = append(r.names, d.Name)
	}

	// A duplicate row replaces the earlier one.
	r.now[d.Name] = d
}

// sampled ends a sample.
func (r *reader) sampled() error {
	now := r.now
	r.now = nil
	if len(now) == 0 {
		return nil
	}
	if err := r.out.Time(r.at); err != nil {
		return err
	}

	for _, name := range r.names {
		// The disk of a partition counts its requests as well.
		d, ok := now[name]
		of := r.devices[name]
		if !ok || r.devices[of.disk] != nil {
			continue
		}

		if !of.known {
			of.known = true
			for i, x := range procfs.DiskColumns {
				of.ids[i] = r.out.ID(x.Metric, "device", name)
			}
		}

		// Counters that the kernel lacks are absent.
		for i := range d.Known {
			r.out.Set(of.ids[i], d.Value(i))
		}
	}
	return nil
}

// damage notes the first unreadable line and counts the others.
func (r *reader) damage(what string) {
	if r.damaged++; r.damaged == 1 {
		r.w.Note(recording.Note{Kind: recording.NoteDamage, Source: r.path, File: r.path, Offset: r.in.From,
			Text: fmt.Sprintf("line %d was skipped: %s", r.in.Number, what)})
	}
}
