package recording

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/tsdb/wlog"
	"github.com/prometheus/prometheus/util/compression"

	"plimsoll/internal/base/safefile"
)

const (
	walDirName = "wal"
	// walSegmentBytes is the size of a log file. Log files are removed as a whole, once their
	// samples are in a block.
	walSegmentBytes = 32 << 20
	// recordSamples is the number of samples in a log record.
	recordSamples = 4096
	// logBytes is the encoded size at which a part of a batch is written to the log.
	logBytes = 4 << 20
)

// silent suppresses the TSDB's own messages. Important ones are returned as errors and notes.
var silent = slog.New(slog.DiscardHandler)

// A walWriter logs samples as they arrive, so that a killed process loses nothing: each write
// reaches the operating system before it returns.
type walWriter struct {
	log     *wlog.WL
	nextRef uint64
	segment int // series named in an earlier segment are named again
	// torn is set when a write failed, for example on a full disk. Everything after half a record
	// in a file is unreadable, so the next write begins a new file.
	torn    bool
	encoder record.Encoder
	series  []record.RefSeries
	samples []record.RefSample
	records [][]byte
	bytes   int
	logged  int64 // bytes of records since the last cut, before compression
}

func newWAL(dir string) (*walWriter, error) {
	log, err := wlog.NewSize(silent, nil, filepath.Join(dir, walDirName), walSegmentBytes, compression.Snappy)
	if err != nil {
		return nil, fmt.Errorf("open the write-ahead log: %w", err)
	}
	return &walWriter{log: log, segment: 1}, nil
}

// add encodes the samples of a column, and the series if the current part of the log does not name
// it yet. A single value applies to all times.
func (w *walWriter) add(s *memorySeries, times []int64, values []float64) error {
	if s.logged != w.segment {
		w.nextRef++
		s.ref, s.logged = w.nextRef, w.segment
		w.series = append(w.series, record.RefSeries{Ref: chunks.HeadSeriesRef(s.ref), Labels: s.labels})
	}

	v := values[0]
	for i, t := range times {
		if len(values) > 1 {
			v = values[i]
		}
		// NaN is a missing sample, which the log does not store.
		if v != v {
			continue
		}
		w.samples = append(w.samples, record.RefSample{Ref: chunks.HeadSeriesRef(s.ref), T: t, V: v})
		if len(w.samples) == recordSamples {
			w.encode()
		}
	}

	// A batch may be large; its records are written in parts, so that they do not pile up in
	// memory.
	if w.bytes > logBytes {
		return w.flush()
	}

	return nil
}

// encode converts the added series and samples to records, the series first.
func (w *walWriter) encode() {
	if len(w.series) > 0 {
		w.push(w.encoder.Series(w.series, nil))
		w.series = w.series[:0]
	}
	if len(w.samples) > 0 {
		w.push(w.encoder.Samples(w.samples, w.buffer()))
		w.samples = w.samples[:0]
	}
}

func (w *walWriter) push(record []byte) {
	w.records = append(w.records, record)
	w.bytes += len(record)
	w.logged += int64(len(record))
}

// buffer reuses the memory of a record from an earlier batch.
func (w *walWriter) buffer() []byte {
	if n := len(w.records); n < cap(w.records) {
		return w.records[: n+1 : cap(w.records)][n][:0]
	}
	return nil
}

// flush writes all records to the operating system.
func (w *walWriter) flush() error {
	w.encode()
	records := w.records
	w.records, w.bytes = w.records[:0], 0

	if len(records) == 0 {
		return nil
	}

	// Records after a torn one would be unreadable in the same file.
	if w.torn {
		if _, err := w.log.NextSegment(); err != nil {
			return w.failed(err)
		}
		w.torn = false
	}

	if err := w.log.Log(records...); err != nil {
		return w.failed(err)
	}

	return nil
}

// failed records a failed write. Series in records that may be lost will be named again.
func (w *walWriter) failed(err error) error {
	w.segment++
	w.torn = true
	return fmt.Errorf("write-ahead log: %w", err)
}

// cut starts a new file and returns its number. Everything logged from here on can be read without
// the earlier files.
func (w *walWriter) cut() (int, error) {
	w.segment++
	w.logged = 0
	return w.log.NextSegment()
}

// walDamage is an unreadable place in a log.
type walDamage struct {
	file   string
	offset int64
	last   bool // in the last file: a truncated write
	err    error
}

// note returns a note about the damage.
func (w walDamage) note(dir string) Note {
	file, err := filepath.Rel(dir, w.file)
	if err != nil {
		file = w.file
	}
	text := fmt.Sprintf("the write-ahead log is damaged at this offset (%v): everything after it in the file may be missing",
		w.err)
	if w.last {
		text = fmt.Sprintf("the recorder was interrupted during its last write (%v): that batch is lost", w.err)
	}
	return Note{Kind: NoteDamage, Source: dir, File: file, Offset: w.offset, Text: text}
}

// readWAL adds the samples of the log in dir that are newer than those in m. It only reads the log.
func readWAL(ctx context.Context, dir string, m *Memory, lastMs int64) ([]walDamage, error) {
	walDir := filepath.Join(dir, walDirName)
	first, last, err := wlog.Segments(walDir)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && last < 0) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("write-ahead log %s: %w", walDir, err)
	}

	r := &walReader{m: m, lastMs: lastMs, series: map[chunks.HeadSeriesRef]*memorySeries{},
		decoder: record.NewDecoder(nil, silent)}
	var damage []walDamage
	for i := first; i <= last; i++ {
		file := wlog.SegmentName(walDir, i)
		offset, err := r.segment(ctx, file)
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		// The file was not read at all: this is a failure, not damage.
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("write-ahead log: %w", err)
		}
		if err != nil {
			damage = append(damage, walDamage{file, offset, i == last, err})
		}
	}

	return damage, nil
}

// walReader reads log files in order.
type walReader struct {
	m       *Memory
	lastMs  int64 // no later sample is read
	decoder record.Decoder
	series  map[chunks.HeadSeriesRef]*memorySeries
	refs    []record.RefSeries
	samples []record.RefSample
	times   []int64
	values  []float64
}

// segment reads a file up to its end or the first damage, and returns the offset at which it
// stopped.
func (r *walReader) segment(ctx context.Context, file string) (offset int64, err error) {
	if err := safefile.IsFile(file); err != nil {
		return 0, err
	}

	segment, err := wlog.OpenReadSegment(file)
	if err != nil {
		return 0, err
	}

	source := wlog.NewSegmentBufReader(segment)
	defer source.Close()

	reader := wlog.NewReader(source)
	for reader.Next() {
		if err := ctx.Err(); err != nil {
			return reader.Offset(), err
		}
		if err := r.record(reader.Record()); err != nil {
			return reader.Offset(), err
		}
	}

	return reader.Offset(), reader.Err()
}

func (r *walReader) record(rec []byte) (err error) {
	switch r.decoder.Type(rec) {
	case record.Series:
		if r.refs, err = r.decoder.Series(rec, r.refs[:0]); err != nil {
			return err
		}
		for _, s := range r.refs {
			if s.Labels.Get(labels.MetricName) == "" {
				return fmt.Errorf("series %s has no metric name", s.Labels)
			}
			// The strings of the decoder point into the record, so they are copied.
			r.series[s.Ref] = r.m.find(s.Labels.Copy())
		}
	case record.Samples, record.SamplesV2:
		if r.samples, err = r.decoder.Samples(rec, r.samples[:0]); err != nil {
			return err
		}
		// Samples of one series follow each other in a record, because columns were logged one
		// after the other.
		for rest := r.samples; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Ref == rest[0].Ref {
				n++
			}
			r.oneSeries(rest[:n])
			rest = rest[n:]
		}
	}

	return nil
}

// oneSeries adds samples of one series.
func (r *walReader) oneSeries(samples []record.RefSample) {
	s := r.series[samples[0].Ref]
	// The record that names the series may have been in a damaged part of the log.
	if s == nil || r.m.bytes > r.m.opt.MaxBytes {
		r.m.drop(&r.m.over, "a series of the write-ahead log", len(samples), samples[0].T, samples[len(samples)-1].T)
		return
	}

	r.times, r.values = r.times[:0], r.values[:0]
	last, any := s.lastMs, s.any
	for _, x := range samples {
		// A time far in the future would make everything after it look too old.
		if x.T < 0 || x.T > r.lastMs {
			r.m.drop(&r.m.far, s.name, 1, x.T, x.T)
			continue
		}
		// After a crash, samples may be both in a block and in the log: they are added once.
		if (any && x.T <= last) || x.V != x.V {
			continue
		}
		r.times, r.values = append(r.times, x.T), append(r.values, x.V)
		last, any = x.T, true
	}

	if len(r.times) > 0 {
		r.m.appendRun(s, r.times, r.values)
	}
}

// ownWAL refuses a log folder or file that was replaced by a link: writes and removals would affect
// another folder or file.
func ownWAL(dir string) error {
	walDir := filepath.Join(dir, walDirName)
	info, err := os.Lstat(walDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%w: remove it", &safefile.NotFileError{Path: walDir, Mode: info.Mode()})
	}

	if err != nil {
		return err
	}

	entries, err := os.ReadDir(walDir)
	if err != nil {
		return err
	}

	for _, e := range entries {
		if !e.Type().IsRegular() {
			return &safefile.NotFileError{Path: filepath.Join(walDir, e.Name()), Mode: e.Type()}
		}
	}

	return nil
}

// emptyWAL removes the files of the log. The folder itself remains: promtool does not open a TSDB
// without one.
func emptyWAL(dir string) error {
	walDir := filepath.Join(dir, walDirName)
	entries, err := os.ReadDir(walDir)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Mkdir(walDir, 0o755)
	}
	for _, e := range entries {
		err = errors.Join(err, os.Remove(filepath.Join(walDir, e.Name())))
	}
	return err
}
