package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// MemoryOptions limit a [Memory]. The zero value is ready for use.
type MemoryOptions struct {
	// MaxSeries bounds the series; samples of further series are dropped and noted. 0 means
	// 200,000.
	MaxSeries int
	// MaxBytes bounds the memory of the samples; further samples are dropped and noted. 0 means 4
	// GiB.
	MaxBytes int64
	// Tail is the number of newest samples of each series that stay unpacked, in 16 bytes each. A
	// smaller tail takes less memory while samples arrive one by one, and slightly more afterwards.
	// 0 means 512, the maximum.
	Tail int
	// Rolling is for a sliding window: at MaxSeries, series without a sample in the last minute
	// make room for new ones.
	Rolling bool
	Query   QueryOptions
}

// Memory is a recording in memory, for a capture that is read once and judged. It accepts samples
// and answers queries at the same time.
//
// A day at one second of 150 series has 13 million samples. They are stored as columns: all series
// of a batch share the times, and values take the fewest bytes that restore them exactly. That
// needs a few tens of megabytes; a constant value takes almost none.
type Memory struct {
	ledger
	opt     MemoryOptions
	queries *queries

	mu     sync.RWMutex
	closed bool
	// bytes is the approximate total memory, seriesBytes that of the series without samples.
	bytes       int64
	seriesBytes int64
	byHash      map[uint64]*memorySeries
	byName      map[string][]*memorySeries
	series      int
	making      making
	batches     int64 // so far
	newest      int64 // time (ms) of the newest sample
	roomAt      int64 // newest at the last search for dead series
	crowded     bool  // the samples of dead series prevent new series
	// hint caches the series of the last batch's columns: the next batch usually has the same
	// series in the same order.
	hint []*memorySeries
	runs map[int64]*run // runs for other series to share, by their first time
}

// NewMemory returns an empty recording in memory.
func NewMemory(opt MemoryOptions) *Memory {
	if opt.MaxSeries <= 0 {
		opt.MaxSeries = 200_000
	}

	if opt.MaxBytes <= 0 {
		opt.MaxBytes = 4 << 30
	}

	if opt.Tail <= 0 || opt.Tail > segmentMax {
		opt.Tail = segmentMax
	}

	m := &Memory{
		opt:     opt,
		queries: newQueries(opt.Query),
		byHash:  map[uint64]*memorySeries{},
		byName:  map[string][]*memorySeries{},
	}

	if opt.Rolling {
		m.making = makeAny
	}

	return m
}

// Append implements [Writer].
func (m *Memory) Append(ctx context.Context, b *Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	if err := b.validate(); err != nil {
		return err
	}
	if len(b.TimesMs) == 0 {
		return nil
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}

	if b = m.timeless(b, TimeMaxMs); len(b.TimesMs) == 0 {
		return nil
	}

	m.handed.Add(int64(len(b.Columns)) * int64(len(b.TimesMs)))
	m.nextBatch()

	runs := &batchRuns{m: m, times: b.TimesMs}
	for i := range b.Columns {
		c := &b.Columns[i]
		s := m.lookup(i, c.Labels)
		// No room for the series or for more samples: the batch continues with other series.
		if s == nil || m.bytes > m.opt.MaxBytes {
			m.drop(&m.over, c.Labels.Get(labels.MetricName), len(b.TimesMs), b.TimesMs[0], b.TimesMs[len(b.TimesMs)-1])
			continue
		}
		m.appendColumn(s, b.TimesMs, c.Values, runs)
	}

	return nil
}

// errClosed is returned by Append after Close.
var errClosed = errors.New("recording is closed: nothing can be appended")

// validate returns an error if a batch is not valid.
func (b *Batch) validate() error {
	for i := 1; i < len(b.TimesMs); i++ {
		if b.TimesMs[i] <= b.TimesMs[i-1] {
			return fmt.Errorf("recording: time %d of the batch (%d ms) is not after the previous one (%d ms)",
				i, b.TimesMs[i], b.TimesMs[i-1])
		}
	}

	for i := range b.Columns {
		if n := len(b.Columns[i].Values); n != len(b.TimesMs) && n != 1 {
			return fmt.Errorf("recording: column %s has %d values for %d times: want one for each, or a single one",
				b.Columns[i].Labels, n, len(b.TimesMs))
		}
		if b.Columns[i].Labels.Get(labels.MetricName) == "" {
			return fmt.Errorf("recording: column %d with labels %s has no metric name", i, b.Columns[i].Labels)
		}
	}

	return nil
}

// Note implements [Writer].
func (m *Memory) Note(n Note) { m.note(n) }

// Source implements [Writer].
func (m *Memory) Source(s Source) { m.source(s) }

// Sources implements [Reader].
func (m *Memory) Sources() []Source { s, _, _ := m.all(); return s }

// Notes implements [Reader]. The last notes report the samples dropped so far.
func (m *Memory) Notes() []Note { _, n, _ := m.all(); return n }

// Marks implements [Reader]: a recording in memory has none.
func (m *Memory) Marks() []Mark { return nil }

// Bytes returns the approximate memory of the samples.
func (m *Memory) Bytes() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bytes
}

// Metrics implements [Reader].
func (m *Memory) Metrics(ctx context.Context) ([]Metric, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()

	out := make([]Metric, 0, len(m.byName))
	for name, series := range m.byName {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		var sum metricSummary
		for _, s := range series {
			if len(s.segments)+len(s.tailT) == 0 {
				continue
			}
			sum.add(s.firstMs(), s.lastMs)
			if sum.series <= periodSeries {
				// The end is sampled as well: a recorder may have changed its period.
				sum.measure(s.snapshot().Iterator(nil), periodFirst)
				end := s.lastMs - periodLast*Median(sum.distances).Milliseconds()
				sum.measure(s.snapshot().clip(end, s.lastMs).Iterator(nil), periodLast)
			}
		}

		if sum.series > 0 {
			out = append(out, sum.metric(name))
		}
	}

	slices.SortFunc(out, func(a, b Metric) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Range implements [Reader].
func (m *Memory) Range(ctx context.Context, expr string, from, to time.Time, step,
	lookback time.Duration) ([]Series, error) {
	return m.queries.run(ctx, m, expr, from, to, step, lookback)
}

// Samples implements [Reader].
func (m *Memory) Samples(ctx context.Context, selector Selector, from, to time.Time) ([]Series, error) {
	return m.queries.samples(ctx, m, selector, from, to)
}

// Close ends writing: a later Append fails. Reading still works.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.hint = nil
	return nil
}
