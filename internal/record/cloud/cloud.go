// Package cloud is what the metrics services of cloud providers have in common as sources: a span of
// time is asked for, means of a minute come back, requests are counted and may cost money, and the
// provider knows what the volume is.
//
// Each provider is a package of its own and implements [Service]. Samples carry the time at which
// their interval ended, as all samples of a recording do; providers write its beginning.
package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// spanUnasked is how much is read if no time is given: a provider's metrics are history.
const spanUnasked = 3 * time.Hour

// A Service reads the metrics of one address.
type Service interface {
	// Describe asks what the provider knows of the address. An error means that nothing can be
	// read. It is called once, before Samples.
	Describe(ctx context.Context, d *Description) error
	// Period is the finest interval that the provider still has of data this old.
	Period(age time.Duration) time.Duration
	// Samples hands over the samples of a span in parts, each series in order of time. want is never
	// nil.
	Samples(ctx context.Context, s Span, want func(metric string) bool, take func([]Series) error) error
}

// A Description is what a provider knows of an address besides samples.
type Description struct {
	// Facts go into the source's. [Description.Volume] and [Description.Machine] write the common ones.
	Facts map[string]string
	// Notes say what is missing or out of the ordinary, a sentence each.
	Notes []string
	// Absent, if not nil, is the error to return if there are no samples: the provider does not know
	// the address, but may still have the metrics of something deleted.
	Absent error
}

// Fact sets a fact, unless its value is empty.
func (d *Description) Fact(name, value string) {
	if value == "" {
		return
	}
	if d.Facts == nil {
		d.Facts = map[string]string{}
	}
	d.Facts[name] = value
}

// Note adds a note.
func (d *Description) Note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// Answered reports whether a call that describes something was answered. Without permission for it, a
// note says what is missing (without, a clause); a thing that the provider does not know is Absent. Any
// other error is the caller's to return.
func (d *Description) Answered(err error, without string) (bool, error) {
	switch {
	case errors.Is(err, ErrDenied):
		d.Note("%v; without it, %s", err, without)
		return false, nil
	case errors.Is(err, ErrNotFound):
		d.Absent = err
		return false, nil
	}
	return err == nil, err
}

// A Span is the time to read: samples whose intervals begin at or after From and end at or before To.
type Span struct {
	From, To time.Time
	Period   time.Duration
}

// A Series is a series' values by the time at which their intervals begin, in milliseconds since
// 1970, ascending.
type Series struct {
	Labels  labels.Labels
	BeginMs []int64
	Values  []float64
}

// Source is a [Service] as a source.
type Source struct {
	source.Recorded
	service Service
	bill    *Bill
	now     func() time.Time
}

// NewSource makes a source of a service that counts its requests on a bill.
func NewSource(kind, name string, service Service, bill *Bill) *Source {
	s := &Source{service: service, bill: bill, now: time.Now}
	s.SetDescription(recording.Source{Kind: kind, Name: name})
	return s
}

// Charge implements [source.Charged].
func (s *Source) Charge() string { return s.bill.Text() }

// Read implements [source.Source].
func (s *Source) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	desc := s.Describe()
	var about Description
	if err := s.service.Describe(ctx, &about); err != nil {
		return err
	}

	span, note := s.span(opt)
	if note != "" {
		about.Note("%s", note)
	}

	want := opt.Want
	if want == nil {
		want = func(string) bool { return true }
	}

	t := &taking{ctx: ctx, w: w, opt: opt, span: span}
	err := s.service.Samples(ctx, span, want, t.take)
	if err == nil && t.samples == 0 {
		err = cmp.Or(about.Absent,
			fmt.Errorf("%s: there are no samples from %s to %s: the metrics begin when a volume is attached to a running machine",
				desc.Name, span.From.UTC().Format(time.RFC3339), span.To.UTC().Format(time.RFC3339)))
	}

	if err != nil {
		return err
	}

	if about.Absent != nil {
		about.Note("%v; its metrics are still there", about.Absent)
	}

	if n := s.bill.Throttled(); n > 0 {
		about.Note("the provider throttled %d of the requests; they were repeated with growing waits, and nothing is missing",
			n)
	}

	about.Fact("requests", s.bill.Text())
	desc.Facts = about.Facts
	desc.From, desc.To = time.UnixMilli(t.fromMs).UTC(), time.UnixMilli(t.toMs).UTC()
	desc.Period, desc.Samples = span.Period, int64(len(t.moments))
	s.SetDescription(desc)
	w.Source(desc)

	for _, text := range about.Notes {
		w.Note(recording.Note{Kind: recording.NoteLimit, Source: desc.Name, Text: text})
	}

	return nil
}

// span is the time to ask for on the provider's clock, and a note if its data is coarser than usual.
func (s *Source) span(opt source.Options) (Span, string) {
	now := s.now()
	out := Span{From: opt.From, To: opt.To}
	if out.To.IsZero() {
		out.To = now.Add(opt.ClockOffset)
	}

	if out.From.IsZero() {
		out.From = out.To.Add(-spanUnasked)
	}

	out.From, out.To = out.From.Add(-opt.ClockOffset), out.To.Add(-opt.ClockOffset)
	if out.To.After(now) {
		out.To = now
	}

	finest := s.service.Period(0)
	out.Period = s.service.Period(now.Sub(out.From))
	out.From = out.From.Truncate(out.Period)

	if out.Period > finest {
		return out, fmt.Sprintf("the provider keeps means of %s only for a while: these are of %s",
			finest, out.Period)
	}

	return out, ""
}

// taking hands samples over.
type taking struct {
	ctx  context.Context //nolint:containedctx // that of one Read
	w    recording.Writer
	opt  source.Options
	span Span

	mu           sync.Mutex
	moments      map[int64]bool
	samples      int
	fromMs, toMs int64
}

// errSeries is the error of a service that gives a series in disorder.
var errSeries = errors.New("a series is not in order of time")

// take implements the last argument of [Service.Samples].
func (t *taking) take(all []Series) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	shift := t.span.Period.Milliseconds()

	var times []int64
	for _, s := range all {
		if !slices.IsSorted(s.BeginMs) || len(s.BeginMs) != len(s.Values) {
			return fmt.Errorf("%s: %w", s.Labels.Get(labels.MetricName), errSeries)
		}
		for _, ms := range s.BeginMs {
			if ms += shift; ms >= t.span.From.UnixMilli() && ms <= t.span.To.UnixMilli() {
				times = append(times, ms)
			}
		}
	}

	slices.Sort(times)
	times = slices.Compact(times)
	if len(times) == 0 {
		return nil
	}

	b := recording.Batch{TimesMs: times}
	for _, s := range all {
		if col, n := column(s, times, shift); n > 0 {
			b.Columns = append(b.Columns, recording.Column{Labels: s.Labels, Values: col})
			t.samples += n
		}
	}

	if t.moments == nil {
		t.moments, t.fromMs = map[int64]bool{}, math.MaxInt64
	}

	for i := range times {
		times[i] += t.opt.ClockOffset.Milliseconds()
		t.moments[times[i]] = true
	}

	t.fromMs, t.toMs = min(t.fromMs, times[0]), max(t.toMs, times[len(times)-1])
	return t.w.Append(t.ctx, &b)
}

// column lays a series on the times of a batch.
func column(s Series, times []int64, shift int64) (values []float64, n int) {
	values = make([]float64, len(times))
	for i := range values {
		values[i] = math.NaN()
	}
	for i, ms := range s.BeginMs {
		if k, ok := slices.BinarySearch(times, ms+shift); ok && !math.IsNaN(s.Values[i]) {
			values[k] = s.Values[i]
			n++
		}
	}
	return values, n
}
