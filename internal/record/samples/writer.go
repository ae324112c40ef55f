package samples

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// Limits of a file's series and batches.
const (
	seriesMax      = 20_000
	batchTimesMax  = 512
	batchValuesMax = 1 << 18
	stepsKept      = 4096 // distinct distances between samples, for the usual one
)

// A Writer collects the figures of one time after another into batches. Series that are missing at
// a time have a gap there.
type Writer struct {
	ctx  context.Context //nolint:containedctx // of one Read
	w    recording.Writer
	opt  source.Options
	path string

	// SeriesMax bounds the series; 0: 20,000.
	SeriesMax int

	index map[string]int
	all   []series
	times []int64
	skip  bool // the current time is not wanted

	values          int
	firstMs, lastMs int64
	count           int64
	steps           map[int64]int
	back            int64
	full            bool
}

type series struct {
	labels labels.Labels // empty if the metric is not wanted
	values []float64
	total  float64 // of a rate's counter
}

// NewWriter returns a writer for the samples of one file.
func NewWriter(ctx context.Context, w recording.Writer, opt source.Options, path string) *Writer {
	return &Writer{ctx: ctx, w: w, opt: opt, path: path, index: map[string]int{}, steps: map[int64]int{}}
}

// Time begins the sample of a time; figures until the next call belong to it. A time that is not
// later than the last one is noted and skipped.
func (w *Writer) Time(at time.Time) error {
	at = at.Add(w.opt.ClockOffset)
	ms := at.UnixMilli()
	// Until the time is accepted: figures of a skipped time must not join the previous sample.
	w.skip = true

	switch {
	case w.count > 0 && ms <= w.lastMs:
		if w.back++; w.back == 1 {
			w.w.Note(recording.Note{Kind: recording.NoteClock, Source: w.path, File: w.path, From: at.UTC(),
				Text: "skipped samples that were not later than the previous one: the host's clock was set back, or files were joined out of order"})
		}
		return nil
	case !w.opt.From.IsZero() && at.Before(w.opt.From), !w.opt.To.IsZero() && at.After(w.opt.To):
		return nil
	}

	if len(w.times) >= batchTimesMax || w.values >= batchValuesMax {
		if err := w.flush(); err != nil {
			return err
		}
	}

	w.skip = false
	if w.count == 0 {
		w.firstMs = ms
		// The most frequent step becomes the period, so the distances are counted.
	} else if len(w.steps) < stepsKept {
		w.steps[ms-w.lastMs]++
	}

	w.count++
	w.lastMs = ms
	w.times = append(w.times, ms)

	return nil
}

// Last is the time of the last sample, without the offset; zero if there is none.
func (w *Writer) Last() time.Time {
	if w.count == 0 {
		return time.Time{}
	}
	return time.UnixMilli(w.lastMs).Add(-w.opt.ClockOffset)
}

// An ID is a series of a Writer, so that readers with many rows need not look it up for each.
type ID int

// unwanted is the ID of series that are not kept.
const unwanted ID = -1

// Add adds a figure to the current sample. pairs are its labels: name, value, and so on. NaN is
// absent.
func (w *Writer) Add(value float64, name string, pairs ...string) { w.Set(w.ID(name, pairs...), value) }

// Set does the same for a series.
func (w *Writer) Set(id ID, value float64) {
	if id != unwanted && !w.skip {
		w.set(&w.all[id], value)
	}
}

// AddOver adds the mean rate of the interval that ends at the current sample as a counter: the rate
// times the interval, summed. A series that is new begins with 0 at the previous sample.
func (w *Writer) AddOver(interval time.Duration, rate float64, name string, pairs ...string) {
	w.SetOver(w.ID(name, pairs...), interval, rate)
}

// SetOver does the same for a series.
func (w *Writer) SetOver(id ID, interval time.Duration, rate float64) {
	if id == unwanted || w.skip || math.IsNaN(rate) {
		return
	}
	s := &w.all[id]

	// The interval's start must be a sample of this series too, or its rate is lost.
	if n := len(w.times); n > 1 && len(s.values) < n {
		for len(s.values) < n-1 {
			s.values = append(s.values, math.NaN())
		}
		if math.IsNaN(s.values[n-2]) {
			s.values[n-2] = s.total
			w.values++
		}
	}

	s.total += rate * interval.Seconds()
	w.set(s, s.total)
}

// Keep repeats every counter of AddOver at the current sample: the start of an interval after a
// pause.
func (w *Writer) Keep() {
	if w.skip {
		return
	}
	for i := range w.all {
		if s := &w.all[i]; s.total > 0 && !s.labels.IsEmpty() {
			w.set(s, s.total)
		}
	}
}

func (w *Writer) set(s *series, value float64) {
	if w.skip || math.IsNaN(value) {
		return
	}
	for len(s.values) < len(w.times) {
		s.values = append(s.values, math.NaN())
	}
	s.values[len(w.times)-1] = value
	w.values++
}

// ID returns a series by its metric and labels.
func (w *Writer) ID(name string, pairs ...string) ID {
	key := name
	if len(pairs) > 0 {
		key += "\x00" + strings.Join(pairs, "\x00")
	}

	i, ok := w.index[key]
	if !ok {
		if len(w.all) == cmp.Or(w.SeriesMax, seriesMax) {
			w.full = true
			return unwanted
		}

		i = len(w.all)
		w.index[key] = i
		s := series{}
		if w.opt.Want == nil || w.opt.Want(name) {
			named := []string{labels.MetricName, name}
			for _, p := range pairs {
				named = append(named, strings.ToValidUTF8(p, "\uFFFD"))
			}
			s.labels = labels.FromStrings(named...)
		}
		w.all = append(w.all, s)
	}

	if w.all[i].labels.IsEmpty() {
		return unwanted
	}
	return ID(i)
}

// Note stores a note about the file.
func (w *Writer) Note(kind recording.NoteKind, text string) {
	w.w.Note(recording.Note{Kind: kind, Source: w.path, File: w.path, Text: text})
}

func (w *Writer) flush() error {
	if len(w.times) == 0 {
		return nil
	}

	b := &recording.Batch{TimesMs: w.times}
	for i := range w.all {
		s := &w.all[i]
		if len(s.values) == 0 {
			continue
		}
		for len(s.values) < len(w.times) {
			s.values = append(s.values, math.NaN())
		}
		b.Columns = append(b.Columns, recording.Column{Labels: s.labels, Values: s.values})
	}

	if len(b.Columns) > 0 {
		if err := w.w.Append(w.ctx, b); err != nil {
			return err
		}
	}

	w.times, w.values = w.times[:0], 0
	for i := range w.all {
		w.all[i].values = w.all[i].values[:0]
	}

	return nil
}

// End writes the remaining samples, and completes the description of their source with its times and
// period.
func (w *Writer) End(of *source.Recorded) error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.full {
		w.Note(recording.NoteLimit,
			fmt.Sprintf("skipped series beyond the first %d", cmp.Or(w.SeriesMax, seriesMax)))
	}

	d := of.Describe()
	d.Samples, d.Period = w.count, w.period()
	if w.count > 0 {
		d.From, d.To = time.UnixMilli(w.firstMs).UTC(), time.UnixMilli(w.lastMs).UTC()
	}
	of.SetDescription(d)
	w.w.Source(d)
	return nil
}

// Samples is the number of times so far.
func (w *Writer) Samples() int64 { return w.count }

// period returns the most frequent distance between samples, to a tenth of a second if that is
// enough.
func (w *Writer) period() time.Duration {
	const grain = 100
	rounded := map[int64]int{}
	for ms, n := range w.steps {
		if ms >= grain {
			ms = (ms + grain/2) / grain * grain
		}
		rounded[ms] += n
	}
	return MostFrequent(rounded)
}

// MostFrequent returns the most frequent of the steps (ms), the shorter of two in a tie.
func MostFrequent(steps map[int64]int) time.Duration {
	best := int64(0)
	for ms, n := range steps {
		if n > steps[best] || n == steps[best] && ms < best {
			best = ms
		}
	}
	return time.Duration(best) * time.Millisecond
}
