package model

import (
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// none means no transaction and no buffer.
const none int32 = -1

// An op is a transaction in progress.
type op struct {
	op     workload.Op
	waits  database.Waits
	begun  vtime.Instant // Never: not in use
	since  vtime.Instant // start of the current wait
	on     database.Wait
	lsn    int64 // end of its commit record in the log
	next   int32 // in the free list
	pinned [pinsPerOp]int32
	leaf   int64 // block of the index leaf
	step   uint8
	steps  uint8
	plan   [pinsPerOp]step
	held   int32 // the buffer of the current step, until its page has been read
	unread bool  // the read has not started yet: the kernel throttles the transaction
}

// A step is one page that a transaction needs.
type step struct {
	page  pageID
	fresh bool // a new page: nothing to read
	dirty bool // the transaction changes it
}

func (o *op) wait(w database.Wait, now vtime.Instant) { o.on, o.since = w, now }

func (o *op) waited(now vtime.Instant) {
	o.waits[o.on] += int64(now.Sub(o.since))
	o.since = now
}

// execute continues a transaction: it pins its pages one after another, then changes them and
// commits.
func (e *Engine) execute(now vtime.Instant, i int32) {
	t := &e.ops[i]
	t.waited(now)
	if t.steps == 0 {
		if resume := e.planPages(t); resume > now {
			e.resumeAt(t, i, database.WaitThrottle, now, resume)
			return
		}
	}

	for t.step < t.steps {
		s := &t.plan[t.step]
		if t.held == none && !e.pin(now, t, i, s) {
			return
		}

		// Evicting a dirty page may have throttled it; only now does its own read start.
		f := &e.buffers.all[t.held]
		if t.unread && f.ready <= now {
			t.unread = false
			f.ready = e.read(now, s.page)
		}

		if f.ready > now {
			on := database.WaitRead
			if s.fresh || t.unread {
				on = database.WaitThrottle
			}
			e.resumeAt(t, i, on, now, f.ready)
			return
		}

		f.usage = min(f.usage+1, usageMax)
		t.pinned[t.step], t.held = t.held, none
		t.step++
	}

	e.change(now, i)
}

// pin finds a page's buffer or evicts one for it, and pins it until the transaction's log is
// written. It returns false if the transaction has to wait; it is then called again.
func (e *Engine) pin(now vtime.Instant, t *op, i int32, s *step) bool {
	b := e.buffers.find(s.page)
	if b != none {
		e.n.hits++
	} else if b = e.evict(now, t, i, s); b == none {
		return false
	}
	t.held = b
	e.buffers.all[b].pins++
	return true
}

func (e *Engine) resumeAt(t *op, i int32, w database.Wait, now, at vtime.Instant) {
	t.wait(w, now)
	e.clock.At(at, e, evExecute|uint64(i)<<eventBits)
}

// evict finds a buffer for a page, and writes the buffer's previous page if that is dirty. It
// returns none if the transaction has to wait until the log of the candidates is durable.
func (e *Engine) evict(now vtime.Instant, t *op, i int32, s *step) int32 {
	b, held, ok := e.buffers.victim(now, e.wal.durable)
	if !ok {
		// Some are pinned, the rest are dirty and wait for their log. Not all can be pinned: Check
		// requires more buffers than max_connections can pin.
		t.wait(database.WaitCache, now)
		e.wal.victims = append(e.wal.victims, i)
		e.flushLog(now)
		return none
	}

	e.n.allocated++
	resume := now
	if held && e.buffers.all[b].dirty {
		old := e.buffers.all[b].page
		resume = e.write(old)
		e.buffers.clean(b)
		e.backends.add(e, old)
		e.n.buffersBackend++
	}

	f := e.buffers.assign(b, s.page, held)
	switch {
	case s.fresh:
		f.ready = resume
	case resume > now: // throttled for dirtying too much: the read comes after
		e.n.reads++
		t.unread = true
		f.ready = resume
	default:
		e.n.reads++
		f.ready = e.read(now, s.page)
	}

	return b
}

// read reads a page from the kernel's page cache or the volume, and returns when the read
// completes.
func (e *Engine) read(now vtime.Instant, p pageID) vtime.Instant {
	if e.cached.Below(e.pageCacheOf) < e.pageCached {
		return now
	}
	return e.data.Do(volume.Request{Op: volume.Read, Offset: e.place(p), Length: PageSize}).Done
}

func keyOf(op *workload.Op) int64 { return int64(min(op.Key, 1<<62)) }

// block returns the table block that holds a row, or would hold it.
func (e *Engine) block(key int64) int64 { return key / e.rowsPerPage % e.tables[heap].pages }

// leaf returns the same for the index.
func (e *Engine) leaf(key int64) int64 { return key / leafEntries % e.tables[index].pages }

// planPages lists the pages a transaction needs. If it extends a file, the kernel may throttle it
// until resume.
func (e *Engine) planPages(operation *op) (resume vtime.Instant) {
	add := func(p pageID, fresh, dirty bool) {
		operation.plan[operation.steps] = step{p, fresh, dirty}
		operation.steps++
	}

	grown := func(r relation) {
		p, fresh, held := e.reserve(r)
		resume = max(resume, held)
		add(p, fresh, true)
	}

	key := keyOf(&operation.op)
	block := e.block(key)
	operation.leaf = e.leaf(key)

	if operation.op.Kind == workload.Insert {
		if key >= e.cfg.Rows { // ascending keys go to the last leaf
			grown(index)
		} else {
			add(index.page(operation.leaf), false, true)
		}
		grown(heap)
		return resume
	}

	// Without room in its page a row's new version goes elsewhere, so the index changes too.
	writes := operation.op.Kind.Writes()
	moves := writes && !e.tables[heap].roomy.has(block)
	add(index.page(operation.leaf), false, moves)
	add(heap.page(block), false, writes)

	if moves {
		e.tables[heap].roomy.set(block) // pruning the old version makes room
		grown(heap)
	}

	if writes && e.cfg.HistoryRow > 0 {
		grown(history)
	}

	return resume
}

// change logs a transaction's changes, marks its pages dirty, unpins them, and commits.
func (e *Engine) change(now vtime.Instant, i int32) {
	t := &e.ops[i]
	if !t.op.Kind.Writes() {
		e.unpin(t)
		e.acknowledge(now, i)
		return
	}

	// An upper bound: each page may need an image.
	if !e.logFits(recordCommit + int64(t.steps)*(int64(PageSize)+recordIndex)) {
		t.wait(database.WaitLogTurn, now)
		e.wal.room = append(e.wal.room, i)
		return
	}

	for k := range t.steps {
		s := &t.plan[k]
		if !s.dirty {
			continue
		}
		e.log(s.page, e.record(t, s), e.usedBytes(s.page))
		e.buffers.change(t.pinned[k], e.wal.inserted)
	}

	e.n.walRecords++
	e.insertLog(recordCommit)
	t.lsn = e.wal.inserted
	e.unpin(t)

	if !e.cfg.SynchronousCommit {
		e.acknowledge(now, i)
		return
	}

	t.wait(database.WaitLogTurn, now)
	e.wal.waiting = append(e.wal.waiting, i)
	e.flushLog(now)
}

func (e *Engine) unpin(t *op) {
	for _, b := range t.pinned[:t.steps] {
		e.buffers.all[b].pins--
	}
}

// record returns the size in bytes of the log record for a page of a transaction.
func (e *Engine) record(t *op, s *step) int64 {
	switch s.page.relation() {
	case index:
		return recordIndex
	case history:
		return recordInsert + int64(e.cfg.HistoryRow)
	}

	switch {
	case t.op.Kind == workload.Insert:
		return recordInsert + int64(e.cfg.Row)
	case s.page == t.plan[1].page && !t.plan[0].dirty:
		return recordHotUpdate
	case s.page == t.plan[1].page:
		return 0 // the record of the new version also covers the old version's page
	}

	return recordUpdate + int64(e.cfg.Row)
}

// usedBytes returns the size in bytes of a page's image.
func (e *Engine) usedBytes(p pageID) int64 {
	t := &e.tables[p.relation()]
	last := p.block() == t.pages-1
	switch p.relation() {
	case index:
		return pageHeader + leafSpecial + leafEntries*leafEntry
	case history:
		n := t.perPage
		if last {
			n = t.rows
		}
		return pageHeader + n*itemBytes(e.cfg.HistoryRow)
	}

	n := e.rowsPerPage
	if last {
		n = t.rows
	}

	return pageHeader + n*itemBytes(e.cfg.Row)
}
