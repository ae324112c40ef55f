package model

import "plimsoll/internal/base/vtime"

// usageMax is BM_MAX_USAGE_COUNT in PostgreSQL 15's buf_internals.h: a buffer survives one pass of
// the clock sweep per use, up to five.
const usageMax = 5

// A buffer holds a page.
type buffer struct {
	ready  vtime.Instant // when its page has been read in
	lsn    int64         // the log must be durable up to here before the page is written
	page   pageID
	pins   uint16
	usage  uint8
	dirty  bool
	marked bool // to be written by the checkpoint in progress
}

// buffers is the page cache of the server: an array of buffers, a hash table from page to buffer,
// and the hand of the clock sweep.
type buffers struct {
	all   []buffer
	used  int     // buffers beyond this have never been used and are taken first
	table []entry // open addressing
	shift uint
	swept uint64 // total number of buffers the hand has passed
	dirty int    // dirty buffers
}

// An entry names the buffer that holds a page: its number + 1, or 0 for none. The entry includes
// the page, so that a lookup touches no buffer.
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

// home returns a page's first slot in the table (Fibonacci hashing).
func (s *buffers) home(p pageID) uint32 { return (uint32(p) * 2654435769) >> s.shift }

// find returns the buffer that holds a page, -1 if none does.
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

// assign makes a clean, unpinned buffer hold another page. held is true if it holds one now.
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

// forget removes a page from the table.
func (s *buffers) forget(p pageID) {
	mask := uint32(len(s.table) - 1)
	i := s.home(p)
	for s.table[i].page != p {
		i = (i + 1) & mask
	}

	// Move later entries of the same run up if their first slot is at or before the gap. Leaving
	// the gap would end lookups of them too early.
	for j := (i + 1) & mask; s.table[j].buffer != 0; j = (j + 1) & mask {
		if home := s.home(s.table[j].page); (j-home)&mask >= (j-i)&mask {
			s.table[i] = s.table[j]
			i = j
		}
	}

	s.table[i] = entry{}
}

// victim finds a buffer for another page: one never used, or the first with a usage count of 0 that
// the hand finds. The hand lowers the count of each buffer it passes, and skips pages whose log is
// not durable yet. held is true if the buffer holds a page, which may be dirty. It is not ok if
// every buffer is taken.
func (s *buffers) victim(now vtime.Instant, durable int64) (b int32, held, ok bool) {
	if s.used < len(s.all) {
		s.used++
		return int32(s.used - 1), false, true
	}

	// After usageMax+1 rounds every count has reached 0, so a further round would find nothing new.
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

// change marks a buffer dirty, with a change logged up to lsn.
func (s *buffers) change(b int32, lsn int64) {
	f := &s.all[b]
	f.lsn = lsn
	if !f.dirty {
		f.dirty = true
		s.dirty++
	}
}

// clean marks a buffer clean: its page was written to the kernel's page cache.
func (s *buffers) clean(b int32) {
	f := &s.all[b]
	if f.dirty {
		f.dirty = false
		s.dirty--
	}
	f.marked = false
}

// fill loads the pages that a server has cached after running for a while: first the index, whose
// pages are used more often, then the table evenly, until the buffers are full.
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
