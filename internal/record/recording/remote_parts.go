package recording

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"plimsoll/internal/record/httpclient"
)

// halvingsMax bounds how often a stretch with too large an answer is halved. Each attempt costs a
// whole answer.
const halvingsMax = 3

// A partRequest requests the part of a query between two of its steps or times, both inclusive.
type partRequest func(ctx context.Context, first, last int64) (model.Value, v1.Warnings, error)

// inParts makes requests for stretches of at most each steps from first to last, some of them
// concurrently, and returns their results in order. It stops at the first error.
func (r *Server) inParts(ctx context.Context, first, last, each int64,
	request partRequest) ([]model.Matrix, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.opt.Parallel)
	parts := make([][]model.Matrix, (last-first)/each+1)

	var points atomic.Int64
	for i := range parts {
		from := first + int64(i)*each
		group.Go(func() (err error) {
			parts[i], err = r.part(ctx, from, min(from+each-1, last), &points, halvingsMax, request)
			return err
		})
	}

	if err := group.Wait(); err != nil {
		return nil, err
	}

	var out []model.Matrix
	for _, p := range parts {
		out = append(out, p...)
	}

	return out, nil
}

// part requests one stretch, in halves if its answer is too large. points counts the points of the
// whole query.
func (r *Server) part(ctx context.Context, first, last int64, points *atomic.Int64, halvings int,
	request partRequest) ([]model.Matrix, error) {
	var matrix model.Matrix
	err := r.call(ctx, func(ctx context.Context) error {
		value, warnings, err := request(ctx, first, last)
		if err != nil {
			return err
		}
		r.warned(warnings)
		matrix, err = matrixOf(value)
		return err
	})

	var large *httpclient.TooLargeError
	if errors.As(err, &large) && halvings > 0 && last > first {
		middle := first + (last-first)/2
		before, err := r.part(ctx, first, middle, points, halvings-1, request)
		if err != nil {
			return nil, err
		}
		after, err := r.part(ctx, middle+1, last, points, halvings-1, request)
		return append(before, after...), err
	}

	if err != nil {
		return nil, err
	}

	for _, s := range matrix {
		points.Add(int64(len(s.Values)))
	}

	// Checked while parts arrive, so that a huge result ends before it fills the memory.
	if points.Load() > int64(r.opt.MaxSamples) {
		return nil, r.tooManyPoints()
	}

	return []model.Matrix{matrix}, nil
}

func (r *Server) tooManyPoints() error {
	return fmt.Errorf("the result has more than %d points: %w", r.opt.MaxSamples, errTooManyPoints)
}

// atMost returns the context of a request that lists names or series, whose answer has a separate
// bound.
func atMost(ctx context.Context, bytes int64) context.Context {
	return httpclient.WithBounds(ctx, httpclient.Bounds{Bytes: bytes})
}
