package model

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
)

// A journal is the log: a buffer, and one fdatasync at a time for all waiting writers.
type journal struct {
	e        *Engine
	file     *kernel.File // nil if there is none
	off      units.Size
	buffered units.Size // in the buffer
	waiting  []*pending
	syncing  []*pending
	busy     bool // a sync is in progress or about to begin
	began    vtime.Instant
}

func (j *journal) start(e *Engine, d *kernel.Device) {
	j.e = e
	if !Enabled(e.cfg.Journal) {
		return
	}
	j.file = e.env.Host.Create("WiredTigerLog", d, 2*e.cfg.LogFile)
	if !Enabled(e.cfg.JournalEach) {
		e.env.Clock.After(e.cfg.JournalInterval.Std(), j, 0)
	}
}

// add queues a write for the log's sync, or acknowledges it if writes do not wait.
func (j *journal) add(p *pending) {
	if j.file == nil || !Enabled(j.e.cfg.JournalEach) {
		j.e.acknowledge(p)
		return
	}
	j.waiting = append(j.waiting, p)
	j.next()
}

// next schedules a sync for when the first waiting writer is ready.
func (j *journal) next() {
	if j.busy || len(j.waiting) == 0 {
		return
	}
	j.busy = true
	j.e.env.Clock.At(j.waiting[0].ready, j, 0)
}

// Fire begins a sync for all writers that are ready.
func (j *journal) Fire(now vtime.Instant, prepared uint64) {
	if !Enabled(j.e.cfg.JournalEach) && j.buffered == 0 {
		j.e.env.Clock.After(j.e.cfg.JournalInterval.Std(), j, 0)
		return
	}

	// In a server, the flusher's own work precedes the sync.
	if j.e.oplog != nil && prepared == 0 {
		_, done := j.e.env.Host.CPU(now, j.e.cfg.CPU.Round.Std())
		j.e.env.Clock.At(done, j, 1)
		return
	}

	n := 0
	for n < len(j.waiting) && j.waiting[n].ready <= now {
		n++
	}

	if n == len(j.waiting) { // the usual case
		j.syncing, j.waiting = j.waiting, j.syncing[:0]
	} else {
		j.syncing = append(j.syncing[:0], j.waiting[:n]...)
		j.waiting = j.waiting[:copy(j.waiting, j.waiting[n:])]
	}

	// A record that is not ready may be synced too, because there is one buffer. Records are padded
	// to 128 bytes.
	bytes := (j.buffered + 127) / 128 * 128
	if j.e.oplog != nil {
		bytes += truncatePoint
	}

	j.buffered = 0
	if j.off += bytes; j.off > j.e.cfg.LogFile {
		j.off = bytes
		j.file.Rewind(0)
	}

	j.file.Append(bytes)
	j.e.c.logBytes += int64(bytes)
	j.began = now
	j.file.Sync((*logSynced)(j), 0)
}

// logSynced is the journal as the event handler for a completed sync.
type logSynced journal

// Fire acknowledges the writers that the sync covered, and continues with those that arrived in the
// meantime.
func (l *logSynced) Fire(now vtime.Instant, _ uint64) {
	j := (*journal)(l)
	e := j.e
	s := j.file.LastSync()
	e.c.syncs++
	e.c.syncTime += int64(now.Sub(j.began))

	for _, p := range j.syncing {
		p.waits[database.WaitLogTurn] = int64(max(j.began.Sub(p.ready), 0))
		p.waits[database.WaitLogQueue] = int64(s.Queue)
		p.waits[database.WaitLogLimit] = int64(s.Limit)
		p.waits[database.WaitLogDevice] = int64(s.Device)
		p.ready = now

		if e.oplog != nil {
			_, p.ready = e.env.Host.CPU(now, e.serverWork(e.cfg.CPU.Reply))
			p.waits[database.WaitCPU] += int64(p.ready.Sub(now))
			e.acknowledge(p)
			continue
		}

		e.finish(p)
	}

	j.syncing = j.syncing[:0]
	j.busy = false
	if !Enabled(e.cfg.JournalEach) {
		e.env.Clock.After(max(e.cfg.JournalInterval.Std()-now.Sub(j.began), time.Microsecond), j, 0)
		return
	}

	j.next()
}
