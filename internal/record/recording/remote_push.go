package recording

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// pushStride is the span that is read of all series at a time. Receivers refuse samples that are
// more than about an hour (Prometheus: half a block) older than their newest sample of any series,
// so a recording must be sent in order of time, not series by series.
const pushStride = 10 * time.Minute

// Push copies the samples of readers between from and to (zero means all of them) to Writers,
// usually each a [Pusher], in order of time over all readers. into returns the Writer of a reader.
// progress, if not nil, is called with the part of the time that is done.
func Push(ctx context.Context, readers []Reader,
	into func(reader int) Writer, from, to time.Time, progress func(done, total time.Duration)) error {
	first, last, err := covered(ctx, readers)
	if err != nil {
		return err
	}

	if !from.IsZero() && from.After(first) {
		first = from
	}

	if !to.IsZero() && to.Before(last) {
		last = to
	}

	writers := make([]Writer, len(readers))
	for i := range readers {
		writers[i] = into(i)
	}

	// All readers advance together, so that no series gets far ahead of the others.
	for at := first; !at.After(last); at = at.Add(pushStride) {
		if progress != nil {
			progress(at.Sub(first), last.Sub(first))
		}
		end := at.Add(pushStride - time.Millisecond)
		if end.After(last) {
			end = last
		}
		if err := pushStretch(ctx, readers, writers, at, end); err != nil {
			return err
		}
	}

	return nil
}

func pushStretch(ctx context.Context, readers []Reader, writers []Writer, from, to time.Time) error {
	for i, r := range readers {
		var refused error
		err := r.Walk(ctx, EverySeries(), from, to, func(l labels.Labels, points []promql.FPoint) error {
			refused = writers[i].Append(ctx, seriesBatch(l, points))
			return refused
		})
		if refused != nil {
			return refused
		}
		if err != nil {
			return fmt.Errorf("push: %w", err)
		}
	}
	return nil
}

// covered returns the time for which readers have samples.
func covered(ctx context.Context, readers []Reader) (first, last time.Time, err error) {
	for _, r := range readers {
		metrics, err := r.Metrics(ctx)
		if err != nil {
			return first, last, fmt.Errorf("push: %w", err)
		}

		for _, m := range metrics {
			Extend(&first, &last, m.From, m.To)
		}
	}
	return first, last, nil
}
