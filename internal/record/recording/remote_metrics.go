package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

const (
	// seriesMax bounds the series to list.
	seriesMax = 100_000
	// groupsMax bounds the metrics whose period is sampled.
	groupsMax = 64
	// sampledSpan is the span of the samples that determine a period.
	sampledSpan = 30 * time.Minute
)

// Metrics implements [Reader]. It returns the names that the server had between [RemoteOptions]
// From and To, which become the times of each metric. The number of series is 0 if the server
// refuses to list them. The period is sampled from one metric of each exporter (the part of the
// name before the second underscore) and applies to all of its metrics, because they are scraped
// together.
func (r *Server) Metrics(ctx context.Context) ([]Metric, error) {
	r.mu.Lock()
	known := r.metrics
	r.mu.Unlock()

	if known != nil {
		return slices.Clone(known), nil
	}

	names, err := r.names(ctx)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}

	series, err := r.listSeries(ctx)
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return nil, fmt.Errorf("metrics: %w", ended)
		}
		series = nil // too many for the server or for the bounds; the names matter more
	}

	periods, err := r.samplePeriods(ctx, names, series)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}

	out := make([]Metric, 0, len(names))
	var coarsest time.Duration
	for _, name := range names {
		p := periods[exporterOf(name)]
		coarsest = max(coarsest, p)
		out = append(out, Metric{Name: name, Series: len(series[name]), Period: p, From: r.opt.From, To: r.opt.To})
	}

	slices.SortFunc(out, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics, r.period = out, coarsest

	return slices.Clone(out), nil
}

// exporterOf returns the part of a metric's name that identifies its exporter: "mongodb_ss",
// "node_disk".
func exporterOf(name string) string {
	parts := strings.SplitN(name, "_", 3)
	return strings.Join(parts[:min(2, len(parts))], "_")
}

func (r *Server) selectors() []string {
	if r.opt.Selector == "" {
		return nil
	}
	return []string{Selector(r.matchers).String()}
}

// names returns the metric names that the selector matches.
func (r *Server) names(ctx context.Context) (names []string, err error) {
	err = r.call(ctx, func(ctx context.Context) error {
		values, warnings, err := r.api.LabelValues(atMost(ctx, namesBytesMax), labels.MetricName, r.selectors(),
			r.opt.From, r.opt.To)
		r.warned(warnings)
		for _, v := range values {
			names = append(names, string(v))
		}
		return err
	})
	return names, err
}

var errTooManySeries = errors.New("too many series to count")

// listSeries returns the series that the selector matches, by metric name.
func (r *Server) listSeries(ctx context.Context) (map[string][]model.LabelSet, error) {
	match := r.selectors()
	if match == nil {
		match = []string{`{__name__=~".+"}`}
	}

	sets, err := r.series(ctx, match, errTooManySeries)
	out := map[string][]model.LabelSet{}
	for _, s := range sets {
		name := string(s[labels.MetricName])
		out[name] = append(out[name], s)
	}
	return out, err
}

// series lists the matching series, from the server's index. If there are too many, it returns the
// error tooMany.
func (r *Server) series(ctx context.Context, match []string, tooMany error) (sets []model.LabelSet,
	err error) {
	err = r.call(ctx, func(ctx context.Context) error {
		var warnings v1.Warnings
		sets, warnings, err = r.api.Series(atMost(ctx, listBytesMax), match, r.opt.From, r.opt.To,
			v1.WithLimit(seriesMax))
		if err != nil {
			return err
		}

		r.warned(warnings)
		if len(sets) >= seriesMax {
			return tooMany
		}
		return nil
	})
	return sets, err
}

// samplePeriods determines the period of each exporter from one of its series.
func (r *Server) samplePeriods(ctx context.Context, names []string,
	series map[string][]model.LabelSet) (map[string]time.Duration, error) {
	first := map[string]string{}
	for _, name := range names {
		if _, ok := first[exporterOf(name)]; !ok {
			first[exporterOf(name)] = name
		}
	}

	out := map[string]time.Duration{}
	for _, g := range slices.Sorted(maps.Keys(first)) {
		// Each group costs requests, so their number is bounded.
		if len(out) == groupsMax {
			break
		}

		name := first[g]
		matchers := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, name)}
		if sets := series[name]; len(sets) > 0 {
			for k, v := range sets[0] {
				if k != labels.MetricName {
					matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, string(k), string(v)))
				}
			}
		} else {
			matchers = append(matchers, r.matchers...)
		}

		var err error
		if out[g], err = r.samplePeriod(ctx, matchers); err != nil {
			return nil, err
		}
	}

	return out, nil
}

// samplePeriod reads samples of one metric at the end of the time range, then in its middle, then at
// its start, until it finds some.
func (r *Server) samplePeriod(ctx context.Context, matchers []*labels.Matcher) (time.Duration, error) {
	fromMs, toMs := r.opt.From.UnixMilli(), r.opt.To.UnixMilli()
	span := sampledSpan.Milliseconds()
	for _, end := range []int64{toMs, (fromMs + toMs) / 2, fromMs + span} {
		end = min(end, toMs)
		series, err := r.rawSamples(ctx, matchers, max(fromMs, end-span), end)
		if err != nil {
			return 0, err
		}

		var distances []int64
		for _, s := range series[:min(len(series), periodSeries)] {
			for i := 1; i < len(s.Points); i++ {
				distances = append(distances, s.Points[i].T-s.Points[i-1].T)
			}
		}

		if len(distances) > 0 {
			return Median(distances), nil
		}
	}

	return 0, nil
}

// defaultLookback returns 2.5 times the coarsest period, but at most Prometheus' default.
func (r *Server) defaultLookback(ctx context.Context) (time.Duration, error) {
	if _, err := r.Metrics(ctx); err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(lookbackFor(r.period), fallbackLookback), nil
}
