package recording

import (
	"slices"
	"time"
)

// Forget drops samples older than before, in whole segments. Up to some minutes of older samples
// remain, so a reader must request the time that it wants. Series without newer samples are
// dropped, and so are notes about that time. This bounds a window that slides over a live source.
func (m *Memory) Forget(before time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(before)
}

// forget is Forget; the caller holds m.mu.
func (m *Memory) forget(before time.Time) {
	cut := before.UnixMilli()
	for name, series := range m.byName {
		kept := slices.DeleteFunc(series, func(s *memorySeries) bool {
			s.forget(cut)
			return len(s.segments)+len(s.tailT) == 0 && (!s.any || s.lastMs < cut)
		})
		if len(kept) == 0 {
			delete(m.byName, name)
			continue
		}
		m.byName[name] = kept
	}
	m.recount()
	m.ledger.forget(before)
}

// forget drops the segments that end before cutMs. Existing views keep theirs.
func (s *memorySeries) forget(cutMs int64) {
	n := 0
	for n < len(s.segments) && s.segments[n].run.last() < cutMs {
		n++
	}
	if n > 0 {
		// A copy, because a slice would keep the dropped segments in memory.
		s.segments = slices.Clone(s.segments[n:])
	}
	if len(s.tailT) > 0 && s.lastMs < cutMs {
		s.tailT, s.tailV = nil, nil
	}
}

// recount recomputes the memory of the remaining series, and their hash table.
func (m *Memory) recount() {
	clear(m.byHash)
	m.hint, m.runs = nil, nil // they may be of dropped series
	m.series, m.bytes, m.seriesBytes = 0, 0, 0

	// Series share runs, so each run counts once.
	runs := map[*run]bool{}
	for _, series := range m.byName {
		for _, s := range series {
			hash := s.labels.Hash()
			s.sameHash, m.byHash[hash] = m.byHash[hash], s
			m.series++
			m.seriesBytes += seriesBytes + int64(s.labels.ByteSize())
			m.bytes += 16 * int64(cap(s.tailT))

			for i := range s.segments {
				g := &s.segments[i]
				m.bytes += segmentBytes + int64(len(g.data))
				if !runs[g.run] {
					runs[g.run] = true
					m.bytes += 8 * int64(len(g.run.times))
				}
			}
		}
	}

	m.bytes += m.seriesBytes
}

// newestMs returns the time of the newest sample, including samples already passed to a block, or 0
// if there are none.
func (m *Memory) newestMs() (newest int64) {
	for _, series := range m.byName {
		for _, s := range series {
			if s.any {
				newest = max(newest, s.lastMs)
			}
		}
	}
	return newest
}

// forget drops the notes and the counts from before a time. The sources then start no earlier.
func (l *ledger) forget(before time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := false
	l.notes = slices.DeleteFunc(l.notes, func(n Note) bool {
		end := n.To
		if end.IsZero() {
			end = n.From
		}
		gone := !end.IsZero() && end.Before(before)
		changed = changed || gone
		return gone
	})

	for _, d := range []*drops{&l.late, &l.over} {
		if d.samples > 0 && d.toMs < before.UnixMilli() {
			*d, changed = drops{}, true
		}
	}

	for i := range l.sources {
		if s := &l.sources[i]; !s.From.IsZero() && s.From.Before(before) {
			s.From, changed = before, true
		}
	}

	if changed {
		l.version++
	}
}
