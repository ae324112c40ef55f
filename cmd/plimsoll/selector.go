package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/record/recording"
)

// A selection shows only the matching series of a recording. A fleet's server holds the series of
// many hosts under the same names, but a diagnosis concerns one.
type selection struct {
	recording.Reader
	matchers []*labels.Matcher
}

// parseSelector reads the matchers of --selector. The braces may be left out; the returned text has
// them.
func parseSelector(text string) (whole string, matchers []*labels.Matcher, err error) {
	whole = strings.TrimSpace(text)
	if whole == "" {
		return "", nil, nil
	}
	if !strings.HasPrefix(whole, "{") {
		whole = "{" + whole + "}"
	}
	matchers, err = parser.NewParser(parser.Options{}).ParseMetricSelector(whole)
	if err != nil {
		return "", nil, usagef(`for example --selector '{instance="db-1:9100"}'`, "--selector %s: %w", text, err)
	}
	return whole, matchers, nil
}

// Marks are the recording's.
func (s selection) Marks() []recording.Mark { return recording.Marks(s.Reader) }

// Samples returns the selector's series that belong to the selection.
func (s selection) Samples(ctx context.Context, selector string, from, to time.Time) ([]recording.Series, error) {
	narrow, err := s.narrow(selector)
	if err != nil {
		return nil, err
	}
	return s.Reader.Samples(ctx, narrow, from, to)
}

// Range evaluates the expression over series of the selection.
func (s selection) Range(ctx context.Context, expr string, from, to time.Time, step, lookback time.Duration) ([]recording.Series, error) {
	narrow, err := s.narrow(expr)
	if err != nil {
		return nil, err
	}
	return s.Reader.Range(ctx, narrow, from, to, step, lookback)
}

// narrow adds the selection's matchers to every selector of an expression.
func (s selection) narrow(expr string) (string, error) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return "", fmt.Errorf("PromQL %q: %w", expr, err)
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			v.LabelMatchers = append(v.LabelMatchers, s.matchers...)
		}
		return nil
	})
	return e.String(), nil
}
