// Package query evaluates a PromQL expression over an unknown recording: it finds the time range
// and the step in the recording itself, and an unknown name is an error that suggests the nearest
// one, not an empty result.
package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/record/recording"
)

// An Expr is a parsed expression. Its zero value is not valid: see [Parse].
type Expr struct {
	text      string
	selectors []recording.Selector
	lookback  time.Duration
}

// Parse parses PromQL. Its error contains the position and what was expected there.
func Parse(text string) (Expr, error) {
	if err := recording.CheckExpr(text); err != nil {
		return Expr{}, err
	}

	e, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return Expr{}, fmt.Errorf("PromQL %q: %w", text, err)
	}

	if t := e.Type(); t == parser.ValueTypeMatrix || t == parser.ValueTypeString {
		return Expr{},
			fmt.Errorf("PromQL %q is a %s; want an expression with one value per time, such as rate(%s)",
				text, parser.DocumentedType(t), text)
	}

	out := Expr{text: text}
	parser.Inspect(e, func(n parser.Node, path []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			out.selectors = append(out.selectors, v.LabelMatchers)
			out.lookback = max(out.lookback, lookback(v, path))
		}
		return nil
	})

	return out, nil
}

// instantLookback is how far a selector without a range looks back for a sample: Prometheus'
// default.
const instantLookback = 5 * time.Minute

// lookback returns how long before its evaluation time a selector reads: its offset, its range, and
// those of the subqueries around it. With @, it may read at any time.
func lookback(v *parser.VectorSelector, path []parser.Node) time.Duration {
	if v.Timestamp != nil || v.StartOrEnd != 0 {
		return anyTime
	}

	reach := v.OriginalOffset + instantLookback
	for _, n := range path {
		switch n := n.(type) {
		case *parser.MatrixSelector:
			reach += n.Range
		case *parser.SubqueryExpr:
			if n.Timestamp != nil || n.StartOrEnd != 0 {
				return anyTime
			}
			reach += n.Range + n.OriginalOffset
		}
	}

	return max(reach, 0)
}

// anyTime is longer than any recording.
const anyTime = 100 * 365 * 24 * time.Hour

// Lookback returns how long before a time samples influence the expression's value at that time.
func (e Expr) Lookback() time.Duration { return e.lookback }

// Wants reports whether the expression selects series of a metric.
func (e Expr) Wants(metric string) bool {
	return slices.ContainsFunc(e.selectors,
		func(s recording.Selector) bool { return s.Accepts(metric) })
}

// Options limit a query in time. The zero value covers all samples of the expression's metrics.
type Options struct {
	// From and To are the first and the last time; zero means the first and the last sample of the
	// selected metrics.
	From, To time.Time
	// At, unless zero, requests a single time instead of From and To.
	At time.Time
	// Step is the time between two values. 0 means the longest period of the metrics, or more if
	// there would be more than [StepsMax] values per series.
	Step time.Duration
	// Names are additional metric names in the source that were not read. Errors may suggest them.
	Names []string
}

// StepsMax is the default maximum of values per series: the limit of Prometheus' query API.
const StepsMax = 11_000

// A Result is the result of a query.
type Result struct {
	Expr     string
	From, To time.Time
	Step     time.Duration // 0 for a single time
	Series   []recording.Series
}

// ErrNoMetric is wrapped by errors about expressions that select nothing in the recording.
var ErrNoMetric = errors.New("no such metric")

// Run evaluates an expression. An expression without a selector, such as 1 + 1, needs From and To,
// or At.
func Run(ctx context.Context, reader recording.Reader, expr Expr, opt Options) (*Result, error) {
	metrics, err := reader.Metrics(ctx)
	if err != nil {
		return nil, err
	}

	span, err := expr.span(metrics, opt.Names)
	if err != nil {
		return nil, err
	}

	out := &Result{Expr: expr.text, From: opt.From, To: opt.To, Step: opt.Step}
	if !opt.At.IsZero() {
		out.From, out.To, out.Step = opt.At, opt.At, 0
	}

	if out.From.IsZero() {
		out.From = span.from
	}

	if out.To.IsZero() {
		out.To = span.to
	}

	if out.From.IsZero() || out.To.IsZero() {
		return nil, fmt.Errorf("PromQL %q selects no series: give the time to evaluate it at", expr.text)
	}
	if out.To.Before(out.From) {
		return nil,
			fmt.Errorf("PromQL %q: its metrics have samples only from %s to %s, outside of the requested time",
				expr.text, span.from.UTC().Format(time.RFC3339), span.to.UTC().Format(time.RFC3339))
	}

	if opt.At.IsZero() && out.Step <= 0 {
		// The step follows from the data, so that no sample is skipped.
		out.Step = stepFor(out.To.Sub(out.From), span.period)
	}

	out.Series, err = reader.Range(ctx, expr.text, out.From, out.To, out.Step, 0)
	return out, err
}

// stepFor returns the step for a span of samples that are period apart.
func stepFor(span, period time.Duration) time.Duration {
	if period <= 0 {
		period = time.Second
	}
	return max(period, (span/StepsMax).Truncate(time.Millisecond)+time.Millisecond)
}

// A span is the time that metrics cover, and the longest of their periods.
type span struct {
	from, to time.Time
	period   time.Duration
}

// span returns the time that the selected metrics cover. Each selector must select at least one metric.
func (e Expr) span(metrics []recording.Metric, names []string) (span, error) {
	var out span
	for _, s := range e.selectors {
		found := false
		for _, m := range metrics {
			if !s.Accepts(m.Name) {
				continue
			}
			found = true
			recording.Extend(&out.from, &out.to, m.From, m.To)
			out.period = max(out.period, m.Period)
		}

		if !found {
			return span{}, missing(s, metrics, names)
		}
	}

	return out, nil
}

// missing returns the error for a selector that selects nothing, with the nearest existing name.
func missing(s recording.Selector, metrics []recording.Metric, names []string) error {
	name := ""
	for _, m := range s {
		if m.Name == labels.MetricName && m.Type == labels.MatchEqual {
			name = m.Value
		}
	}

	if name == "" {
		return fmt.Errorf("%w: no name matches %s", ErrNoMetric, s)
	}

	names = slices.Clone(names)
	for _, m := range metrics {
		names = append(names, m.Name)
	}

	if near := inputerror.Nearest(name, names); near != "" {
		return fmt.Errorf("%w: %s; the nearest is %s", ErrNoMetric, name, near)
	}

	return fmt.Errorf("%w: %s", ErrNoMetric, name)
}
