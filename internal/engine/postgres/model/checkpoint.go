package model

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/engine"
	"plimsoll/internal/model/kernel"
)

const (
	// checkpointNap is how long the checkpointer sleeps when it is ahead of its schedule
	// (PostgreSQL 15 source, CheckpointWriteDelay).
	checkpointNap = 100 * time.Millisecond
	// pageWriteCPU is the CPU time to write a page into the page cache: 49,616 pages in 0.54 s,
	// 51,984 in 0.54 s (measured, examples/postgres-checkpoint).
	pageWriteCPU = 10 * time.Microsecond
	// checkpointBatch is how many pages one event writes where nothing is paced.
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
	gen       uint64 // which timer counts
	started   vtime.Instant
	redo      int64 // where recovery would begin: the log's position when it started
	kept      int64 // the redo position before: the log from there on is kept
	end       int64 // the end of its record
	unneeded  int64 // checkpoints left out because nothing had changed
	again     bool  // another was requested meanwhile
	pages     []pageID
	next      int
	skipped   int64 // pages somebody else had written, or evicted
	needsLog  bool  // waits for the log up to lsn
	lsn       int64
	syncFrom  vtime.Instant
	relation  int // the file being synced
	segment   int
	out       flusher
	control   *kernel.File
	segments  int64         // of log that request a checkpoint
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

// scheduleCheckpoint sets the timer: checkpoint_timeout from the last one's start.
func (e *Engine) scheduleCheckpoint() {
	c := &e.checkpoint
	c.gen++
	e.clock.At(c.started.Add(e.cfg.CheckpointTimeout.Std()), e, evCheckpointDue|c.gen<<eventBits)
}

func (e *Engine) checkpointDue(now vtime.Instant, gen uint64) {
	c := &e.checkpoint
	switch {
	case gen != c.gen || c.phase != idle:
	case e.wal.inserted == c.end: // nothing was logged since: it is counted and left out
		c.started = now
		c.unneeded++
		e.n.checkpointsTimed++
		e.scheduleCheckpoint()
	default:
		e.beginCheckpoint(now, false)
	}
}

// checkpointIfFull requests a checkpoint if the log since the last one has grown to its share.
// XLogWrite passes XLogCheckpointNeeded the segment that it has just finished, not the one it begins
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

	for r := range e.tables {
		clear(e.tables[r].imaged)
	}

	for b := range e.buffers.all {
		if f := &e.buffers.all[b]; f.dirty {
			f.marked = true
			c.pages = append(c.pages, f.page)
		}
	}

	slices.Sort(c.pages)
	e.cycles = append(e.cycles, engine.Cycle{
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

// awaitLog has the log made durable up to lsn; checkpointStep is called again then.
func (e *Engine) awaitLog(now vtime.Instant) {
	e.checkpoint.needsLog = true
	e.flushLog(now)
}

// writePages writes pages until it is ahead of its schedule, or a batch where it has none.
func (e *Engine) writePages(now vtime.Instant) {
	c := &e.checkpoint
	cycle := &e.cycles[len(e.cycles)-1]
	for n := 0; c.next < len(c.pages); {
		p := c.pages[c.next]
		b := e.buffers.find(p)
		if b == none || !e.buffers.all[b].marked {
			c.next++
			c.skipped++
			if e.onSchedule(now) { // BufferSync calls CheckpointWriteDelay for these, too
				e.clock.At(now.Add(checkpointNap), e, evCheckpointStep)
				return
			}
			continue
		}

		if c.lsn = e.buffers.all[b].lsn; c.lsn > e.wal.durable {
			e.awaitLog(now)
			return
		}

		resume := e.write(p)
		e.buffers.clean(b)
		c.out.add(e, p)
		c.next++
		n++
		e.n.buffersCheckpoint++
		cycle.Written += int64(PageSize)

		if e.onSchedule(now) {
			e.clock.At(max(resume, now.Add(checkpointNap)), e, evCheckpointStep)
			return
		}

		if n == checkpointBatch || resume > now {
			_, done := e.host.CPU(now, time.Duration(n)*pageWriteCPU)
			e.clock.At(max(resume, done), e, evCheckpointStep)
			return
		}
	}

	c.out.flush(e)
	c.phase, c.syncFrom = syncing, now
	c.relation, c.segment = 0, 0
	e.syncNextFile(now)
}

// onSchedule says whether the checkpoint is as far as it should be, against the time and against
// the log (PostgreSQL 15 source, IsCheckpointOnSchedule).
func (e *Engine) onSchedule(now vtime.Instant) bool {
	c := &e.checkpoint
	progress := float64(c.next) / float64(len(c.pages)) * float64(e.cfg.CheckpointCompletionTarget)
	log := float64(e.wal.inserted-c.redo) / float64(WALSegment) / float64(c.segments)
	elapsed := float64(now.Sub(c.started)) / float64(e.cfg.CheckpointTimeout)
	return progress >= log && progress >= elapsed
}

// syncNextFile syncs, one after another, the files written to since their last sync; then the
// checkpoint's record is logged.
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

// checkpointDone credits the times of a checkpoint, which PostgreSQL does when it ends, in whole
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
