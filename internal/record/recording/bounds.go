package recording

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

const (
	// aheadMax is how far ahead of this machine's clock a sample of a ring may be. A ring measures
	// age from its newest sample: a single sample from the year 2100 would make all others too old.
	aheadMax = 10 * time.Minute
	// deadAfterMs is the minimum time without samples after which a series may be replaced by a new
	// one when the bound on series is near.
	deadAfterMs = 60_000
	// roomEveryMs is the minimum time between two searches for dead series.
	roomEveryMs = 5_000
)

// timeless returns the batch without samples at impossible times. last (ms) is the last accepted
// time. The caller holds m.mu.
func (m *Memory) timeless(b *Batch, last int64) *Batch {
	n := len(b.TimesMs)
	if b.TimesMs[0] >= 0 && b.TimesMs[n-1] <= last {
		return b
	}

	from, _ := slices.BinarySearch(b.TimesMs, 0)
	to, _ := slices.BinarySearch(b.TimesMs, last+1)
	metric := ""

	if len(b.Columns) > 0 {
		metric = b.Columns[0].Labels.Get(labels.MetricName)
	}

	count := func(of []int64) {
		if len(of) > 0 {
			m.drop(&m.far, metric, len(of)*len(b.Columns), of[0], of[len(of)-1])
		}
	}

	count(b.TimesMs[:from])
	count(b.TimesMs[to:])
	part := b.Part(from, to)

	return &part
}

// lastMs returns the last time (ms) that the recording accepts now.
func (d *Disk) lastMs() int64 {
	if !d.opt.forgets() {
		return TimeMaxMs
	}
	return min(TimeMaxMs, d.ring.clock.now().Add(aheadMax).UnixMilli())
}

// A steadyClock is the wall clock, but never behind the real time that has passed since its last
// reading. A recorder stamps its samples by the same rule: if the wall clock is set back by two
// hours, samples continue two hours ahead of it, and a ring must not reject them as samples from
// the future.
type steadyClock struct {
	read func() (wall time.Time, elapsed time.Duration)

	mu      sync.Mutex
	last    time.Time
	elapsed time.Duration // at last
}

func (c *steadyClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, elapsed := c.read()
	// The wall clock may be behind only if it was set back.
	if even := c.last.Add(elapsed - c.elapsed); !c.last.IsZero() && even.After(at) {
		at = even
	}
	c.last, c.elapsed = at, elapsed
	return at
}

// SystemClock returns a function that reads this machine's clock, and the time since the start,
// which passes evenly when the clock is set.
func SystemClock() func() (time.Time, time.Duration) {
	begun := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(begun) // Sub uses the monotonic reading, which Round removes
	}
}

// making says which series without a recent sample may be dropped when a recording is at its bound
// on series.
type making uint8

const (
	makeNone  making = iota
	makeEmpty        // series whose samples are in a block
	makeAny          // any, including their samples
)

// nextBatch begins a batch. Near the bound on series, it makes room for new ones.
func (m *Memory) nextBatch() {
	m.batches++
	if m.series > m.opt.MaxSeries/4*3 {
		m.makeRoom()
	}
}

// makeRoom drops dead series, and reports whether there is room for another one. It keeps the
// series of the current batch.
func (m *Memory) makeRoom() bool {
	if m.making == makeNone || m.newest-m.roomAt < roomEveryMs {
		return false
	}

	m.roomAt = m.newest
	sources, _, _ := m.all()
	cut := m.newest - max(deadAfterMs, 3*coarsestPeriod(sources).Milliseconds())

	full := 0 // dead series whose samples are still needed
	for name, series := range m.byName {
		kept := slices.DeleteFunc(series, func(s *memorySeries) bool {
			if !s.any || s.lastMs >= cut || s.batch == m.batches {
				return false
			}
			if m.making == makeEmpty && len(s.segments)+len(s.tailT) > 0 {
				full++
				return false
			}
			return true
		})
		if len(kept) == 0 {
			delete(m.byName, name)
			continue
		}

		m.byName[name] = kept
	}

	m.recount()

	// Writing a block early frees these series; see due.
	m.crowded = full > m.opt.MaxSeries/8
	return m.series < m.opt.MaxSeries
}

// clock limits a time to the range that a recording accepts, so that it can be written.
func clock(t time.Time) time.Time {
	switch ms := t.UnixMilli(); {
	case t.IsZero() || ms >= 0 && ms <= TimeMaxMs:
		return t
	case ms < 0:
		return time.UnixMilli(0).UTC()
	}
	return time.UnixMilli(TimeMaxMs).UTC()
}
