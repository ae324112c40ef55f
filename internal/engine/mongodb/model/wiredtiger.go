package model

import (
	"errors"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// An Engine is mongod's WiredTiger, with data on the volume "data" and the log on "journal" or, if
// there is none, with the data.
type Engine struct {
	cfg    Config
	env    database.Env
	device *kernel.Device // of the data
	chance *random.Stream

	trees      []*tree // the collection, its indexes, the oplog, the history store
	oplog      *tree   // nil without an oplog, like history
	history    *tree
	oplogAt    int // its index in trees
	historyAt  int
	kept       units.Size // total that went into the history store
	oplogFill  units.Size
	inFiles    int64      // bytes in the files when the run begins, in memory
	onDisk     units.Size // size of the files on the volume
	resident   float64    // share of the uncached pages that is in the kernel's page cache
	memory     int64      // bytes in the cache
	dirtyBytes int64
	updates    int64
	queue      []entry // dirty pages, longest dirty first; a page is in it at most once
	hand       int     // the tree where the search for clean pages continues

	evictor    evictor
	checkpoint checkpoint
	journal    journal
	underway   places
	ends       *vtime.Line // of operations
	inside     [2]int64    // operations in the engine: reads, writes
	epoch      uint16

	c       counters
	mark    counters // at the end of the warm-up
	since   vtime.Instant
	fillMax float64
}

// New makes an engine with its collection on the volume, and as much of it in the cache as the
// eviction target allows. It fails if the configuration is impossible or there is no volume for the
// data.
func New(cfg Config, env database.Env) (*Engine, error) {
	if err := cfg.Check().Err(); err != nil {
		return nil, err
	}

	cfg.complete()
	e := &Engine{cfg: cfg, env: env, device: env.Volume("data"), chance: env.Seed.Stream("wiredtiger")}
	e.ends = env.Clock.Line((*acknowledged)(e))

	// Without a separate volume, the journal is in the data's folder.
	log := env.Volume("journal", "data")
	if e.device == nil || log == nil {
		return nil, errors.New("wiredtiger needs a volume named data (and may have one named journal)")
	}

	e.addTree("collection", cfg.Documents, cfg.DocumentSize)
	for range cfg.Indexes {
		e.addTree("index", cfg.Documents, cfg.IndexEntry)
	}

	if Enabled(cfg.Oplog) {
		e.addServer()
	}

	e.warm()
	if cfg.Loading > 0 {
		e.loaded()
	}

	e.journal.start(e, log)
	e.evictor.e = e
	e.checkpoint.start(e)

	return e, nil
}

// splitPercent is how full a leaf is when it is first written (split_pct, 90 %).
const splitPercent = 90

// addTree creates a file with the given number of entries.
func (e *Engine) addTree(name string, entries uint64, size units.Size) *tree {
	leaf := e.cfg.LeafPage * splitPercent / 100
	if Enabled(e.cfg.Oplog) {
		leaf, size = e.cfg.leaf(), size+cellBytes
	}

	t := &tree{perPage: uint64(max(leaf/max(size, 1), 1))}
	if Enabled(e.cfg.Oplog) && len(e.trees) == 0 && !Enabled(e.cfg.Compressor) {
		t.halve()
	}

	for i := range t.leaves(entries) {
		image := int32(min(units.Size(t.on(i))*size, 1<<30))
		length := uint16(min(max((units.Size(float64(image)*float64(e.cfg.Compression))+unit-1)/unit, 1), 1<<16-1))
		t.pages.add(page{image: image, block: t.end, length: length, epoch: 1<<16 - 1})
		t.end += int32(length)
		e.inFiles += int64(image)
		e.onDisk += units.Size(length) * unit
	}

	// Room to grow by half plus 64 GB, because files are laid out one after another on the volume.
	t.file = e.env.Host.Create(name, e.device, units.Size(t.end)*unit*3/2+64*units.GiB)
	t.file.SetAllocated(units.Size(t.end) * unit)
	e.trees = append(e.trees, t)

	return t
}

// warm fills the cache up to its target with pages drawn evenly from all files.
func (e *Engine) warm() {
	whole, disk := float64(e.inFiles), float64(e.onDisk)
	room := float64(float64(e.cfg.Cache) * float64(e.cfg.EvictionTarget)) // a product: never fused with a sum
	share := 1.0

	if whole > room {
		share = room / whole
	}

	ofOplog := share
	if e.oplog != nil && share < 1 {
		share, ofOplog = e.warmServer(room)
	}

	for _, t := range e.trees {
		if t == e.oplog {
			share = ofOplog
		}
		for i := range t.pages.count {
			if share == 1 || e.chance.Float() < share {
				t.pages.at(i).state |= cached
				e.memory += t.pages.at(i).memory()
			}
		}
	}

	// The memory that the cache leaves, less a gigabyte for other uses, holds pages of files.
	left := float64(e.env.Host.Config().Memory - e.cfg.Cache - units.GiB)
	if Enabled(e.cfg.PageCache) && disk > 0 && left > 0 {
		e.resident = min(1, left/disk)
	}
}

// Do starts an operation.
func (e *Engine) Do(op workload.Op) {
	now := e.env.Clock.Now()
	kind := 0
	if op.Kind.Writes() {
		kind = 1
	}

	e.inside[kind]++
	takes := e.cfg.CPU.Operation.Std()
	if e.oplog != nil {
		takes += e.serverWork(e.cfg.CPU.Request)
	}

	_, ready := e.env.Host.CPU(now, takes)
	p := e.underway.take()
	p.op, p.since, p.ready = op, now, ready
	p.waits = database.Waits{database.WaitCPU: int64(ready.Sub(now))}
	e.reach(p, 0)
}

// reach brings the pages that an operation needs into the cache, starting with the given part, and
// then performs it. A scan counts as a read of its first leaf.
func (e *Engine) reach(p *pending, part int) {
	t := e.trees[0]
	i := t.key(p.op.Key)
	if i >= pagesMax {
		i = pagesMax - 1
	}

	t.grow(i)
	if part == 0 {
		pg := t.pages.at(i)
		if pg.state&cached == 0 {
			if until := e.read(t, i); until > p.ready {
				p.waits[database.WaitRead] += int64(until.Sub(p.ready))
				p.ready = until
				e.env.Clock.At(until, (*readDone)(e), uint64(p.number))
				return
			}
		}
		pg.state |= touched
	}

	e.perform(p, i)
}

// read brings a page into the cache and returns when it is available: immediately if the kernel has
// it.
func (e *Engine) read(t *tree, i int) (done vtime.Instant) {
	now := e.env.Clock.Now()
	p := t.pages.at(i)
	p.state |= cached | touched
	e.memory += p.memory()
	e.c.readIn++
	e.evictor.wake()
	held := e.inPageCache(p)
	p.passed = e.seconds()

	if held && e.oplog != nil {
		return t.file.Read(now)
	}
	if held {
		return now
	}

	length := max(units.Size(p.length)*unit, unit)
	r := volume.Request{Op: volume.Read, Offset: units.Size(p.block) * unit, Length: length}
	if e.oplog != nil { // the page cache has part of it; two pieces are missing
		r.Length = max(length*missing/100/unit, 1) * unit
		done = e.device.Do(r).Done
		r.Offset += length / 2
	}

	done = max(done, e.device.Do(r).Done)
	if e.oplog != nil {
		done = t.file.Read(done)
	}

	e.c.readTime += int64(done.Sub(now))
	return done
}

// readDone is the engine as an event handler for completed reads.
type readDone Engine

// Fire performs the operation that waited for the page.
func (r *readDone) Fire(_ vtime.Instant, arg uint64) {
	e := (*Engine)(r)
	e.reach(e.underway.at(arg), 1)
}

// perform executes an operation whose page is in the cache.
func (e *Engine) perform(p *pending, i int) {
	if !p.op.Kind.Writes() {
		e.acknowledge(p)
		return
	}
	e.makeRoom(p)
	e.change(&p.op, i)
	e.evictor.wake()
	e.journal.add(p)
}

// change applies a write to its pages and the log's buffer.
func (e *Engine) change(op *workload.Op, i int) {
	size := max(op.Document, op.Size)
	carried, grown := size, units.Size(0)
	switch op.Kind {
	case workload.Insert:
		grown = size
	case workload.Push:
		grown = op.Size
	}

	// mongod passes the engine a difference instead of the document if that is over 1 KB and the
	// difference is at most a tenth of it.
	if op.Kind != workload.Insert && size > units.KiB && 10*op.Size <= size {
		carried = op.Size
	}

	e.dirtyPage(0, i, grown, carried)
	if op.Kind != workload.Insert {
		e.trees[0].pages.at(i).state |= replacing
	}

	if op.Kind == workload.Insert {
		for k := range e.cfg.Indexes {
			t := e.trees[1+k]
			if t.pages.count == 0 {
				t.grow(0)
			}
			j := int(e.chance.Below(uint64(t.pages.count)))
			if t.pages.at(j).state&cached == 0 {
				e.read(t, j) // simplified: the insert does not wait for an index's leaf
			}
			e.dirtyPage(1+k, j, e.cfg.IndexEntry, e.cfg.IndexEntry)
		}
	}

	if e.oplog != nil {
		entry := carried + OplogEntry
		e.oplogFill += entry
		j := e.oplog.pages.count - 1
		// Oplog entries are appended, so a new leaf begins when the last one is full.
		if j < 0 || e.oplogFill > min(e.cfg.leaf(), e.cfg.LeafPage) {
			e.oplogFill = entry
			j = min(j+1, pagesMax-1)
			e.oplog.grow(j)
		}
		e.dirtyPage(e.oplogAt, j, entry, entry)
	}

	e.c.writes++
	if e.journal.file == nil {
		return
	}

	// Logged once, even with an oplog: in a replica set the collections' tables are not journaled,
	// only the oplog (MongoDB source, wiredtiger_util.cpp, useTableLogging; since 4.0).
	n := e.cfg.LogBytes
	if n == 0 {
		n = carried + e.cfg.LogRecord
		if e.oplog != nil {
			n += OplogEntry
		}
	}

	e.journal.buffered += n
}

// dirtyPage accounts for a change of a page: the growth of its image, and the update's size in
// memory.
func (e *Engine) dirtyPage(tree, i int, grown, carried units.Size) {
	p := e.trees[tree].pages.at(i)
	if p.state&cached == 0 {
		// The page was dropped after it was read; the real engine pins it.
		p.state |= cached
		e.memory += p.memory()
	}

	if p.state&dirty == 0 {
		p.state |= dirty
		e.trees[tree].mark(i)
		e.dirtyBytes += p.memory()
		if p.state&queued == 0 {
			p.state |= queued
			e.queue = append(e.queue, entry{int32(tree), int32(i)})
		}
	}

	p.state |= touched

	// Page sizes are int32: a page that is updated without being written must not overflow them.
	limit := units.Size(1<<30) - units.Size(p.memory())
	grown, carried = min(grown, limit/2), min(carried, limit/2)
	p.image += int32(grown)
	p.updates += int32(carried)
	e.memory += int64(grown + carried)
	e.dirtyBytes += int64(grown + carried)
	e.updates += int64(carried)
}

// clean writes a dirty page, for eviction or a checkpoint.
func (e *Engine) clean(t *tree, i int) units.Size {
	p := t.pages.at(i)
	replaced := int32(0)
	if p.state&replacing != 0 {
		replaced = p.updates
	}

	e.dirtyBytes -= p.memory()
	e.updates -= int64(p.updates)
	e.memory -= int64(p.updates)
	p.updates = 0
	p.state &^= dirty | replacing
	n := t.write(p, e.epoch, e.cfg.Compression)
	p.passed = e.seconds()
	e.c.written += int64(n)
	e.keepHistory(t, i, replaced)

	return n
}

// acknowledge finishes the operation when it is ready.
func (e *Engine) acknowledge(p *pending) {
	if now := e.env.Clock.Now(); p.ready > now {
		e.ends.At(p.ready, uint64(p.number))
		return
	}
	e.finish(p)
}

// acknowledged is the engine as the event handler for an operation's end.
type acknowledged Engine

// Fire finishes the operation.
func (a *acknowledged) Fire(_ vtime.Instant, arg uint64) {
	e := (*Engine)(a)
	e.finish(e.underway.at(arg))
}

// finish calls the client and frees the operation's place.
func (e *Engine) finish(p *pending) {
	now := e.env.Clock.Now()
	kind := 0
	if p.op.Kind.Writes() {
		kind = 1
		if p.op.Kind == workload.Insert {
			e.c.inserts++
		} else {
			e.c.updates++
		}
	}

	e.inside[kind]--
	e.c.ops[kind]++
	e.c.latency[kind] += int64(now.Sub(p.since))
	e.env.Client.Done(now, &p.op, &p.waits)
	e.underway.give(p)
}
