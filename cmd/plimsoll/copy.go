package main

import (
	"context"
	"time"

	"plimsoll/internal/record/recording"
)

// copyReader writes a recording's samples, metric by metric, into another one. Zero times mean the
// whole recording.
func copyReader(ctx context.Context, r recording.Reader, w recording.Writer, from, to time.Time, t *tally) error {
	metrics, err := r.Metrics(ctx)
	if err != nil {
		return err
	}
	for _, s := range r.Sources() {
		w.Source(s)
	}
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
		series, err := r.Samples(ctx, m.Name, first, last)
		if err != nil {
			return err
		}
		for _, s := range series {
			if err := w.Append(ctx, batchOf(s)); err != nil {
				return err
			}
		}
	}
	for _, n := range r.Notes() { // complete once the samples are read
		w.Note(n)
	}
	return nil
}

// batchOf is one series as a batch.
func batchOf(s recording.Series) *recording.Batch {
	b := &recording.Batch{TimesMs: make([]int64, len(s.Points)), Columns: []recording.Column{{Labels: s.Labels, Values: make([]float64, len(s.Points))}}}
	for i, p := range s.Points {
		b.TimesMs[i], b.Columns[0].Values[i] = p.T, p.F
	}
	return b
}
