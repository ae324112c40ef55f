package main

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/record/recording"
)

// copyReader writes a recording's samples, series by series, into another one. Zero times mean the
// whole recording.
func copyReader(ctx context.Context, reader recording.Reader, target recording.Writer, from, to time.Time,
	t *tally) error {
	metrics, err := reader.Metrics(ctx)
	if err != nil {
		return err
	}

	// Sources come first, so that a copy that is cut short still names them.
	for _, s := range reader.Sources() {
		target.Source(s)
	}

	// Metric by metric, so that memory holds one metric's pieces rather than the whole recording.
	for i, m := range metrics {
		t.setStage("copying metrics", i, len(metrics))
		first, last := m.From, m.To
		if !from.IsZero() {
			first = from
		}

		if !to.IsZero() {
			last = to
		}

		if last.Before(first) {
			continue // the metric has none in the requested time
		}

		err := reader.Walk(ctx, recording.MetricSelector(m.Name), first, last,
			func(l labels.Labels, points []promql.FPoint) error {
				return target.Append(ctx, batchOf(l, points))
			})
		if err != nil {
			return err
		}
	}

	for _, n := range reader.Notes() { // complete once the samples are read
		target.Note(n)
	}

	return nil
}

// batchOf makes a batch of a piece of one series.
func batchOf(l labels.Labels, points []promql.FPoint) *recording.Batch {
	b := &recording.Batch{TimesMs: make([]int64, len(points)),
		Columns: []recording.Column{{Labels: l, Values: make([]float64, len(points))}}}
	for i, p := range points {
		b.TimesMs[i], b.Columns[0].Values[i] = p.T, p.F
	}
	return b
}
