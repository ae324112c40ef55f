package exposition

import (
	"slices"
	"time"
)

// segmentsMax bounds the number of stretches of pages to sort by time.
const segmentsMax = 16

// A segment is a stretch of pages in order of time: pages from up to, but not including, to.
type segment struct {
	from, to    int
	first, last time.Time
}

// segments are the stretches of a file. Files are often joined in the wrong order (cat b.prom
// a.prom).
type segments struct {
	all   []segment
	pages int
	none  bool // some page has no date
}

func (s *segments) add(p *page) {
	s.none = s.none || !p.timed
	// Past segmentsMax the file counts as unordered anyway, and more stretches would only take
	// memory.
	if n := len(s.all); n == 0 || p.time.Before(s.all[n-1].last) && n <= segmentsMax {
		s.all = append(s.all, segment{from: s.pages, first: p.time})
	}
	s.pages++
	last := &s.all[len(s.all)-1]
	last.to, last.last = s.pages, p.time
}

// ordered returns the parts in order of time, or nil if the file should be read unchanged: it is
// already in order, or the parts overlap, as pages of several servers do.
func (s *segments) ordered() []segment {
	if s.none || len(s.all) < 2 || len(s.all) > segmentsMax {
		return nil
	}
	out := slices.Clone(s.all)
	slices.SortStableFunc(out, func(a, b segment) int { return a.first.Compare(b.first) })
	for i := 1; i < len(out); i++ {
		// Overlapping stretches are from several servers, and sorting would mix their pages.
		if out[i].first.Before(out[i-1].last) {
			return nil
		}
	}
	return out
}
