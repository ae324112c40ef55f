package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// elsewhere is the error of a run that found nothing because --from and --to select a time outside
// the sources: it names both times. It is nil if that is not the reason, or if it cannot be known,
// because a live source and a server have no end. what names what was not found.
func (o *sourceOptions) elsewhere(ctx context.Context, a *app, args []string, what string) error {
	if o.fromAt.IsZero() && o.toAt.IsZero() || ctx.Err() != nil {
		return nil //nolint:nilerr // an interrupted run has its own error
	}

	// A copy, so that the caller's own times stay unchanged.
	all := *o
	all.fromAt, all.toAt = time.Time{}, time.Time{}
	s := &spans{}

	// This reads the sources again, which is acceptable because the run has already failed.
	if err := all.spans(ctx, a, args, s); err != nil || s.from.IsZero() {
		return nil //nolint:nilerr // the first error says more
	}

	if (o.toAt.IsZero() || !o.toAt.Before(s.from)) && (o.fromAt.IsZero() || !o.fromAt.After(s.to)) {
		return nil // the requested time overlaps the sources
	}

	holds := "the source holds"
	if s.sources > 1 {
		holds = "the sources hold"
	}

	return failf(exitFailure, o.insteadOf(s), "%s: the requested time is %s, and %s %s", what,
		o.moments(o.fromAt, o.toAt), holds, o.moments(s.from, s.to))
}

// insteadOf suggests another time. Relative times such as -2h count from now, but a user who gives
// one for an old capture means the end of the capture.
func (o *sourceOptions) insteadOf(s *spans) string {
	hint := "leave out --from and --to for all of it"
	if d, err := time.ParseDuration(o.from); err == nil && o.to == "" {
		hint = fmt.Sprintf("--from %s counts from now; leave it out for all of it", o.from)
		if from := s.to.Add(d); from.After(s.from) {
			hint += fmt.Sprintf(", or give --from %s for its last %s", from.In(o.zone).Format(time.RFC3339),
				strings.TrimPrefix(o.from, "-"))
		}
	}
	return hint
}

var errEndless = errors.New("it has no end")

// moments formats a span of time; either end may be open.
func (o *sourceOptions) moments(from, to time.Time) string {
	from, to = from.In(o.zone), to.In(o.zone)
	switch {
	case to.IsZero():
		return from.Format(time.DateTime+" MST") + " and later"
	case from.IsZero():
		return to.Format(time.DateTime+" MST") + " and earlier"
	case from.Format(time.DateOnly) == to.Format(time.DateOnly):
		return from.Format(time.DateTime) + " to " + to.Format(time.TimeOnly+" MST")
	}
	return from.Format(time.DateTime) + " to " + to.Format(time.DateTime+" MST")
}

// spans records the time range that sources cover. As a writer it discards the samples.
type spans struct {
	mu       sync.Mutex
	from, to time.Time
	sources  int
}

func (s *spans) add(from, to time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !from.IsZero() && (s.from.IsZero() || from.Before(s.from)) {
		s.from = from
	}
	if to.After(s.to) {
		s.to = to
	}
}

// Append implements [recording.Writer].
func (s *spans) Append(_ context.Context, b *recording.Batch) error {
	if n := len(b.TimesMs); n > 0 {
		s.add(time.UnixMilli(b.TimesMs[0]), time.UnixMilli(b.TimesMs[n-1]))
	}
	return nil
}

// Note and Source implement [recording.Writer].
func (*spans) Note(recording.Note)     {}
func (*spans) Source(recording.Source) {}

// spans reads the time range that the sources cover.
func (o *sourceOptions) spans(ctx context.Context, a *app, args []string, s *spans) error {
	inputs, err := o.open(ctx, a, args)
	if err != nil {
		return err
	}

	defer closeAll(inputs)
	s.sources = len(inputs)

	for _, in := range inputs {
		// Reading all of a charged source only for an error message would cost money.
		if _, costs := in.Source.(source.Charged); costs {
			return errEndless // whatever time is asked for
		}
		if in.live() || in.Reader != nil && in.Describe().Kind == "prometheus" {
			return errEndless
		}

		if in.Reader != nil {
			for _, src := range in.Reader.Sources() {
				s.add(src.From, src.To)
			}
		}
	}

	return o.readAll(ctx, inputs, diagnose.Wants(pack()), &tally{}, func(int) recording.Writer { return s })
}
