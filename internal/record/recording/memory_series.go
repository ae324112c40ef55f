package recording

import (
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
)

// tailMax is the batch size below which samples collect in the tail of a series until they make a
// segment of worthwhile size.
const tailMax = 64

// memorySeries is a series: segments in order of time, then the tail.
type memorySeries struct {
	labels   labels.Labels
	name     string
	sameHash *memorySeries // next series with the same hash
	segments []segment
	tailT    []int64
	tailV    []float64
	lent     atomic.Bool // a view reads the tail
	lastMs   int64
	any      bool  // has, or once had, a sample
	batch    int64 // the last batch with a column of it
	// ref identifies the series in the write-ahead log, in log files since number logged. Disk uses
	// it.
	ref    uint64
	logged int
}

func (s *memorySeries) firstMs() int64 {
	if len(s.segments) > 0 {
		return s.segments[0].run.first()
	}
	return s.tailT[0]
}

// lookup finds or creates the series of a batch's column. It returns nil if there are too many.
func (m *Memory) lookup(column int, l labels.Labels) *memorySeries {
	// Batches of one source usually have the same columns in the same order.
	if column < len(m.hint) && m.hint[column] != nil && labels.Equal(m.hint[column].labels, l) {
		m.hint[column].batch = m.batches
		return m.hint[column]
	}

	s := m.find(l)
	if s != nil {
		s.batch = m.batches
	}

	for len(m.hint) <= column && len(m.hint) < m.opt.MaxSeries {
		m.hint = append(m.hint, nil)
	}

	if column < len(m.hint) {
		m.hint[column] = s
	}

	return s
}

// find finds or creates a series. It returns nil if there are too many.
func (m *Memory) find(l labels.Labels) *memorySeries {
	hash := l.Hash()
	s := m.byHash[hash]
	// Different labels may have the same hash.
	for s != nil && !labels.Equal(s.labels, l) {
		s = s.sameHash
	}

	if s != nil || m.series >= m.opt.MaxSeries && !m.makeRoom() {
		return s
	}

	s = &memorySeries{labels: l, name: l.Get(labels.MetricName), sameHash: m.byHash[hash]}
	m.byHash[hash] = s
	m.byName[s.name] = append(m.byName[s.name], s)
	m.series++
	m.bytes += seriesBytes + int64(l.ByteSize())
	m.seriesBytes += seriesBytes + int64(l.ByteSize())

	return s
}

// seriesBytes is the approximate memory of a series without its labels and samples.
const seriesBytes = 256

// notNewer returns how many of times are not newer than the last sample of the series.
func (s *memorySeries) notNewer(times []int64) int {
	if !s.any || times[0] > s.lastMs {
		return 0
	}
	n, _ := slices.BinarySearch(times, s.lastMs+1)
	return n
}

// appendColumn adds the samples of a column that are newer than the last one of the series.
func (m *Memory) appendColumn(s *memorySeries, times []int64, values []float64, runs *batchRuns) {
	skip := s.notNewer(times)
	if skip > 0 {
		m.drop(&m.late, s.name, skip, times[0], times[skip-1])
	}

	if skip == len(times) {
		return
	}

	same := len(values) == 1
	if same && values[0] != values[0] {
		return // missing in the whole batch
	}

	// Small batches collect in the tail: a segment of a few samples would waste memory.
	if len(times)-skip < tailMax {
		m.appendTail(s, times[skip:], values, skip, same)
		return
	}

	m.seal(s)
	for _, r := range runs.from(skip) {
		n := len(r.times)
		if same {
			m.addSegment(s, newSegment(r, values))
		} else if part := values[skip : skip+n]; hasValue(part) {
			m.addSegment(s, newSegment(r, part))
		}
		skip += n
	}
}

func hasValue(values []float64) bool {
	for _, v := range values {
		if v == v {
			return true
		}
	}
	return false
}

func (m *Memory) addSegment(s *memorySeries, g segment) {
	s.segments = append(s.segments, g)
	s.any, s.lastMs = true, g.run.last()
	m.newest = max(m.newest, s.lastMs)
	m.bytes += segmentBytes + int64(len(g.data))
}

// appendTail adds a few samples individually.
func (m *Memory) appendTail(s *memorySeries, times []int64, values []float64, skip int, same bool) {
	before := cap(s.tailT)
	for i, t := range times {
		v := values[0]
		if !same {
			v = values[skip+i]
		}

		if v != v {
			continue
		}

		if len(s.tailT) >= m.opt.Tail {
			m.seal(s)
		}

		s.tailT, s.tailV = append(s.tailT, t), append(s.tailV, v)
		s.any, s.lastMs = true, t
	}

	m.newest = max(m.newest, s.lastMs)
	m.bytes += 16 * int64(cap(s.tailT)-before)
}

// seal turns the tail into a segment. It reuses the memory of the tail, unless a view may still
// read it.
func (m *Memory) seal(s *memorySeries) {
	if len(s.tailT) == 0 {
		return
	}
	m.addSegment(s, newSegment(m.runOf(s.tailT), s.tailV))
	if s.lent.Swap(false) {
		s.tailT, s.tailV = make([]int64, 0, cap(s.tailT)), make([]float64, 0, cap(s.tailV))
		return
	}
	s.tailT, s.tailV = s.tailT[:0], s.tailV[:0]
}

// appendRun adds newer samples of a series that share no times with a batch, for example from a
// write-ahead log.
func (m *Memory) appendRun(s *memorySeries, times []int64, values []float64) {
	if len(times) < tailMax {
		m.appendTail(s, times, values, 0, false)
		return
	}
	m.seal(s)
	for len(times) > 0 {
		n := min(len(times), segmentMax)
		m.addSegment(s, newSegment(m.runOf(times[:n]), values[:n]))
		times, values = times[n:], values[n:]
	}
}

// take removes and returns all samples; each series keeps only its last time. The caller holds
// m.mu.
func (m *Memory) take() []*memoryView {
	var views []*memoryView
	for _, series := range m.byName {
		for _, s := range series {
			m.seal(s)
			if len(s.segments) > 0 {
				views = append(views, s.snapshot())
			}
			s.segments, s.tailT, s.tailV = nil, nil, nil
		}
	}
	m.bytes = m.seriesBytes
	m.runs = nil
	return views
}

// runsMax bounds the runs kept for sharing: 64 MiB.
const runsMax = 16 << 10

// runOf returns a run with these times. Series of one source have the same times: one copy of them
// serves all.
func (m *Memory) runOf(times []int64) *run {
	if r := m.runs[times[0]]; r != nil && slices.Equal(r.times, times) {
		return r
	}

	r := &run{times: slices.Clone(times)}
	m.bytes += 8 * int64(len(times))
	if m.runs == nil || len(m.runs) >= runsMax {
		m.runs = map[int64]*run{}
	}
	m.runs[times[0]] = r
	return r
}

// batchRuns creates the runs of a batch, each only once.
type batchRuns struct {
	m     *Memory
	times []int64
	cache map[int][]*run // by the number of skipped times
}

func (b *batchRuns) from(skip int) []*run {
	if runs, ok := b.cache[skip]; ok {
		return runs
	}
	var runs []*run
	for part := range slices.Chunk(b.times[skip:], segmentMax) {
		runs = append(runs, b.m.runOf(part))
	}
	if b.cache == nil {
		b.cache = map[int][]*run{}
	}
	b.cache[skip] = runs
	return runs
}
