package model

import (
	"slices"
	"strconv"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
)

// A relation is a table or an index.
type relation uint32

const (
	heap relation = iota // the table
	index
	history
	relations = 3
)

// A pageID identifies a page: the relation in the top two bits, the block below. Its order is the
// order in which a checkpoint writes: by relation, then block.
type pageID uint32

const (
	blockBits = 30
	blocksMax = 1 << blockBits
)

func (r relation) page(block int64) pageID { return pageID(uint32(r)<<blockBits | uint32(block)) }
func (p pageID) relation() relation        { return relation(p >> blockBits) }
func (p pageID) block() int64              { return int64(p & (blocksMax - 1)) }

// A file is a segment of 1 GiB of a relation.
type file struct {
	*kernel.File
	unsynced bool // written since its last sync
}

// A table holds the state of a relation's pages; their contents are not modelled.
type table struct {
	name    string
	files   []file
	pages   int64  // number of blocks
	rows    int64  // rows in its last page, which takes new ones
	perPage int64  // rows that a new page takes
	imaged  bitmap // pages logged in full since the checkpoint began
	roomy   bitmap // pages with room for another row version
	base    units.Size
}

// bitmap has one bit per page. Pages beyond its end are 0.
type bitmap []uint64

func (b bitmap) has(i int64) bool {
	w := i / 64
	return w < int64(len(b)) && b[w]&(1<<(i%64)) != 0
}

func (b *bitmap) set(i int64) {
	w := i / 64
	if w >= int64(len(*b)) {
		*b = append(*b, make([]uint64, w+1-int64(len(*b)))...)
	}
	(*b)[w] |= 1 << (i % 64)
}

// layTables creates the files that exist at the start, one after the other on the volume.
func (e *Engine) layTables() {
	names := [relations]string{"pgbench_accounts", "pgbench_accounts_pkey", "pgbench_history"}
	e.rowsPerPage = e.cfg.rowsPerPage()
	e.tables[heap].pages = (e.cfg.Rows + e.rowsPerPage - 1) / e.rowsPerPage
	e.tables[index].pages = (e.cfg.Rows + leafEntries - 1) / leafEntries
	e.tables[heap].perPage, e.tables[index].perPage = e.rowsPerPage, leafEntries

	if e.cfg.HistoryRow > 0 {
		e.tables[history].perPage = e.cfg.historyPerPage()
	}

	var base units.Size
	for r := range e.tables {
		t := &e.tables[r]
		t.name, t.base = names[r], base
		t.rows = t.perPage // the last page is full: the next row makes a new one
		base += units.Size(t.pages) * PageSize

		for at := int64(0); at < t.pages; at += pagesPerFile {
			e.addFile(t, units.Size(min(t.pages-at, pagesPerFile))*PageSize)
		}

		// With a lower fill factor every loaded page has room for updates.
		if r == int(heap) && e.cfg.FillFactor < 1 {
			for b := range t.pages {
				t.roomy.set(b)
			}
		}
	}
}

func (e *Engine) addFile(t *table, size units.Size) {
	name := t.name + "." + strconv.Itoa(len(t.files))
	t.files = append(t.files, file{File: e.host.Create(name, e.data, size)})
}

// write writes a page to the kernel's page cache; the writer may continue at resume.
func (e *Engine) write(p pageID) (resume vtime.Instant) {
	t := &e.tables[p.relation()]
	b := p.block()
	f := &t.files[b/pagesPerFile]
	f.unsynced = true
	return f.Write(units.Size(b%pagesPerFile)*PageSize, PageSize)
}

// place returns a page's offset on the volume, for reads.
func (e *Engine) place(p pageID) units.Size {
	return e.tables[p.relation()].base + units.Size(p.block())*PageSize
}

// grow adds a page at the end of a relation. It extends the file immediately, through the page
// cache, which counts as a backend write (PostgreSQL 15 source, mdextend and pg_stat_bgwriter).
func (e *Engine) grow(r relation) (p pageID, resume vtime.Instant) {
	t := &e.tables[r]
	p = r.page(t.pages)
	if t.pages/pagesPerFile >= int64(len(t.files)) {
		e.addFile(t, FileSegment)
	}
	t.pages++
	t.imaged.set(p.block()) // a new page is initialised by its log record and needs no image
	e.n.buffersBackend++
	return p, e.write(p)
}

// reserve returns the page for the next row of a growing relation, and whether that page is new.
func (e *Engine) reserve(r relation) (p pageID, isNew bool, resume vtime.Instant) {
	t := &e.tables[r]
	if t.rows < t.perPage {
		t.rows++
		return r.page(t.pages - 1), false, 0
	}
	t.rows = 1
	p, resume = e.grow(r)
	return p, true, resume
}

// flusher collects the pages that a process has written. Once there are enough, it asks the kernel
// to write them out, merging neighbours (PostgreSQL 15 source, IssuePendingWritebacks).
type flusher struct {
	pages []pageID
	after int // 0: never
}

func (f *flusher) add(e *Engine, p pageID) {
	if f.after == 0 {
		return
	}
	if f.pages = append(f.pages, p); len(f.pages) >= f.after {
		f.flush(e)
	}
}

func (f *flusher) flush(e *Engine) {
	slices.Sort(f.pages)
	for i := 0; i < len(f.pages); {
		first := f.pages[i]
		n := pageID(1)
		for i++; i < len(f.pages) && (f.pages[i] == first+n || f.pages[i] == first+n-1); i++ {
			n = f.pages[i] - first + 1
		}
		e.startWriting(first, int64(n))
	}
	f.pages = f.pages[:0]
}

// startWriting models sync_file_range over neighbouring pages, which may span two files.
func (e *Engine) startWriting(first pageID, n int64) {
	t := &e.tables[first.relation()]
	for b := first.block(); n > 0; {
		at := b % pagesPerFile
		here := min(n, pagesPerFile-at)
		t.files[b/pagesPerFile].WriteRange(units.Size(at)*PageSize, units.Size(here)*PageSize)
		b, n = b+here, n-here
	}
}
