// Package cloud contains what the metrics services of cloud providers have in common as sources:
// requests for a span of time return one-minute means, are counted and may cost money, and the
// provider knows the type and limits of the volume.
//
// Each provider has its own package and implements [Service]. Samples carry the end of their
// interval, like all samples of a recording; providers report its beginning.
package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// spanDefault is the span that is read if no time is given: the metrics of a provider are history.
const spanDefault = 3 * time.Hour

// A Service reads the metrics of one address.
type Service interface {
	// Describe requests the provider's description of the address. An error means that nothing can
	// be read. It is called once, before Samples.
	Describe(ctx context.Context, d *Description) error
	// Period returns the finest interval that the provider still has for data of this age.
	Period(age time.Duration) time.Duration
	// Samples passes the samples of a span to emit, in parts, each series in order of time. want is
	// never nil.
	Samples(ctx context.Context, s Span, want func(metric string) bool, emit func([]Series) error) error
}

// A Description holds what a provider reports about an address, in addition to samples.
type Description struct {
	// Facts become facts of the source. [Description.Volume] and [Description.Machine] write the
	// common ones.
	Facts map[string]string
	// Notes say what is missing or unusual, a sentence each.
	Notes []string
	// Absent, if not nil, is the error to return if there are no samples. The provider may not know
	// the address and still have the metrics of a deleted resource.
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

// Answered reports whether a describing call was answered. If the permission is missing, a note ends with the
// clause without, which says what is unknown; an unknown resource becomes Absent. The caller returns any
// other error.
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

// A Span is the time to read: samples whose intervals begin at or after From and end at or before
// To.
type Span struct {
	From, To time.Time
	Period   time.Duration
}

// Parts yields the beginnings and ends of the parts of a span, which are at most as long as given.
func (s Span) Parts(long time.Duration) iter.Seq2[time.Time, time.Time] {
	return func(yield func(from, to time.Time) bool) {
		for from := s.From; from.Before(s.To); from = from.Add(long) {
			to := from.Add(long)
			if to.After(s.To) {
				to = s.To
			}
			if !yield(from, to) {
				return
			}
		}
	}
}

// A Series is the values of a series by the beginnings of their intervals, in milliseconds since
// 1970, ascending.
type Series struct {
	Labels  labels.Labels
	BeginMs []int64
	Values  []float64
}

// Source makes a source of a [Service].
type Source struct {
	source.Recorded
	service Service
	bill    *Bill
	now     func() time.Time
}

// NewSource returns the source of a service that counts its requests on a bill.
func NewSource(kind, name string, service Service, bill *Bill) *Source {
	s := &Source{service: service, bill: bill, now: time.Now}
	s.SetDescription(recording.Source{Kind: kind, Name: name})
	return s
}

// Charge implements [source.Charged].
func (s *Source) Charge() string { return s.bill.Text() }

// Read implements [source.Source].
func (s *Source) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	desc := s.Describe()
	var about Description
	// Described first, because the resource's name, region and creation time limit what can be requested.
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

	samples := &sink{ctx: ctx, w: writer, opt: opt, span: span}
	err := s.service.Samples(ctx, span, want, samples.add)
	// A resource that does not exist explains the absence of samples better than a time range.
	if err == nil && samples.samples == 0 {
		err = cmp.Or(about.Absent,
			fmt.Errorf("%s: no samples from %s to %s: metrics exist only while a volume is attached to a running machine",
				desc.Name, span.From.UTC().Format(time.RFC3339), span.To.UTC().Format(time.RFC3339)))
	}

	if err != nil {
		return err
	}

	// Providers keep metrics of deleted resources for a while.
	if about.Absent != nil {
		about.Note("%v; its metrics are still available", about.Absent)
	}

	if n := s.bill.Throttled(); n > 0 {
		about.Note("requests throttled by the provider: %d; they were retried with backoff, and no data is missing",
			n)
	}

	about.Fact("requests", s.bill.Text())
	desc.Facts = about.Facts
	desc.From, desc.To = time.UnixMilli(samples.fromMs).UTC(), time.UnixMilli(samples.toMs).UTC()
	desc.Period, desc.Samples = span.Period, int64(len(samples.moments))
	s.SetDescription(desc)
	writer.Source(desc)

	for _, text := range about.Notes {
		writer.Note(recording.Note{Kind: recording.NoteLimit, Source: desc.Name, Text: text})
	}

	return nil
}

// span returns the time to request, on the provider's clock, and a note if its data is coarser than
// usual.
func (s *Source) span(opt source.Options) (Span, string) {
	now := s.now()
	out := Span{From: opt.From, To: opt.To}
	if out.To.IsZero() {
		out.To = now.Add(opt.ClockOffset)
	}

	if out.From.IsZero() {
		out.From = out.To.Add(-spanDefault)
	}

	// The provider's clock is the reference; ClockOffset maps it to the recording's.
	out.From, out.To = out.From.Add(-opt.ClockOffset), out.To.Add(-opt.ClockOffset)

	// The provider has no data from the future.
	if out.To.After(now) {
		out.To = now
	}

	finest := s.service.Period(0)
	out.Period = s.service.Period(now.Sub(out.From))

	// Providers align intervals to whole periods; a partial first interval would be lost.
	out.From = out.From.Truncate(out.Period)

	if out.Period > finest {
		return out, fmt.Sprintf("the provider keeps %s means for a limited time only: this span has %s means",
			finest, out.Period)
	}

	return out, ""
}

// A sink writes samples to a recording.
type sink struct {
	ctx  context.Context //nolint:containedctx // the context of one Read
	w    recording.Writer
	opt  source.Options
	span Span

	mu           sync.Mutex
	moments      map[int64]bool
	samples      int
	fromMs, toMs int64
}

// errSeries reports a service that returns a series out of order.
var errSeries = errors.New("a series is not in order of time")

// add implements the last argument of [Service.Samples].
func (t *sink) add(all []Series) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	shift := t.span.Period.Milliseconds()

	if t.moments == nil {
		t.moments, t.fromMs = map[int64]bool{}, math.MaxInt64
	}

	for _, s := range all {
		if !slices.IsSorted(s.BeginMs) || len(s.BeginMs) != len(s.Values) {
			return fmt.Errorf("%s: %w", s.Labels.Get(labels.MetricName), errSeries)
		}

		b, values := recording.Batch{}, []float64(nil)
		for i, begin := range s.BeginMs {
			end := begin + shift
			if end < t.span.From.UnixMilli() || end > t.span.To.UnixMilli() || math.IsNaN(s.Values[i]) {
				continue
			}

			ms := end + t.opt.ClockOffset.Milliseconds()
			t.moments[ms] = true
			t.fromMs, t.toMs = min(t.fromMs, ms), max(t.toMs, ms)
			// Pages of an answer may overlap.
			if n := len(values); n > 0 && b.TimesMs[n-1] == ms {
				values[n-1] = s.Values[i]
				continue
			}
			b.TimesMs, values = append(b.TimesMs, ms), append(values, s.Values[i])
		}

		if len(values) == 0 {
			continue
		}
		t.samples += len(values)
		b.Columns = []recording.Column{{Labels: s.Labels, Values: values}}
		if err := t.w.Append(t.ctx, &b); err != nil {
			return err
		}
	}
	return nil
}
