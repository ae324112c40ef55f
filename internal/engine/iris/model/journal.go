package model

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/volume"
)

// A journal gathers records in memory and writes them sequentially.
type journal struct {
	at        extent
	end       units.Size // written so far
	buffered  units.Size
	running   bool
	again     bool // another sync was requested while one ran
	scheduled bool
	began     vtime.Instant
	queued    time.Duration // of the sync in progress, before its last write was issued
	limit     volume.Limit
	waiting   database.Queue // updates whose records are buffered
	syncing   database.Queue // updates whose records are being written
	forDaemon bool           // phase 6 waits for the next or current sync
}

// journalFile is where the journal starts over on the device (1 GB, the default size of a journal
// file).
const journalFile = units.GiB

// journalAlign is the unit that writes of the journal are rounded up to.
const journalAlign = 4 * units.KiB

// append buffers a record.
func (x *Instance) append(now vtime.Instant, n units.Size) {
	j := &x.journal
	j.buffered += n
	if j.buffered >= x.cfg.JournalBuffer {
		x.syncJournal(now)
	}
	if !j.scheduled {
		j.scheduled = true
		x.clock.At(now.Add(x.cfg.JournalInterval.Std()), x, event(journalDue, 0))
	}
}

func (x *Instance) journalDue(now vtime.Instant) {
	x.journal.scheduled = false
	if x.journal.buffered > 0 {
		x.syncJournal(now)
	}
}

// syncJournal writes the buffered records, or requests another sync if one is in progress.
func (x *Instance) syncJournal(now vtime.Instant) {
	j := &x.journal
	if j.running {
		j.again = true
		return
	}

	j.running, j.again, j.began = true, false, now
	// The two lists swap their arrays, so that no sync allocates.
	j.syncing, j.waiting = j.waiting, j.syncing

	for i := range j.syncing.All(&x.slots) {
		x.slots.At(i).Spend(now, database.WaitLogTurn)
	}

	left := (j.buffered + journalAlign - 1) / journalAlign * journalAlign
	j.buffered = 0

	at, issued := now, now
	for left > 0 {
		// The end of the journal file: the next one reuses its blocks.
		n := min(left, x.host.Config().MaxRequest)
		if j.end+n > journalFile {
			j.end = 0
		}
		c := j.at.device.Do(volume.Request{Op: volume.Write, Offset: j.at.start + j.end, Length: n})
		j.end += n
		left -= n
		at, issued, j.limit = max(at, c.Done), max(issued, c.Issued), c.Held
	}

	j.queued = issued.Sub(now)
	x.clock.At(at, x, event(journaled, 0))
}

// journaled acknowledges the updates whose records are durable.
func (x *Instance) journaled(now vtime.Instant) {
	j := &x.journal
	queued := min(int64(j.queued), int64(now.Sub(j.began)))
	held := database.WaitLogLimit

	if j.at.shared || j.limit == volume.Slots {
		held = database.WaitLogQueue
	}

	// A sync that began before the daemon's request may miss records of its cycle.
	forDaemon := j.forDaemon && x.daemon.journalAsked <= j.began
	j.running = false

	for j.syncing.Len() > 0 {
		i := j.syncing.Pop(&x.slots)
		s := x.slots.At(i)
		s.Waits[held] += queued
		s.Waits[database.WaitLogDevice] += int64(now-s.Mark) - queued
		s.Mark = now
		x.acknowledge(now, i)
	}

	if forDaemon {
		j.forDaemon = false
		x.writeDatabases(now)
	}

	if j.again {
		x.syncJournal(now)
	}
}
