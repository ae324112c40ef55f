package recording

import (
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// Querier implements storage.Queryable: the current series, between mint and maxt (milliseconds,
// inclusive).
func (m *Memory) Querier(mint, maxt int64) (storage.Querier, error) {
	return &memoryQuerier{m: m, mint: mint, maxt: maxt}, nil
}

type memoryQuerier struct {
	m          *Memory
	mint, maxt int64
}

// snapshot returns a view of the series that later appends do not change: segments are immutable
// and only appended, and so is the tail once it is lent; see seal. The caller holds m.mu.
func (s *memorySeries) snapshot() *memoryView {
	v := &memoryView{labels: s.labels, segments: s.segments, mint: -1 << 63, maxt: 1<<63 - 1}
	if len(s.tailT) > 0 {
		s.lent.Store(true)
		v.tail = &segment{run: &run{times: slices.Clip(s.tailT)}, width: raw}
		v.tailValues = slices.Clip(s.tailV)
	}
	return v
}

// clip narrows the view to the segments between mint and maxt.
func (v *memoryView) clip(mint, maxt int64) *memoryView {
	v.mint, v.maxt = mint, maxt
	lo := sort.Search(len(v.segments), func(i int) bool { return v.segments[i].run.last() >= mint })
	hi := lo + sort.Search(len(v.segments)-lo, func(i int) bool { return v.segments[lo+i].run.first() > maxt })
	v.segments = v.segments[lo:hi]
	if v.tail != nil && (v.tail.run.last() < mint || v.tail.run.first() > maxt) {
		v.tail, v.tailValues = nil, nil
	}
	return v
}

func (v *memoryView) empty() bool { return len(v.segments) == 0 && v.tail == nil }

func (q *memoryQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	mint, maxt := q.mint, q.maxt
	if hints != nil {
		mint, maxt = max(mint, hints.Start), min(maxt, hints.End)
	}

	var out []storage.Series
	q.m.mu.RLock()
	err := q.m.each(ctx, matchers, func(s *memorySeries) {
		// A snapshot, because appends continue while the query runs.
		if v := s.snapshot().clip(mint, maxt); !v.empty() {
			out = append(out, v)
		}
	})

	q.m.mu.RUnlock()
	if err != nil {
		return storage.ErrSeriesSet(err)
	}

	if sorted {
		slices.SortFunc(out, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	}

	return &memorySet{series: out, at: -1}
}

// each calls f for all matching series. The caller holds m.mu.
func (m *Memory) each(ctx context.Context, matchers []*labels.Matcher, f func(*memorySeries)) error {
	visit := func(series []*memorySeries) {
		for _, s := range series {
			if Selector(matchers).Matches(s.labels) {
				f(s)
			}
		}
	}

	for _, k := range matchers {
		// Nearly every query names its metric, so only the series of that name are visited.
		if k.Name == labels.MetricName && k.Type == labels.MatchEqual {
			visit(m.byName[k.Value])
			return ctx.Err()
		}
	}

	for _, series := range m.byName {
		if err := ctx.Err(); err != nil {
			return err
		}
		visit(series)
	}

	return nil
}

// LabelValues implements storage.LabelQuerier.
func (q *memoryQuerier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints,
	matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.gather(ctx, hints, matchers, func(s *memorySeries, found map[string]struct{}) {
		if v := s.labels.Get(name); v != "" {
			found[v] = struct{}{}
		}
	})
}

// LabelNames implements storage.LabelQuerier.
func (q *memoryQuerier) LabelNames(ctx context.Context, hints *storage.LabelHints,
	matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.gather(ctx, hints, matchers, func(s *memorySeries, found map[string]struct{}) {
		s.labels.Range(func(l labels.Label) { found[l.Name] = struct{}{} })
	})
}

func (q *memoryQuerier) gather(ctx context.Context, hints *storage.LabelHints, matchers []*labels.Matcher,
	f func(*memorySeries, map[string]struct{})) ([]string, annotations.Annotations, error) {
	found := map[string]struct{}{}
	q.m.mu.RLock()
	err := q.m.each(ctx, matchers, func(s *memorySeries) {
		// A series without samples is one whose samples were moved to a block.
		if len(s.segments)+len(s.tailT) > 0 {
			f(s, found)
		}
	})

	q.m.mu.RUnlock()
	if err != nil {
		return nil, nil, err
	}

	out := slices.Sorted(maps.Keys(found))
	if hints != nil && hints.Limit > 0 && len(out) > hints.Limit {
		out = out[:hints.Limit]
	}

	return out, nil, nil
}

// Close implements storage.Querier.
func (*memoryQuerier) Close() error { return nil }

type memorySet struct {
	series []storage.Series
	at     int
}

func (s *memorySet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *memorySet) At() storage.Series                { return s.series[s.at] }
func (s *memorySet) Err() error                        { return nil }
func (s *memorySet) Warnings() annotations.Annotations { return nil }

// memoryView is a series in the state seen by one query.
type memoryView struct {
	labels     labels.Labels
	segments   []segment
	tail       *segment
	tailValues []float64
	mint, maxt int64
}

// Labels implements storage.Series.
func (v *memoryView) Labels() labels.Labels { return v.labels }

// Iterator implements storage.Series.
func (v *memoryView) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	// Prometheus passes the previous iterator, so that its buffers can be reused.
	m, ok := it.(*memoryIterator)
	if !ok {
		m = &memoryIterator{}
	}
	*m = memoryIterator{view: v, times: nil, at: -1, segment: -1, timesBuf: m.timesBuf, valuesBuf: m.valuesBuf}
	return m
}

// memoryIterator iterates over a view. It decodes one segment at a time into valuesBuf, so that a
// step is an index into an array.
type memoryIterator struct {
	view      *memoryView
	times     []int64 // of the decoded segment, clipped
	values    []float64
	at        int
	segment   int // index into view.segments; len(view.segments) means the tail
	timesBuf  []int64
	valuesBuf []float64
}

// Next implements chunkenc.Iterator.
func (it *memoryIterator) Next() chunkenc.ValueType {
	it.at++
	if it.at < len(it.times) {
		return chunkenc.ValFloat
	}
	for it.load(it.segment + 1) {
		if len(it.times) > 0 {
			return chunkenc.ValFloat
		}
	}
	return chunkenc.ValNone
}

// timestampMs is a time in milliseconds since the epoch. The separate name also shows vet that Seek
// below is not meant to be io.Seeker's.
type timestampMs = int64

// Seek implements chunkenc.Iterator.
func (it *memoryIterator) Seek(t timestampMs) chunkenc.ValueType {
	if it.at >= 0 && it.at < len(it.times) && it.times[it.at] >= t {
		return chunkenc.ValFloat
	}

	// The decoded segment already has the time.
	if len(it.times) > 0 && it.times[len(it.times)-1] >= t {
		it.within(t)
		return chunkenc.ValFloat
	}

	v := it.view
	next := it.segment + 1
	if next < len(v.segments) && v.segments[next].run.last() < t {
		next += sort.Search(len(v.segments)-next, func(i int) bool { return v.segments[next+i].run.last() >= t })
	}

	for ; it.load(next); next++ {
		if n := len(it.times); n > 0 && it.times[n-1] >= t {
			it.within(t)
			return chunkenc.ValFloat
		}
	}

	return chunkenc.ValNone
}

// within moves to the first time not before t, which must exist. A step of a query is usually a
// sample or two, so it tries a few steps before a search.
func (it *memoryIterator) within(t int64) {
	at := max(it.at, 0)
	for range 4 {
		if it.times[at] >= t {
			it.at = at
			return
		}
		at++
	}
	n, _ := slices.BinarySearch(it.times[at:], t)
	it.at = at + n
}

// load decodes segment i and moves to its first sample. It returns false at the end.
func (it *memoryIterator) load(i int) bool {
	v := it.view
	it.at, it.segment = 0, i
	it.times, it.values = nil, nil

	missing := false
	switch {
	case i < len(v.segments):
		g := &v.segments[i]
		it.valuesBuf = g.decode(it.valuesBuf[:0])
		it.times, it.values, missing = g.run.times, it.valuesBuf, g.missing
	case i == len(v.segments) && v.tail != nil:
		it.times, it.values = v.tail.run.times, v.tailValues
	default:
		it.segment = len(v.segments) + 1
		return false
	}

	if it.times[0] < v.mint {
		n, _ := slices.BinarySearch(it.times, v.mint)
		it.times, it.values = it.times[n:], it.values[n:]
	}

	if n := len(it.times); n > 0 && it.times[n-1] > v.maxt {
		n, _ = slices.BinarySearch(it.times, v.maxt+1)
		it.times, it.values = it.times[:n], it.values[:n]
	}

	if missing {
		it.dropMissing()
	}

	return true
}

// dropMissing removes absent samples.
func (it *memoryIterator) dropMissing() {
	it.timesBuf = it.timesBuf[:0]
	kept := it.values[:0] // valuesBuf belongs to this iterator
	for i, val := range it.values {
		if val == val {
			it.timesBuf = append(it.timesBuf, it.times[i])
			kept = append(kept, val)
		}
	}
	it.times, it.values = it.timesBuf, kept
}

// At implements chunkenc.Iterator.
func (it *memoryIterator) At() (int64, float64) { return it.times[it.at], it.values[it.at] }

// AtT implements chunkenc.Iterator.
func (it *memoryIterator) AtT() int64 { return it.times[it.at] }

// AtST implements chunkenc.Iterator: start times are not stored.
func (it *memoryIterator) AtST() int64 { return 0 }

// AtHistogram implements chunkenc.Iterator; a recording holds no native histograms.
func (it *memoryIterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return it.AtT(), nil
}

// AtFloatHistogram implements chunkenc.Iterator; a recording holds no native histograms.
func (it *memoryIterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return it.AtT(), nil
}

// Err implements chunkenc.Iterator.
func (it *memoryIterator) Err() error { return nil }
