package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/internal/record/recording"
)

// A selection shows only the matching series of a recording. A fleet's server holds the series of
// many hosts under the same names, but a diagnosis concerns one.
type selection struct {
	recording.Reader
	matchers recording.Selector
}

// parseSelector reads the matchers of --selector. The braces may be left out; the returned text has
// them.
func parseSelector(text string) (whole string, matchers recording.Selector, err error) {
	whole = strings.TrimSpace(text)
	if whole == "" {
		return "", nil, nil
	}

	if !strings.HasPrefix(whole, "{") {
		whole = "{" + whole + "}"
	}

	// The parser's recursion and memory have no bound, so the text is checked first.
	if err := recording.CheckExpr(whole); err != nil {
		return "", nil, usagef(`for example --selector '{instance="db-1:9100"}'`, "--selector: %w", err)
	}

	matchers, err = parser.NewParser(parser.Options{}).ParseMetricSelector(whole)
	if err != nil {
		return "", nil, usagef(`for example --selector '{instance="db-1:9100"}'`, "--selector %s: %w", text, err)
	}

	return whole, matchers, nil
}

// ListSeries lists the series of the selection.
func (s selection) ListSeries(ctx context.Context, wants func(string) bool) ([]labels.Labels, error) {
	all, err := s.Reader.ListSeries(ctx, wants)
	return slices.DeleteFunc(all, func(l labels.Labels) bool { return !s.matchers.Matches(l) }), err
}

// Metrics lists the metrics of the selection, each with the times of the selected series.
func (s selection) Metrics(ctx context.Context) ([]recording.Metric, error) {
	all, err := s.Reader.Metrics(ctx)
	if err != nil {
		return nil, err
	}

	listed, err := s.ListSeries(ctx, func(string) bool { return true })
	if err != nil {
		return nil, err
	}

	series := map[string]int{}
	for _, l := range listed {
		series[l.Get(labels.MetricName)]++
	}

	var out []recording.Metric
	for _, m := range all {
		switch n := series[m.Name]; n {
		case 0:
			continue
		// A metric that is selected as a whole needs no second look at its samples.
		case m.Series:
		default:
			if m, err = s.metric(ctx, m); err != nil {
				return nil, err
			}
			m.Series = n
		}
		out = append(out, m)
	}

	return out, nil
}

// metric narrows a metric's times to those of the selection.
func (s selection) metric(ctx context.Context, m recording.Metric) (recording.Metric, error) {
	from, to := m.To, m.From
	err := s.Walk(ctx, recording.MetricSelector(m.Name), m.From, m.To,
		func(_ labels.Labels, points []promql.FPoint) error {
			if t := time.UnixMilli(points[0].T).UTC(); t.Before(from) {
				from = t
			}
			if t := time.UnixMilli(points[len(points)-1].T).UTC(); t.After(to) {
				to = t
			}
			return nil
		})
	if err != nil {
		return m, err
	}

	m.From, m.To = from, to
	return m, nil
}

// A selecting writer passes on the series of a selection only.
type selectingWriter struct {
	recording.Writer
	matchers recording.Selector
	found    *selected
	mu       sync.Mutex
	known    map[uint64]bool // by the hash of the labels
}

// selected remembers what a selection found in all sources.
type selected struct {
	mu     sync.Mutex
	any    bool
	values map[string]map[string]bool // of the labels that the selection names
}

// selectedValuesMax bounds the values that an error lists.
const selectedValuesMax = 8

// see notes a series that is new.
func (f *selected) see(matchers recording.Selector, l labels.Labels, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.any = f.any || ok

	if f.values == nil {
		f.values = map[string]map[string]bool{}
	}

	for _, m := range matchers {
		if v := l.Get(m.Name); v != "" && m.Name != labels.MetricName {
			if f.values[m.Name] == nil {
				f.values[m.Name] = map[string]bool{}
			}
			if len(f.values[m.Name]) < selectedValuesMax {
				f.values[m.Name][v] = true
			}
		}
	}
}

// err returns the error of a selection that matches no series.
func (f *selected) err(text string, matchers recording.Selector) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var hint []string
	for _, m := range matchers {
		if m.Name == labels.MetricName {
			continue
		}
		if values := slices.Sorted(maps.Keys(f.values[m.Name])); len(values) > 0 {
			hint = append(hint, "the sources have "+m.Name+"="+strings.Join(values, ", "))
		} else {
			hint = append(hint, "the sources have no label "+m.Name)
		}
	}
	return usagef(strings.Join(hint, "; "), "--selector %s: no series has these labels", text)
}

// Append implements [recording.Writer].
func (w *selectingWriter) Append(ctx context.Context, b *recording.Batch) error {
	out := recording.Batch{TimesMs: b.TimesMs}
	w.mu.Lock()

	for _, c := range b.Columns {
		hash := c.Labels.Hash()
		keep, seen := w.known[hash]
		if !seen {
			keep = w.matchers.Matches(c.Labels)
			w.found.see(w.matchers, c.Labels, keep)
			// Beyond the bound, matching is repeated instead of remembered.
			if len(w.known) < selectedSeriesMax {
				w.known[hash] = keep
			}
		}

		if keep {
			out.Columns = append(out.Columns, c)
		}
	}

	// The underlying writer may block, so it is called without the lock.
	w.mu.Unlock()
	if len(out.Columns) == 0 {
		return nil
	}

	return w.Writer.Append(ctx, &out)
}

// selectedSeriesMax bounds the series that are remembered.
const selectedSeriesMax = 200_000

// Samples returns the selector's series that belong to the selection.
func (s selection) Samples(ctx context.Context, selector recording.Selector, from,
	to time.Time) ([]recording.Series, error) {
	return s.Reader.Samples(ctx, slices.Concat(selector, s.matchers), from, to)
}

// Walk visits the samples of the selector's series that belong to the selection.
func (s selection) Walk(ctx context.Context, selector recording.Selector, from, to time.Time,
	visit recording.Visit) error {
	return s.Reader.Walk(ctx, slices.Concat(selector, s.matchers), from, to, visit)
}

// Range evaluates the expression over series of the selection.
func (s selection) Range(ctx context.Context, expr string, from, to time.Time, step,
	lookback time.Duration) ([]recording.Series, error) {
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
