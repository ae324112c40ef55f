package model

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
)

// Sizes of log records including headers, aligned to 8 B (computed from PostgreSQL 15's structures:
// xlogrecord.h, heapam_xlog.h, nbtxlog.h, xact.h). An update within a page logs the difference
// between the versions; an update into another page logs the row. An image adds its header.
const (
	recordHotUpdate  = 72
	recordUpdate     = 64 // plus the row
	recordInsert     = 40 // plus the row
	recordIndex      = 64
	recordCommit     = 40
	recordCheckpoint = 120
	imageHeader      = 8
)

// wal is the log. Positions are bytes since the start.
type wal struct {
	file *kernel.File
	// ring is how much of the file is written before writing starts over. It is at least the size
	// of the buffers, so that nothing is overwritten before it is durable. It is no larger because
	// a record's place on the volume does not matter, and a short file is faster to search for
	// dirty pages.
	ring     int64
	buffers  int64
	inserted int64
	written  int64 // written to the page cache
	durable  int64

	busy      bool          // a flush is in progress, or in its commit_delay
	target    int64         // the position up to which it makes the log durable
	began     vtime.Instant // when it started
	submitted vtime.Instant // when its fdatasync was called
	waiting   []int32       // transactions waiting for the next flush
	served    []int32       // transactions served by the current flush
	room      []int32       // transactions waiting for room in the buffers
	victims   []int32       // transactions waiting for a buffer whose page may be written
}

// log appends a record about a page. The first change after a checkpoint begins adds an image of
// the page: its used bytes, without the hole between pointers and rows.
func (e *Engine) log(p pageID, record, used int64) {
	e.n.walRecords++
	t := &e.tables[p.relation()]
	if e.cfg.FullPageWrites && !t.imaged.has(p.block()) {
		t.imaged.set(p.block())
		record += imageHeader + min(used, int64(PageSize))
		e.n.walImages++
	}
	e.insertLog(record)
}

func (e *Engine) insertLog(n int64) {
	w := &e.wal
	before := w.inserted / int64(WALSegment)
	w.inserted += n
	e.n.walBytes += n
	if w.inserted/int64(WALSegment) != before {
		e.countSegments()
		e.checkpointIfFull()
	}
}

// logFits reports whether the buffers have room for n more bytes. If not, it first writes the
// oldest to the page cache, unless a flush holds the lock for that.
func (e *Engine) logFits(n int64) bool {
	w := &e.wal
	if w.inserted+n-w.written <= w.buffers || w.inserted == w.written {
		return true
	}
	e.n.walBuffersFull++
	if w.busy {
		return false
	}
	if e.missesSegment() { // a flush creates the segment, after which there is room
		e.flushLog(e.clock.Now())
		return false
	}
	e.writeLog()
	return true
}

// writeLog writes the logged bytes to the page cache: whole pages, the last one partly filled.
func (e *Engine) writeLog() (resume vtime.Instant) {
	w := &e.wal
	page := int64(PageSize)
	from, to := w.written/page*page, (w.inserted+page-1)/page*page
	w.written = w.inserted
	e.n.walWrites++
	for from < to {
		at := from % w.ring
		n := min(to-from, w.ring-at)
		resume = max(resume, w.file.Write(units.Size(at), units.Size(n)))
		from += n
	}
	return resume
}

// flushLog starts a flush unless one is in progress: immediately, or after commit_delay if at least
// commit_siblings other transactions are active.
func (e *Engine) flushLog(now vtime.Instant) {
	if e.wal.busy {
		return
	}
	e.wal.busy = true
	if e.cfg.CommitDelay > 0 && e.active > e.cfg.CommitSiblings {
		e.clock.After(e.cfg.CommitDelay.Std(), e, evFlush)
		return
	}
	e.beginFlush(now)
}

func (e *Engine) beginFlush(now vtime.Instant) {
	w := &e.wal

	// The flush continues in segmentMade, and every commit waits until then.
	if e.missesSegment() {
		e.segments.awaited = true
		e.makeSegment(now)
		return
	}

	w.served, w.waiting = w.waiting, w.served[:0]
	w.began, w.target = now, w.inserted
	if resume := e.writeLog(); resume > now {
		e.clock.At(resume, e, evLogWritten)
		return
	}

	e.syncLog(now)
}

func (e *Engine) syncLog(now vtime.Instant) {
	e.wal.submitted = now
	e.n.walSyncs++
	e.wal.file.Sync(e, evLogSynced)
}

// logSynced acknowledges the transactions that the flush served, then starts a flush for those that
// arrived during it.
func (e *Engine) logSynced(now vtime.Instant) {
	w := &e.wal
	w.durable = w.target
	w.busy = false

	stats := w.file.LastSync()
	for _, i := range w.served {
		e.ops[i].shareSync(now, w, &stats)
		e.acknowledge(now, i)
	}

	// The flush made room in the WAL buffers for changes that waited for it.
	room := w.room
	w.room = nil
	for _, i := range room {
		e.ops[i].waited(now)
		e.change(now, i)
	}

	// A dirty page may be evicted only after its WAL is durable.
	victims := w.victims
	w.victims = nil
	for _, i := range victims {
		e.execute(now, i)
	}

	if e.checkpoint.needsLog {
		e.checkpoint.needsLog = false
		e.checkpointStep(now)
	}

	// Transactions that arrived during the sync share the next one.
	if len(e.wal.waiting) > 0 || e.checkpoint.needsLog {
		e.flushLog(now)
	}
}

// shareSync splits a transaction's wait for the log: the time until its flush started, the time the
// kernel throttled the write, and the fdatasync by what the volume was doing.
func (o *op) shareSync(now vtime.Instant, w *wal, s *kernel.SyncStats) {
	o.waits[database.WaitLogTurn] += int64(max(0, w.began.Sub(o.since)))
	o.waits[database.WaitThrottle] += int64(w.submitted.Sub(max(w.began, o.since)))
	// The parts of the sync are capped, so that they never add up to more than the wait.
	left := now.Sub(w.submitted)
	for _, part := range [...]struct {
		wait database.Wait
		took units.Duration
	}{{database.WaitLogQueue, s.Queue}, {database.WaitLogLimit, s.Limit}, {database.WaitLogDevice, s.Device}} {
		d := min(max(part.took.Std(), 0), left)
		o.waits[part.wait] += int64(d)
		left -= d
	}
}

// walWriter flushes log that no commit waits for, every wal_writer_delay. With synchronous_commit
// off, commits become durable this way.
func (e *Engine) walWriter(now vtime.Instant) {
	if e.wal.inserted > e.wal.durable {
		e.flushLog(now)
	}
	e.clock.After(time.Duration(e.cfg.WALWriterDelay), e, evWALWriter)
}
