package model

import "plimsoll/internal/base/vtime"

// usageMax is BM_MAX_USAGE_COUNT of PostgreSQL 15's buf_internals.h: a buffer survives as many
// passes of the clock sweep as it was used, up to five.
const usageMax = 5

// A buffer holds a page.
type buffer struct {
	ready  vtime.Instant // read in by then
	lsn    int64         // the log up to here must be durable before the page is written
	page   pageID
	pins   uint16
	usage  uint8
	dirty  bool
	marked bool // to be written by the checkpoint in progress
}

// buffers is the cache of pages: an array of buffers, a hash table that finds a page's, and the
// hand of the clock sweep.
type buffers struct {
	all   []buffer
	used  int     // those never used come first
	table []entry // open addressing
	shift uint
	swept uint64 // buffers the hand has passed in all
	dirty int    // dirty buffers
}

// An entry says which buffer holds a page: its number + 1, 0 if there is none. The page is here
// too, so that a search touches no buffer.
type entry struct {
	page   pageID
	buffer uint32
}

func newBuffers(n int) buffers {
	bits := uint(4)
	for 1<<bits < 2*n {
		bits++
	}
	return buffers{all: make([]buffer, n), table: make([]entry, 1<<bits), shift: 32 - bits}
}

// home is the place of a page in the table (Fibonacci hashing).
func (s *buffers) home(p pageID) uint32 { return (uint32(p) * 2654435769) >> s.shift }

// find is the buffer that holds a page, -1 if none does.
func (s *buffers) find(p pageID) int32 {
	mask := uint32(len(s.table) - 1)
	for i := s.home(p); ; i = (i + 1) & mask {
		switch e := s.table[i]; {
		case e.buffer == 0:
			return none
		case e.page == p:
			return int32(e.buffer - 1)
		}
	}
}

// assign makes a buffer, which must be clean and unpinned, hold another page.
func (s *buffers) assign(b int32, p pageID, held bool) *buffer {
	if held {
		s.forget(s.all[b].page)
	}
	mask := uint32(len(s.table) - 1)
	i := s.home(p)
	for s.table[i].buffer != 0 {
		i = (i + 1) & mask
	}
	s.table[i] = entry{p, uint32(b + 1)}
	s.all[b] = buffer{page: p}
	return &s.all[b]
}

// forget removes a page from the table, moving up those behind it.
func (s *buffers) forget(p pageID) {
	mask := uint32(len(s.table) - 1)
	i := s.home(p)
	for s.table[i].page != p {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; s.table[j].buffer != 0; j = (j + 1) & mask {
		if home := s.home(s.table[j].page); (j-home)&mask >= (j-i)&mask {
			s.table[i] = s.table[j]
			i = j
		}
	}
	s.table[i] = entry{}
}

// victim finds a buffer for another page: one never used, or the first that the hand finds with a
// usage count of 0, lowering those it passes. A page whose log is not yet durable is passed over.
// held says that it holds a page, which may be dirty. There may be none.
func (s *buffers) victim(now vtime.Instant, durable int64) (b int32, held, ok bool) {
	if s.used < len(s.all) {
		s.used++
		return int32(s.used - 1), false, true
	}

	n := uint64(len(s.all))
	at := int(s.swept % n)
	for range (usageMax + 1) * len(s.all) {
		f := &s.all[at]
		b = int32(at)
		if at++; at == len(s.all) {
			at = 0
		}

		s.swept++
		switch {
		case f.pins > 0 || f.ready > now:
		case f.usage > 0:
			f.usage--
		case f.dirty && f.lsn > durable:
		default:
			return b, true, true
		}
	}

	return 0, false, false
}

// change makes a buffer dirty with a change logged up to lsn.
func (s *buffers) change(b int32, lsn int64) {
	f := &s.all[b]
	f.lsn = lsn
	if !f.dirty {
		f.dirty = true
		s.dirty++
	}
}

// clean notes that a buffer's page was handed to the page cache.
func (s *buffers) clean(b int32) {
	f := &s.all[b]
	if f.dirty {
		f.dirty = false
		s.dirty--
	}
	f.marked = false
}

// fill loads pages as an engine that has run for a while has them: the index first, which is used
// more a page, then the table evenly, as far as there are buffers.
func (e *Engine) fill() {
	s := &e.buffers
	load := func(r relation, pages int64) {
		n := min(pages, int64(len(s.all)-s.used))
		for i := range n {
			b, _, _ := s.victim(0, 0)
			// i*pages/n without overflow: both are below 2^30.
			s.assign(b, r.page(i*pages/n), false).usage = 1
		}
	}
	load(index, e.tables[index].pages)
	load(heap, e.tables[heap].pages)
}
