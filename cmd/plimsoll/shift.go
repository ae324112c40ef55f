package main

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/recording"
)

// shifted is a recording or a server with a known clock offset, which is added to all its times.
type shifted struct {
	recording.Reader
	by time.Duration
}

// back converts the user's time to the reader's own clock.
func (s shifted) back(t time.Time) time.Time { return later(t, -s.by) }

// later shifts a time, unless it is zero.
func later(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

func (s shifted) Sources() []recording.Source {
	out := s.Reader.Sources()
	for i := range out {
		out[i].From, out[i].To = later(out[i].From, s.by), later(out[i].To, s.by)
	}
	return out
}

func (s shifted) Notes() []recording.Note {
	out := s.Reader.Notes()
	for i := range out {
		out[i].From, out[i].To = later(out[i].From, s.by), later(out[i].To, s.by)
	}
	return out
}

func (s shifted) Marks() []recording.Mark {
	out := s.Reader.Marks()
	for i := range out {
		out[i].At = later(out[i].At, s.by)
	}
	return out
}

func (s shifted) Metrics(ctx context.Context) ([]recording.Metric, error) {
	out, err := s.Reader.Metrics(ctx)
	for i := range out {
		out[i].From, out[i].To = later(out[i].From, s.by), later(out[i].To, s.by)
	}
	return out, err
}

func (s shifted) Samples(ctx context.Context, selector recording.Selector, from,
	to time.Time) ([]recording.Series, error) {
	out, err := s.Reader.Samples(ctx, selector, s.back(from), s.back(to))
	return s.forth(out), err
}

func (s shifted) Walk(ctx context.Context, selector recording.Selector, from, to time.Time,
	visit recording.Visit) error {
	return s.Reader.Walk(ctx, selector, s.back(from), s.back(to),
		func(l labels.Labels, points []promql.FPoint) error {
			for i := range points {
				points[i].T += s.by.Milliseconds()
			}
			return visit(l, points)
		})
}

func (s shifted) Range(ctx context.Context, expr string, from, to time.Time, step,
	lookback time.Duration) ([]recording.Series, error) {
	out, err := s.Reader.Range(ctx, expr, s.back(from), s.back(to), step, lookback)
	return s.forth(out), err
}

func (s shifted) forth(series []recording.Series) []recording.Series {
	for i := range series {
		series[i].Points = slices.Clone(series[i].Points) // the slice may be the reader's own
		for k := range series[i].Points {
			series[i].Points[k].T += s.by.Milliseconds()
		}
	}
	return series
}
