//go:build linux

package server

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/base/units"
)

// Histograms holds the current values of some of a cluster's duration histograms, by endpoint and
// name.
type Histograms struct {
	of map[[2]string]promql.Buckets // ascending
}

// Histograms reads the named histograms from each endpoint's /metrics. The error is that of the
// first endpoint that does not have them.
func (v *Existing) Histograms(ctx context.Context, names ...string) (*Histograms, error) {
	h := &Histograms{of: map[[2]string]promql.Buckets{}}
	for _, host := range v.hosts {
		src, err := v.source(host)
		if err != nil {
			return h, err
		}

		page, err := scrape(ctx, src, func(metric string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return metric == n+"_bucket" })
		})
		if err != nil {
			return h, err
		}

		for _, s := range page {
			most, err := strconv.ParseFloat(s.Labels.Get("le"), 64)
			name := s.Labels.Get(labels.MetricName)
			if err != nil || len(name) < len("_bucket") {
				continue
			}
			key := [2]string{host, name[:len(name)-len("_bucket")]}
			h.of[key] = append(h.of[key], promql.Bucket{UpperBound: most, Count: s.Values[0]})
		}
	}

	for _, b := range h.of {
		slices.SortFunc(b, func(x, y promql.Bucket) int { return cmp.Compare(x.UpperBound, y.UpperBound) })
	}

	return h, nil
}

// Percentile returns the percentile of the durations since before, at the endpoint with the highest
// one. ok is false if there were none. It interpolates within a bucket, like Prometheus'
// histogram_quantile.
func (h *Histograms) Percentile(before *Histograms, name string,
	percentile float64) (d units.Duration, ok bool) {
	for key, now := range h.of {
		if key[1] != name {
			continue
		}
		if x, counted := quantile(now, before.of[key], percentile/100); counted {
			d, ok = max(d, units.Duration(x*1e9)), true
		}
	}
	return d, ok
}

// quantile returns a quantile in the buckets' own unit.
func quantile(now, before promql.Buckets, q float64) (float64, bool) {
	since := slices.Clone(now)
	for i := range since {
		if i < len(before) && before[i].UpperBound == now[i].UpperBound {
			since[i].Count -= before[i].Count
		}
	}

	// A member that restarted in between counts from 0 again.
	if len(since) == 0 || since[len(since)-1].Count <= 0 {
		return 0, false
	}
	x, _, _, _, _, _ := promql.BucketQuantile(q, since)
	return x, !math.IsNaN(x)
}
