package recording

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

const (
	// aheadMax is how far ahead of this machine's clock a sample of a ring may be. A ring's age is
	// measured from its newest sample: one from the year 2100 would make all others too old.
	aheadMax = 10 * time.Minute
	// deadAfterMs is how long a series has no sample, at least, before a new one may take its place
	// where the bound on series is near.
	deadAfterMs = 60_000
	// roomEveryMs is the least time between two searches for dead series.
	roomEveryMs = 5_000
)

// timeless returns the batch without the samples whose time no clock shows; last (ms) is the last
// time that is taken. The caller holds m.mu.
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
			m.dropFar(metric, len(of)*len(b.Columns), of[0], of[len(of)-1])
		}
	}

	count(b.TimesMs[:from])
	count(b.TimesMs[to:])
	part := b.Part(from, to)

	return &part
}

// lastMs is the last time (ms) that the recording takes now.
func (d *Disk) lastMs() int64 {
	if !d.opt.forgets() {
		return TimeMaxMs
	}
	return min(TimeMaxMs, d.ring.clock.now().Add(aheadMax).UnixMilli())
}

// A steadyClock is the wall clock, but never less than the time that has really passed since it was read
// last: the same rule by which a recorder stamps its samples. When the wall clock is set back by two hours,
// samples go on two hours ahead of it, and a ring must not take them for samples from the future.
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
	if even := c.last.Add(elapsed - c.elapsed); !c.last.IsZero() && even.After(at) {
		at = even
	}
	c.last, c.elapsed = at, elapsed
	return at
}

// systemClock reads this machine's clock, and the time since the first reading.
func systemClock() func() (time.Time, time.Duration) {
	begun := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(begun) // Sub is by the monotonic reading, which Round removes
	}
}

// making says which series without a recent sample are forgotten where a recording has as
// many series as it may.
type making uint8

const (
	makeNone  making = iota
	makeEmpty        // those whose samples are in a block
	makeAny          // their samples too
)

// nextBatch begins a batch, with room for new series in it if any can be made.
func (m *Memory) nextBatch() {
	m.batches++
	if m.series > m.opt.MaxSeries/4*3 {
		m.makeRoom()
	}
}

// makeRoom forgets dead series, and reports whether there is room for one more. The series of the
// batch at hand stay.
func (m *Memory) makeRoom() bool {
	if m.making == makeNone || m.newest-m.roomAt < roomEveryMs {
		return false
	}

	m.roomAt = m.newest
	sources, _, _ := m.all()
	cut := m.newest - max(deadAfterMs, 3*coarsestPeriod(sources).Milliseconds())

	full := 0 // dead, but their samples are needed
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
	m.crowded = full > m.opt.MaxSeries/8
	return m.series < m.opt.MaxSeries
}

// clock is a time as it can be written: within what a recording takes.
func clock(t time.Time) time.Time {
	switch ms := t.UnixMilli(); {
	case t.IsZero() || ms >= 0 && ms <= TimeMaxMs:
		return t
	case ms < 0:
		return time.UnixMilli(0).UTC()
	}
	return time.UnixMilli(TimeMaxMs).UTC()
}
