package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// QueryOptions limit the cost of a query. The zero value is ready for use.
type QueryOptions struct {
	// MaxSamples bounds the samples that a query holds at a time, including its result, with 16
	// bytes each. 0 means 50 million, Prometheus' default.
	MaxSamples int
}

// queryTimeout bounds the time of a query; the context may end it earlier.
const queryTimeout = 5 * time.Minute

// stepsMax bounds the steps of a query: 12 days at 0.1 s.
const stepsMax = 11_000_000

// fallbackLookback is the lookback if the period is unknown: Prometheus' default.
const fallbackLookback = 5 * time.Minute

// queries evaluates PromQL over a local storage.
type queries struct {
	engine     *promql.Engine
	maxSamples int
}

func newQueries(opt QueryOptions) *queries {
	if opt.MaxSamples <= 0 {
		opt.MaxSamples = 50_000_000
	}

	return &queries{maxSamples: opt.MaxSamples, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples:               opt.MaxSamples,
		Timeout:                  queryTimeout,
		LookbackDelta:            fallbackLookback,
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return subqueryStep.Milliseconds() },
		Parser:                   parser.NewParser(parser.Options{}),
	})}
}

// inOrder returns an error if a time span ends before it starts.
func inOrder(from, to time.Time) error {
	if to.Before(from) {
		return fmt.Errorf("the end %s is before the start %s", to.UTC().Format(time.RFC3339),
			from.UTC().Format(time.RFC3339))
	}
	return nil
}

// checkRange validates the times of a query and of its subqueries, and returns the step. A query at
// a single time needs none.
func checkRange(expr string, from, to time.Time, step time.Duration) (time.Duration, error) {
	if err := inOrder(from, to); err != nil {
		return 0, fmt.Errorf("query %q: %w", expr, err)
	}

	if step <= 0 {
		if !from.Equal(to) {
			return 0, fmt.Errorf("query %q: step %s: must be positive", expr, step)
		}
		step = time.Second
	}

	if step < time.Millisecond {
		return 0, fmt.Errorf("query %q: step %s is below 1 ms, the resolution of a recording", expr, step)
	}

	if steps := to.Sub(from)/step + 1; steps > stepsMax {
		return 0,
			fmt.Errorf("query %q: %d steps from %s to %s: want at most %d; give a longer step or a shorter time",
				expr, steps, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), stepsMax)
	}

	return step, checkSubqueries(expr, to.Sub(from), step)
}

// A localReader is a Reader whose samples are on this machine.
type localReader interface {
	Reader
	storage.Queryable
}

// defaultLookback returns 2.5 periods of the coarsest source.
func defaultLookback(ctx context.Context, r Reader) (time.Duration, error) {
	period := coarsestPeriod(r.Sources())
	if period == 0 {
		metrics, err := r.Metrics(ctx)
		if err != nil {
			return 0, err
		}
		for _, m := range metrics {
			period = max(period, m.Period)
		}
	}
	return lookbackFor(period), nil
}

// run evaluates expr over a range.
func (e *queries) run(ctx context.Context, data localReader, expr string, from, to time.Time, step,
	lookback time.Duration) ([]Series, error) {
	if lookback <= 0 {
		var err error
		if lookback, err = defaultLookback(ctx, data); err != nil {
			return nil, err
		}
	}
	step, err := checkRange(expr, from, to, step)
	if err != nil {
		return nil, err
	}

	q, err := e.engine.NewRangeQuery(ctx, cancellable{data, ctx}, promql.NewPrometheusQueryOpts(false, lookback),
		expr, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", expr, err)
	}

	// The query is not closed: Close would return the memory of the result to a pool, but the
	// result belongs to the caller.
	result := q.Exec(ctx)
	if result.Err != nil {
		return nil, queryError(ctx, expr, result.Err)
	}

	matrix, err := result.Matrix()
	if err != nil {
		return nil, fmt.Errorf("query %q: %w", expr, err)
	}

	out := make([]Series, 0, len(matrix))
	for _, s := range matrix {
		if len(s.Floats) == 0 {
			continue
		}
		points := s.Floats
		if cap(points) > 2*len(points) {
			points = slices.Clone(points) // the engine allocates for every step
		}
		out = append(out, Series{Labels: s.Metric, Points: points})
	}

	return out, nil
}

func queryError(ctx context.Context, expr string, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("query %q: %w", expr, ended)
	}
	var many promql.ErrTooManySamples
	if errors.As(err, &many) {
		return fmt.Errorf("query %q: %w: request fewer series, a shorter time or a longer step", expr, err)
	}
	return fmt.Errorf("query %q: %w", expr, err)
}

// lookbackFor returns the default lookback for samples one period apart: 2.5 periods, so that one
// lost sample is not a gap, but two are.
func lookbackFor(period time.Duration) time.Duration {
	if period <= 0 {
		return fallbackLookback
	}
	return max(period*5/2, time.Millisecond)
}

// samples returns the raw samples of the selected series, from <= t <= to.
func (e *queries) samples(ctx context.Context, data storage.Queryable, selector Selector, from,
	to time.Time) ([]Series, error) {
	var out []Series
	kept := 0
	err := walk(ctx, data, selector, from, to, func(l labels.Labels, points []promql.FPoint) error {
		if kept += len(points); kept > e.maxSamples {
			return fmt.Errorf("selector %s: %w", selector, &TooManyError{Max: e.maxSamples})
		}

		// A long series comes in several pieces.
		if n := len(out); n > 0 && labels.Equal(out[n-1].Labels, l) {
			out[n-1].Points = append(out[n-1].Points, points...)
		} else {
			out = append(out, Series{Labels: l, Points: slices.Clone(points)})
		}
		return nil
	})

	switch ended := ctx.Err(); {
	case err == nil:
		return out, nil
	case ended != nil:
		return nil, fmt.Errorf("selector %s: %w", selector, ended)
	}
	return nil, err
}

// ceilMs returns the first whole millisecond at or after t.
func ceilMs(t time.Time) int64 {
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}

// recovered turns a panic into an error: in places the TSDB's readers trust the bytes of a block's
// index, but a block may be damaged or hostile.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the data is damaged (%v): restore the recording from a copy", r)
	}
}
