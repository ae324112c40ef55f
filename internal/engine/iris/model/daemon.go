package model

import (
	"math"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/volume"
)

// cyclesMax limits the cycles that are remembered: three months at the default interval. Beyond
// that, the older half is dropped.
const cyclesMax = 1 << 17

// A daemon is the write daemon.
type daemon struct {
	wij        extent
	phase      int    // as printed by mgstat
	generation uint64 // of its timer; events of older generations are ignored

	list        []uint32 // the blocks of this cycle
	spare       []uint32
	next        int // index of the first block not yet submitted
	inFlight    int
	wijLeft     units.Size
	wijAt       units.Size // offset in the WIJ
	pausedUntil vtime.Instant

	began, ended  vtime.Instant // of the cycle
	wijBegan      vtime.Instant
	journalAsked  vtime.Instant
	databaseBegan vtime.Instant

	cycles []database.Cycle
	last   cycleTimes
}

// cycleTimes describes the cycle that ended last, in milliseconds and blocks; NaN before the first.
type cycleTimes struct {
	cycle, sleep, wij, database, queued, written float64
}

func (t *cycleTimes) none() {
	n := math.NaN()
	*t = cycleTimes{n, n, n, n, n, n}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// wakeDaemon starts a cycle early because too many buffers are dirty.
func (x *Instance) wakeDaemon(now vtime.Instant) {
	if x.daemon.phase == 0 {
		x.startCycle(now, true)
	}
}

func (x *Instance) cycleDue(now vtime.Instant, generation uint64) {
	switch d := &x.daemon; {
	case d.phase != 0 || generation != d.generation:
	case len(x.buffers.dirty) == 0:
		x.clock.After(x.cfg.Cycle.Std(), x, event(cycleDue, generation)) // nothing to write: it goes back to sleep
	default:
		x.startCycle(now, false)
	}
}

// startCycle collects the blocks that are dirty now, while updates pause briefly.
func (x *Instance) startCycle(now vtime.Instant, early bool) {
	d := &x.daemon
	d.generation++
	d.began, d.phase = now, 2
	d.last.sleep = milliseconds(now.Sub(d.ended))
	d.pausedUntil = now.Add(x.cfg.Pause.Std())
	d.list = x.buffers.take(d.spare)
	d.next, d.inFlight = 0, 0
	bytes := int64(len(d.list)) * int64(BlockSize)

	if len(d.cycles) >= cyclesMax {
		d.cycles = append(d.cycles[:0], d.cycles[cyclesMax/2:]...)
	}

	// Each block is written twice, to the WIJ and to its database.
	d.cycles = append(d.cycles, database.Cycle{Start: now, End: vtime.Never, Dirty: bytes, Written: 2 * bytes,
		Requested: early})
	x.clock.At(d.pausedUntil, x, event(paused, 0))
}

// writeWIJ is phase 5: the blocks are written to the WIJ sequentially.
func (x *Instance) writeWIJ(now vtime.Instant) {
	d := &x.daemon
	d.phase, d.wijBegan = 5, now
	d.wijLeft, d.wijAt = units.Size(len(d.list))*BlockSize, BlockSize // after its header
	if d.wijLeft == 0 {
		x.header(wijMarked)
		return
	}
	for range x.cfg.WIJWrites {
		x.nextWIJ()
	}
}

// nextWIJ submits a write to the WIJ.
func (x *Instance) nextWIJ() {
	d := &x.daemon
	n := min(d.wijLeft, x.cfg.WIJRequest)
	if n == 0 {
		return
	}
	c := d.wij.device.Do(volume.Request{Op: volume.Write, Offset: d.wij.start + d.wijAt, Length: n})
	d.wijAt += n
	d.wijLeft -= n
	d.inFlight++
	x.count().wijWrites++
	x.clock.At(c.Done, x, event(wijWritten, 0))
}

func (x *Instance) wijWritten(vtime.Instant) {
	x.daemon.inFlight--
	x.nextWIJ()
	if x.daemon.inFlight == 0 {
		x.header(wijMarked)
	}
}

// header writes the WIJ's header: the mark that makes it valid once all of it is durable, or that it is
// no longer needed because the databases have everything.
func (x *Instance) header(then what) {
	w := x.daemon.wij
	c := w.device.Do(volume.Request{Op: volume.Write, Offset: w.start, Length: BlockSize})
	x.count().wijWrites++
	x.clock.At(c.Done, x, event(then, 0))
}

// wijMarked is phase 6: it syncs the journal.
func (x *Instance) wijMarked(now vtime.Instant) {
	d := &x.daemon
	d.phase = 6
	d.last.wij = milliseconds(now.Sub(d.wijBegan))
	d.journalAsked, x.journal.forDaemon = now, true
	x.syncJournal(now)
}

// writeDatabases is phase 8: the same blocks are written to their databases.
func (x *Instance) writeDatabases(now vtime.Instant) {
	d := &x.daemon
	d.phase, d.databaseBegan = 8, now
	if len(d.list) == 0 {
		x.header(wijCleared)
		return
	}
	for range min(x.cfg.Writes, len(d.list)) {
		x.nextBlock()
	}
}

func (x *Instance) nextBlock() {
	d := &x.daemon
	if d.next%nearBlocks == 0 {
		x.buffers.near(d.list[d.next:min(d.next+nearBlocks, len(d.list))])
	}
	block := d.list[d.next]
	d.next++
	d.inFlight++
	x.count().writes++
	c := x.data.device.Do(volume.Request{Op: volume.Write, Offset: x.data.start + units.Size(block)*BlockSize,
		Length: BlockSize})
	x.clock.At(c.Done, x, event(dbWritten, uint64(block)))
}

func (x *Instance) dbWritten(now vtime.Instant, block uint32) {
	d := &x.daemon
	d.inFlight--
	x.buffers.written(block)
	if d.next < len(d.list) {
		x.nextBlock()
	} else if d.inFlight == 0 {
		x.header(wijCleared)
	}
	x.feed(now)
}

// endCycle lets the daemon sleep until its next start, unless that is already due.
func (x *Instance) endCycle(now vtime.Instant) {
	d := &x.daemon
	d.phase, d.ended = 0, now
	d.cycles[len(d.cycles)-1].End = now
	d.last.cycle = milliseconds(now.Sub(d.began))
	d.last.database = milliseconds(now.Sub(d.databaseBegan))
	d.last.queued, d.last.written = float64(len(d.list)), float64(len(d.list))
	d.spare = d.list
	if x.starved.Len() > 0 || len(x.buffers.dirty) >= x.wake {
		x.startCycle(now, true)
		return
	}
	x.clock.At(d.began.Add(x.cfg.Cycle.Std()), x, event(cycleDue, d.generation))
}
