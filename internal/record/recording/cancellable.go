package recording

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// A cancellable storage stops a query when its context ends. The engine itself checks the context
// only once per series, which can be a minute apart if a function reads a long range at each step.
type cancellable struct {
	storage.Queryable
	ctx context.Context
}

// Querier implements [storage.Queryable].
func (c cancellable) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := c.Queryable.Querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	return cancellableQuerier{q, c.ctx}, nil
}

type cancellableQuerier struct {
	storage.Querier
	ctx context.Context
}

func (q cancellableQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	return cancellableSet{q.Querier.Select(ctx, sorted, hints, matchers...), q.ctx}
}

type cancellableSet struct {
	storage.SeriesSet
	ctx context.Context
}

func (s cancellableSet) At() storage.Series { return cancellableSeries{s.SeriesSet.At(), s.ctx} }

type cancellableSeries struct {
	storage.Series
	ctx context.Context
}

func (s cancellableSeries) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	if own, ok := it.(*cancellableIterator); ok {
		own.Iterator, own.ctx, own.err = s.Series.Iterator(own.Iterator), s.ctx, nil
		return own
	}
	return &cancellableIterator{Iterator: s.Series.Iterator(nil), ctx: s.ctx}
}

// nextPerCheck is the number of samples between two checks. A step may take milliseconds.
const nextPerCheck = 16

type cancellableIterator struct {
	chunkenc.Iterator
	ctx context.Context
	err error
	n   int // calls of Next
}

// Seek implements [chunkenc.Iterator].
func (it *cancellableIterator) Seek(t timestampMs) chunkenc.ValueType {
	if it.err = it.ctx.Err(); it.err != nil {
		return chunkenc.ValNone
	}
	return it.Iterator.Seek(t)
}

// Next implements [chunkenc.Iterator]. The engine calls it once or more per step.
func (it *cancellableIterator) Next() chunkenc.ValueType {
	// Checking the context takes longer than decoding a sample.
	if it.n++; it.n%nextPerCheck == 0 {
		it.err = it.ctx.Err()
	}
	if it.err != nil {
		return chunkenc.ValNone
	}
	return it.Iterator.Next()
}

// Err implements [chunkenc.Iterator].
func (it *cancellableIterator) Err() error {
	if it.err != nil {
		return it.err
	}
	return it.Iterator.Err()
}
