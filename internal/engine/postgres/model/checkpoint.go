package model

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
)

const (
	// checkpointNap is how long the checkpointer sleeps when it is ahead of schedule (PostgreSQL 15
	// source, CheckpointWriteDelay).
	checkpointNap = 100 * time.Millisecond
	// pageWriteCPU is the CPU time to write a page into the page cache: 49,616 pages in 0.54 s,
	// 51,984 in 0.54 s (measured, examples/postgres-checkpoint).
	pageWriteCPU = 10 * time.Microsecond
	// checkpointBatch is how many pages one event writes if the checkpoint is not paced.
	checkpointBatch = 16
)

type checkpointPhase uint8

const (
	idle checkpointPhase = iota
	writing
	syncing
	finishing
)

// checkpointer writes the pages that were dirty when a checkpoint began, then syncs the files.
type checkpointer struct {
	phase     checkpointPhase
	gen       uint64 // the valid timer; earlier ones are ignored
	started   vtime.Instant
	redo      int64 // where recovery would begin: the log's position at the start
	kept      int64 // the previous redo position: the log from there on is kept
	end       int64 // the end of its record
	unneeded  int64 // checkpoints skipped because nothing had changed
	again     bool  // another one was requested during this one
	pages     []pageID
	next      int
	skipped   int64 // pages that others had already written or evicted
	needsLog  bool  // waits for the log up to lsn
	lsn       int64
	syncFrom  vtime.Instant
	relation  int // the file being synced
	segment   int
	out       flusher
	control   *kernel.File
	segments  int64         // log segments that trigger a checkpoint
	writtenAt vtime.Instant // when the write phase ended
}

func (e *Engine) startCheckpointer() {
	c := &e.checkpoint
	c.segments = e.cfg.checkpointSegments()
	c.out = flusher{after: flushPages(e.cfg.CheckpointFlushAfter)}
	c.control = e.host.Create("global/pg_control", e.data, PageSize)
	c.control.SetPrewritten(true)
	e.scheduleCheckpoint()
}

// scheduleCheckpoint sets the timer: checkpoint_timeout after the last one's start.
func (e *Engine) scheduleCheckpoint() {
	c := &e.checkpoint
	c.gen++
	e.clock.At(c.started.Add(e.cfg.CheckpointTimeout.Std()), e, evCheckpointDue|c.gen<<eventBits)
}

func (e *Engine) checkpointDue(now vtime.Instant, gen uint64) {
	c := &e.checkpoint
	switch {
	case gen != c.gen || c.phase != idle:
	case e.wal.inserted == c.end: // nothing was logged since: PostgreSQL counts it and skips it
		c.started = now
		c.unneeded++
		e.n.checkpointsTimed++
		e.scheduleCheckpoint()
	default:
		e.beginCheckpoint(now, false)
	}
}

// checkpointIfFull requests a checkpoint if the log since the last one has reached its limit.
// XLogWrite passes XLogCheckpointNeeded the segment it has just finished, not the one it begins
// (PostgreSQL 15's xlog.c).
func (e *Engine) checkpointIfFull() {
	c := &e.checkpoint
	if finished := e.wal.inserted/int64(WALSegment) - 1; finished < c.redo/int64(WALSegment)+c.segments-1 {
		return
	}
	if c.phase != idle {
		c.again = true
		return
	}
	e.beginCheckpoint(e.clock.Now(), true)
}

func (e *Engine) beginCheckpoint(now vtime.Instant, requested bool) {
	c := &e.checkpoint
	c.phase, c.started, c.again = writing, now, false
	c.kept, c.redo = c.redo, e.wal.inserted
	c.pages, c.next, c.skipped = c.pages[:0], 0, 0
	e.scheduleCheckpoint()

	if requested {
		e.n.checkpointsRequested++
	} else {
		e.n.checkpointsTimed++
	}

	// From now on the first change to each page logs a full-page image again.
	for r := range e.tables {
		clear(e.tables[r].imaged)
	}

	for b := range e.buffers.all {
		if f := &e.buffers.all[b]; f.dirty {
			f.marked = true
			c.pages = append(c.pages, f.page)
		}
	}

	// BufferSync writes in the order of files and blocks.
	slices.Sort(c.pages)
	e.cycles = append(e.cycles, database.Cycle{
		Start: now, End: vtime.Never, Dirty: int64(len(c.pages)) * int64(PageSize), Requested: requested,
	})
	e.clock.At(now, e, evCheckpointStep)
}

// checkpointStep continues a checkpoint.
func (e *Engine) checkpointStep(now vtime.Instant) {
	switch c := &e.checkpoint; c.phase {
	case writing:
		e.writePages(now)
	case finishing:
		if e.wal.durable < c.lsn {
			e.awaitLog(now)
			return
		}
		c.control.Write(0, PageSize)
		c.control.Sync(e, evControlSynced)
	}
}

// awaitLog makes the log durable up to lsn; after that checkpointStep runs again.
func (e *Engine) awaitLog(now vtime.Instant) {
	e.checkpoint.needsLog = true
	e.flushLog(now)
}

// writePages writes pages until the checkpoint is ahead of schedule, or a batch if it is not paced.
func (e *Engine) writePages(now vtime.Instant) {
	checkpointer := &e.checkpoint
	cycle := &e.cycles[len(e.cycles)-1]
	for batch := 0; checkpointer.next < len(checkpointer.pages); {
		p := checkpointer.pages[checkpointer.next]
		b := e.buffers.find(p)
		if b == none || !e.buffers.all[b].marked {
			checkpointer.next++
			checkpointer.skipped++
			if e.onSchedule(now) { // BufferSync calls CheckpointWriteDelay for these, too
				e.clock.At(now.Add(checkpointNap), e, evCheckpointStep)
				return
			}
			continue
		}

		// Write-ahead: the log of a page must be durable before the page is written.
		if checkpointer.lsn = e.buffers.all[b].lsn; checkpointer.lsn > e.wal.durable {
			e.awaitLog(now)
			return
		}

		resume := e.write(p)
		e.buffers.clean(b)
		checkpointer.out.add(e, p)
		checkpointer.next++
		batch++
		e.n.buffersCheckpoint++
		cycle.Written += int64(PageSize)

		if e.onSchedule(now) {
			e.clock.At(max(resume, now.Add(checkpointNap)), e, evCheckpointStep)
			return
		}

		// The batch's CPU time is charged here; the kernel's throttle may take longer.
		if batch == checkpointBatch || resume > now {
			_, done := e.host.CPU(now, time.Duration(batch)*pageWriteCPU)
			e.clock.At(max(resume, done), e, evCheckpointStep)
			return
		}
	}

	checkpointer.out.flush(e)
	checkpointer.phase, checkpointer.syncFrom = syncing, now
	checkpointer.relation, checkpointer.segment = 0, 0
	e.syncNextFile(now)
}

// onSchedule reports whether the checkpoint is on schedule, measured both by time and by log
// (PostgreSQL 15 source, IsCheckpointOnSchedule).
func (e *Engine) onSchedule(now vtime.Instant) bool {
	c := &e.checkpoint
	progress := float64(c.next) / float64(len(c.pages)) * float64(e.cfg.CheckpointCompletionTarget)
	log := float64(e.wal.inserted-c.redo) / float64(WALSegment) / float64(c.segments)
	elapsed := float64(now.Sub(c.started)) / float64(e.cfg.CheckpointTimeout)
	return progress >= log && progress >= elapsed
}

// syncNextFile syncs the files written since their last sync, one after another. Then it logs the
// checkpoint's record.
func (e *Engine) syncNextFile(now vtime.Instant) {
	c := &e.checkpoint
	for ; c.relation < relations; c.relation, c.segment = c.relation+1, 0 {
		files := e.tables[c.relation].files
		for c.segment < len(files) {
			f := &files[c.segment]
			c.segment++
			if f.unsynced {
				f.unsynced = false
				f.Sync(e, evFileSynced)
				return
			}
		}
	}

	c.writtenAt, c.phase = now, finishing
	e.n.walRecords++
	e.insertLog(recordCheckpoint)
	c.lsn, c.end = e.wal.inserted, e.wal.inserted
	e.checkpointStep(now)
}

// checkpointDone credits the times of a checkpoint. PostgreSQL does so at its end, in whole
// milliseconds.
func (e *Engine) checkpointDone(now vtime.Instant) {
	c := &e.checkpoint
	e.n.checkpointWriteMs += math.Floor(float64(c.syncFrom.Sub(c.started)) / 1e6)
	e.n.checkpointSyncMs += math.Floor(float64(c.writtenAt.Sub(c.syncFrom)) / 1e6)
	e.cycles[len(e.cycles)-1].End = now
	c.phase = idle
	e.recycle(now)
	switch {
	case c.again:
		e.beginCheckpoint(now, true)
	case now.Sub(c.started) >= e.cfg.CheckpointTimeout.Std():
		e.beginCheckpoint(now, false)
	}
}
