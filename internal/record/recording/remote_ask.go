package recording

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Name returns the server's URL without credentials.
func (r *Server) Name() string { return r.name }

// Span returns the time that queries are clipped to.
func (r *Server) Span() (from, to time.Time) { return r.opt.From, r.opt.To }

// Narrow returns the selector of [RemoteOptions] with additional matchers.
func (r *Server) Narrow(further ...*labels.Matcher) Selector {
	return append(slices.Clone(further), r.matchers...)
}

// Names returns the metric names that the selector of [RemoteOptions] matches, sorted.
func (r *Server) Names(ctx context.Context) ([]string, error) {
	names, err := r.names(ctx)
	if err != nil {
		return nil, fmt.Errorf("metric names: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Periods returns the typical interval between the samples of the metrics, by name, sampled from
// one metric of each exporter like in [Server.Metrics]. 0 means unknown.
func (r *Server) Periods(ctx context.Context, names []string) (map[string]time.Duration, error) {
	periods, err := r.samplePeriods(ctx, names, nil)
	if err != nil {
		return nil, fmt.Errorf("periods: %w", err)
	}
	out := map[string]time.Duration{}
	for _, n := range names {
		out[n] = periods[exporterOf(n)]
	}
	return out, nil
}

// LabelSets returns the series of the metrics within the selector of [RemoteOptions], from the
// server's index, without reading samples. More than 100,000 are an error.
func (r *Server) LabelSets(ctx context.Context, metrics ...string) ([]labels.Labels, error) {
	name := labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, AnyOf(metrics))
	sets, err := r.series(ctx, []string{r.Narrow(name).String()},
		fmt.Errorf("at least %d series of %s: narrow the selector", seriesMax, strings.Join(metrics, ", ")))
	if err != nil {
		return nil, fmt.Errorf("series: %w", err)
	}

	out := make([]labels.Labels, 0, len(sets))
	for _, s := range sets {
		out = append(out, LabelsOf(model.Metric(s)))
	}
	slices.SortFunc(out, labels.Compare)
	return out, nil
}

// A Counted is a group of series and their number.
type Counted struct {
	Labels labels.Labels // the labels that the series were grouped by
	Series int
}

// Count counts the series that a selector matches at a time, grouped by labels. The server counts
// them without sending samples.
func (r *Server) Count(ctx context.Context, selector Selector, by []string, at time.Time) ([]Counted, error) {
	expr := fmt.Sprintf("count by (%s) (%s)", strings.Join(by, ", "), selector)
	var out []Counted
	err := r.call(ctx, func(ctx context.Context) error {
		value, warnings, err := r.api.Query(ctx, expr, at, v1.WithTimeout(r.opt.Timeout))
		if err != nil {
			return err
		}

		r.warned(warnings)
		vector, ok := value.(model.Vector)
		if !ok {
			return errors.New("the server returned a result other than a vector for a count")
		}

		out = make([]Counted, 0, len(vector))
		for _, s := range vector {
			out = append(out, Counted{Labels: LabelsOf(s.Metric), Series: int(s.Value)})
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}

	slices.SortFunc(out, func(a, b Counted) int { return labels.Compare(a.Labels, b.Labels) })
	return out, nil
}

// AnyOf returns a regular expression that matches exactly these names.
func AnyOf(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return strings.Join(quoted, "|")
}
