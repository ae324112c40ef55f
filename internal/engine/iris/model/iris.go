package model

import (
	"errors"
	"fmt"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// An Instance is an instance of IRIS in virtual time.
type Instance struct {
	cfg    Config
	clock  *vtime.Clock
	parsed *vtime.Line // the ends of operations' CPU time
	host   *kernel.Host
	client database.Client

	data     extent
	buffers  buffers
	hold     int // number of unclean buffers that holds updates
	wake     int // number of dirty buffers that wakes the daemon
	slots    database.Slots
	starved  database.Queue // updates that wait for clean buffers
	feeding  bool           // the first of them is being retried
	journal  journal
	daemon   daemon
	counters counters
	window   window
}

// An extent is the location of a file on its device.
type extent struct {
	device *kernel.Device
	start  units.Size
	shared bool // with other data of the engine
}

// New makes an instance that has just started, with empty buffers.
func New(cfg Config, env *database.Env) (*Instance, error) {
	if l := cfg.Check(); len(l) > 0 {
		return nil, fmt.Errorf("iris: %w", l.Err())
	}

	data := env.Volume("data")
	if data == nil {
		return nil, errors.New(`iris: needs a volume named data for the databases`)
	}

	if env.Client == nil || env.Clock == nil || env.Host == nil {
		return nil, errors.New("iris: needs a clock, a host and a client")
	}

	instance := &Instance{cfg: cfg, clock: env.Clock, host: env.Host, client: env.Client}
	instance.parsed = env.Clock.Line(instance)
	wij, journal := env.Volume("wij", "data"), env.Volume("journal", "data")
	// Areas on one volume must not overlap, so each gets the space of the largest.
	size := max(cfg.Buffers, cfg.Database)
	instance.data = extent{data, 0, wij == data || journal == data}
	instance.daemon.wij = extent{device: wij, shared: wij == data || wij == journal}
	instance.journal.at = extent{device: journal, shared: journal == data || journal == wij}

	if wij == data {
		instance.daemon.wij.start = size
	}

	if journal == data || journal == wij {
		instance.journal.at.start = 2 * size
	}

	blocks := uint64(cfg.Database / BlockSize)
	// More buffers than blocks are never used.
	room := int(min(cfg.Buffers/BlockSize, units.Size(blocks)))
	instance.buffers.init(blocks, room)
	instance.hold = int(float64(room) * float64(cfg.HoldDirty))
	instance.wake = max(1, int(float64(room)*float64(cfg.WakeDirty)))
	instance.daemon.last.none()
	instance.clock.After(cfg.Cycle.Std(), instance, event(cycleDue, 0))

	return instance, nil
}

// A what is the kind of an event. An event's argument combines it with a slot, block or cycle.
type what uint8

const (
	parsed     what = iota // an operation has used its CPU time
	fetched                // a block was read
	resumed                // a pause of updates is over
	answered               // an update is done
	journalDue             // the journal's interval is over
	journaled              // its writes are done
	cycleDue               // the write daemon's interval is over
	paused                 // its pause of updates is over
	wijWritten             // a write to the WIJ is done
	wijMarked              // the WIJ is marked as valid
	dbWritten              // a block is written to a database
	wijCleared             // the WIJ is marked as no longer needed
)

func event(w what, n uint64) uint64 { return uint64(w)<<56 | n }

// Fire handles the instance's own events.
func (x *Instance) Fire(now vtime.Instant, arg uint64) {
	// An event packs its kind into the upper 8 bits and an argument into the others.
	n := arg & (1<<56 - 1)
	switch what(arg >> 56) {
	case parsed:
		x.work(now, uint32(n))
	case fetched:
		x.fetched(now, uint32(n))
	case resumed:
		x.slots.At(uint32(n)).Spend(now, database.WaitLock)
		x.update(now, uint32(n))
	case answered:
		x.acknowledge(now, uint32(n))
	case journalDue:
		x.journalDue(now)
	case journaled:
		x.journaled(now)
	case cycleDue:
		x.cycleDue(now, n)
	case paused:
		x.writeWIJ(now)
	case wijWritten:
		x.wijWritten(now)
	case wijMarked:
		x.wijMarked(now)
	case dbWritten:
		x.dbWritten(now, uint32(n))
	case wijCleared:
		x.endCycle(now)
	}
}

// Do starts an operation.
func (x *Instance) Do(op workload.Op) {
	now := x.clock.Now()
	slot := x.slots.Take(op, now)
	cost := x.cfg.CPU.Read
	if op.Kind.Writes() {
		cost = x.cfg.CPU.Update
	}
	_, done := x.host.CPU(now, cost.Std())
	x.parsed.At(done, event(parsed, uint64(slot)))
}

// block returns the block that an operation touches.
func (x *Instance) block(s *database.Slot) uint32 { return uint32(s.Op.Key % x.buffers.blocks) }

// work reads an operation's block unless it is in memory.
func (x *Instance) work(now vtime.Instant, i uint32) {
	s := x.slots.At(i)
	s.Spend(now, database.WaitCPU)
	x.count().references++
	block := x.block(s)
	if state := x.buffers.state(block); *state&resident != 0 {
		*state |= referenced
		x.inMemory(now, i)
		return
	}
	c := x.data.device.Do(volume.Request{Op: volume.Read, Offset: x.data.start + units.Size(block)*BlockSize,
		Length: BlockSize})
	x.clock.At(c.Done, x, event(fetched, uint64(i)))
}

func (x *Instance) fetched(now vtime.Instant, i uint32) {
	s := x.slots.At(i)
	count := x.count()
	count.reads++
	count.readTime += now.Sub(s.Mark)
	s.Spend(now, database.WaitRead)
	x.buffers.admit(x.block(s))
	x.inMemory(now, i)
}

func (x *Instance) inMemory(now vtime.Instant, i uint32) {
	if x.slots.At(i).Op.Kind.Writes() {
		x.update(now, i)
		return
	}
	x.acknowledge(now, i)
}

// update changes the block, unless updates are held, and appends to the journal.
func (x *Instance) update(now vtime.Instant, i uint32) {
	s := x.slots.At(i)
	if now < x.daemon.pausedUntil {
		x.clock.At(x.daemon.pausedUntil, x, event(resumed, uint64(i)))
		return
	}

	// Held updates keep their order: new ones queue behind them.
	if x.buffers.unclean() >= x.hold || x.starved.Len() > 0 && !x.feeding {
		x.starved.Push(&x.slots, i)
		x.wakeDaemon(now)
		return
	}

	block := x.block(s)
	if *x.buffers.state(block)&resident == 0 {
		x.buffers.admit(block) // evicted while the update was held; its read is not repeated
	}

	x.buffers.change(block)
	x.count().updates++
	if len(x.buffers.dirty) >= x.wake {
		x.wakeDaemon(now)
	}

	x.append(now, max(s.Op.Size, 0)+x.cfg.JournalOverhead)
	if x.cfg.Synchronous {
		x.journal.waiting.Push(&x.slots, i)
		x.syncJournal(now)
		return
	}

	x.acknowledge(now, i)
}

// feed lets held updates continue as buffers become clean.
func (x *Instance) feed(now vtime.Instant) {
	x.feeding = true
	for x.starved.Len() > 0 && x.buffers.unclean() < x.hold && now >= x.daemon.pausedUntil {
		i := x.starved.Pop(&x.slots)
		x.slots.At(i).Spend(now, database.WaitCache)
		x.update(now, i)
	}
	x.feeding = false
}

func (x *Instance) acknowledge(now vtime.Instant, i uint32) {
	s := x.slots.At(i)
	x.client.Done(now, &s.Op, &s.Waits)
	x.slots.Give(i)
}

// Cycles returns the write daemon's cycles, for very long runs the last [cyclesMax].
func (x *Instance) Cycles() []database.Cycle { return x.daemon.cycles }
