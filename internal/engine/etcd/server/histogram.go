//go:build linux

package server

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
)

// Histograms holds the current values of some of a cluster's duration histograms, by endpoint and
// name.
type Histograms struct {
	of map[[2]string][]bucket // ascending
}

// A bucket counts durations up to most.
type bucket struct{ most, count float64 }

// Histograms reads the named histograms from each endpoint's /metrics. The error is that of the
// first endpoint that does not have them.
func (v *Existing) Histograms(ctx context.Context, names ...string) (*Histograms, error) {
	h := &Histograms{of: map[[2]string][]bucket{}}
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
			most, err := strconv.ParseFloat(s.labels.Get("le"), 64)
			name := s.labels.Get(labels.MetricName)
			if err != nil || len(name) < len("_bucket") {
				continue
			}
			key := [2]string{host, name[:len(name)-len("_bucket")]}
			h.of[key] = append(h.of[key], bucket{most, s.value})
		}
	}

	for _, b := range h.of {
		slices.SortFunc(b, func(x, y bucket) int { return cmp.Compare(x.most, y.most) })
	}

	return h, nil
}

// Percentile returns the percentile of the durations since before, at the endpoint with the highest
// one. ok is false if there were none. It interpolates within a bucket, like Prometheus'
// histogram_quantile; in the last, unbounded bucket it returns the lower bound.
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
func quantile(now, before []bucket, q float64) (float64, bool) {
	at := func(i int) float64 {
		if i < len(before) && before[i].most == now[i].most {
			return now[i].count - before[i].count
		}
		return now[i].count
	}
	if len(now) == 0 || at(len(now)-1) <= 0 {
		return 0, false
	}

	rank := q * at(len(now)-1)
	low, below := 0.0, 0.0
	for i := range now {
		n := at(i)
		if n >= rank && n > below {
			if math.IsInf(now[i].most, 1) {
				return low, true
			}
			return low + (now[i].most-low)*(rank-below)/(n-below), true
		}
		low, below = now[i].most, n
	}

	return low, true
}
