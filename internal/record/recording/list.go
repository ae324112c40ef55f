package recording

import (
	"context"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
)

// ListSeries implements [Reader].
func (m *Memory) ListSeries(_ context.Context, wants func(metric string) bool) ([]labels.Labels, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()

	var out []labels.Labels
	for name, series := range m.byName {
		if !wants(name) {
			continue
		}
		for _, s := range series {
			if len(s.segments)+len(s.tailT) > 0 {
				out = append(out, s.labels)
			}
		}
	}

	slices.SortFunc(out, labels.Compare)
	return out, nil
}

// ListSeries implements [Reader].
func (f *folder) ListSeries(ctx context.Context,
	wants func(metric string) bool) (out []labels.Labels, err error) {
	defer recovered(&err)
	metrics, err := f.Metrics(ctx)
	if err != nil {
		return nil, err
	}

	q, err := f.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		return nil, err
	}

	defer q.Close()
	for _, m := range metrics {
		if !wants(m.Name) {
			continue
		}

		byName := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, m.Name)
		set := q.Select(ctx, false, &storage.SelectHints{Start: math.MinInt64, End: math.MaxInt64,
			Func: "series"}, byName)
		for set.Next() {
			out = append(out, set.At().Labels())
		}

		if err := set.Err(); err != nil {
			return nil, err
		}
	}

	slices.SortFunc(out, labels.Compare)
	return out, nil
}

// ListSeries implements [Reader].
func (r *Server) ListSeries(ctx context.Context, wants func(metric string) bool) ([]labels.Labels, error) {
	names, err := r.Names(ctx)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !wants(n) })
	if len(names) == 0 {
		return nil, nil
	}
	return r.LabelSets(ctx, names...)
}

// Pick returns the series of a recording that keep accepts, with the labels that it returns, as a
// recording in memory. It shares the samples of a [Memory]. The caller must add sources and notes.
func Pick(ctx context.Context, r Reader,
	wants func(metric string) bool, keep func(labels.Labels) (as labels.Labels, ok bool)) (*Memory, error) {
	if m, ok := r.(*Memory); ok {
		return m.pick(wants, keep), nil
	}

	metrics, err := r.Metrics(ctx)
	if err != nil {
		return nil, err
	}

	out := NewMemory(MemoryOptions{})
	for _, m := range metrics {
		if !wants(m.Name) {
			continue
		}

		visit := func(l labels.Labels, points []promql.FPoint) error {
			as, ok := keep(l)
			if !ok {
				return nil
			}
			return out.Append(ctx, seriesBatch(as, points))
		}
		if err := r.Walk(ctx, MetricSelector(m.Name), m.From, m.To, visit); err != nil {
			return nil, err
		}
	}

	return out, nil
}

func seriesBatch(l labels.Labels, points []promql.FPoint) *Batch {
	b := &Batch{TimesMs: make([]int64, len(points)),
		Columns: []Column{{Labels: l, Values: make([]float64, len(points))}}}
	for i, p := range points {
		b.TimesMs[i], b.Columns[0].Values[i] = p.T, p.F
	}
	return b
}

// pick returns a recording of the current samples of some series. Segments are immutable, and a
// lent tail is not written to again, so both recordings can share them.
func (m *Memory) pick(wants func(metric string) bool,
	keep func(labels.Labels) (as labels.Labels, ok bool)) *Memory {
	out := NewMemory(m.opt)
	m.mu.RLock()
	defer m.mu.RUnlock()

	for name, series := range m.byName {
		if !wants(name) {
			continue
		}
		for _, s := range series {
			if len(s.segments)+len(s.tailT) == 0 {
				continue
			}

			as, ok := keep(s.labels)
			if !ok {
				continue
			}

			copied := out.find(as)
			copied.segments, copied.any, copied.lastMs = slices.Clip(s.segments), s.any, s.lastMs
			if len(s.tailT) > 0 {
				s.lent.Store(true)
				copied.tailT, copied.tailV = slices.Clip(s.tailT), slices.Clip(s.tailV)
			}

			out.newest = max(out.newest, s.lastMs)
		}
	}

	out.closed = true // its samples are shared, so nothing may be appended
	return out
}
