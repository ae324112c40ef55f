package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Visit receives a piece of a series. Its error ends the walk.
type Visit func(l labels.Labels, points []promql.FPoint) error

const (
	// walkPiece is the maximum number of samples in a piece: 1 MiB.
	walkPiece = 64 << 10
	// walkStretch is the span of one read from a server.
	walkStretch = 24 * time.Hour
	// walkStretchMin is the minimum span after halving.
	walkStretchMin = time.Second
	// walkBytesMax bounds the packed samples of a server: about 200 million samples.
	walkBytesMax = 512 << 20
)

// A TooManyError reports that samples do not fit in memory.
type TooManyError struct{ Max int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("more than %d samples: request fewer series or a shorter time", e.Max)
}

// IsTooMany reports whether an error of a Reader means that samples do not fit in memory.
func IsTooMany(err error) bool {
	var tooMany *TooManyError
	var engine promql.ErrTooManySamples
	return errors.As(err, &tooMany) || errors.As(err, &engine) || errors.Is(err, errTooManyPoints)
}

// walkStretches walks a Reader that can only return whole series. It packs the samples of all
// stretches first, because a series must be complete before the next one begins.
func walkStretches(ctx context.Context,
	samples func(context.Context, Selector, time.Time, time.Time) ([]Series, error), selector Selector, from,
	to time.Time, visit Visit) error {
	if !to.After(from.Add(walkStretch)) {
		series, err := samples(ctx, selector, from, to)
		if err == nil {
			return visitAll(series, visit)
		}
		if !IsTooMany(err) {
			return err
		}
	}

	packed := NewMemory(MemoryOptions{MaxBytes: walkBytesMax})
	stretch := walkStretch
	for at := from; !at.After(to); {
		end := at.Add(stretch - time.Millisecond)
		if end.After(to) {
			end = to
		}

		series, err := samples(ctx, selector, at, end)

		// A shorter stretch may fit. Keep the shorter length for the rest, which is probably as dense.
		if IsTooMany(err) && stretch > walkStretchMin {
			stretch /= 2
			continue
		}

		if err != nil {
			return err
		}

		for _, s := range series {
			if len(s.Points) == 0 {
				continue
			}
			if err := packed.Append(ctx, seriesBatch(s.Labels, s.Points)); err != nil {
				return fmt.Errorf("selector %s: %w", selector, err)
			}
		}

		if packed.Bytes() > walkBytesMax {
			return fmt.Errorf("selector %s: its samples need more than %d MiB of memory: %w", selector,
				walkBytesMax>>20, errTooManyPoints)
		}

		at = end.Add(time.Millisecond)
	}

	return packed.Walk(ctx, selector, from, to, visit)
}

// visitAll visits series in memory.
func visitAll(series []Series, visit Visit) error {
	slices.SortFunc(series, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
	for _, s := range series {
		if len(s.Points) == 0 {
			continue
		}
		if err := visit(s.Labels, s.Points); err != nil {
			return err
		}
	}
	return nil
}

// Walk implements [Reader].
func (m *Memory) Walk(ctx context.Context, selector Selector, from, to time.Time, visit Visit) error {
	return walk(ctx, m, selector, from, to, visit)
}

// Walk implements [Reader].
func (f *folder) Walk(ctx context.Context, selector Selector, from, to time.Time, visit Visit) error {
	return walk(ctx, f, selector, from, to, visit)
}

// Walk implements [Reader].
func (r *Server) Walk(ctx context.Context, selector Selector, from, to time.Time, visit Visit) error {
	if from.Before(r.opt.From) {
		from = r.opt.From
	}
	if to.After(r.opt.To) {
		to = r.opt.To
	}
	if to.Before(from) {
		return nil
	}
	return walkStretches(ctx, r.Samples, selector, from, to, visit)
}

// walk visits the raw samples of the selected series, from <= t <= to.
func walk(ctx context.Context, data storage.Queryable, selector Selector, from, to time.Time,
	visit Visit) (err error) {
	defer recovered(&err)
	if err := inOrder(from, to); err != nil {
		return fmt.Errorf("selector %s: %w", selector, err)
	}

	// Samples have whole milliseconds, so the bounds are rounded inwards.

	mint, maxt := ceilMs(from), to.UnixMilli()
	q, err := data.Querier(mint, maxt)
	if err != nil {
		return fmt.Errorf("selector %s: %w", selector, err)
	}

	defer q.Close()

	var it chunkenc.Iterator
	var points []promql.FPoint

	set := q.Select(ctx, true, &storage.SelectHints{Start: mint, End: maxt}, selector...)
	for set.Next() {
		s := set.At()
		it = s.Iterator(it)
		if points, err = walkSeries(ctx, s.Labels(), it, mint, maxt, points, visit); err != nil {
			return err
		}
	}

	if err := set.Err(); err != nil {
		return fmt.Errorf("selector %s: %w", selector, err)
	}

	return nil
}

// walkSeries visits the samples of a series. It uses and returns the memory of points.
func walkSeries(ctx context.Context, l labels.Labels, it chunkenc.Iterator, mint, maxt int64,
	points []promql.FPoint, visit Visit) ([]promql.FPoint, error) {
	points = points[:0]
	for v := it.Seek(mint); v != chunkenc.ValNone; v = it.Next() {
		if v != chunkenc.ValFloat {
			continue // a native histogram from the blocks of a server
		}

		t, f := it.At()
		if t > maxt {
			break
		}

		if f != f {
			continue
		}

		if len(points) == walkPiece {
			if err := ctx.Err(); err != nil {
				return points, err
			}
			if err := visit(l, points); err != nil {
				return points, err
			}
			points = points[:0]
		}

		points = append(points, promql.FPoint{T: t, F: f})
	}

	if err := it.Err(); err != nil {
		return points, fmt.Errorf("series %s: %w", l, err)
	}

	if err := ctx.Err(); err != nil || len(points) == 0 {
		return points, err
	}

	return points, visit(l, points)
}
