package model

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// Event arguments: the kind in the low byte, the transaction above it.
const (
	evExecute uint64 = iota // a transaction continues
	evFlush                 // commit_delay is over
	evSegmentWritten
	evSegmentMade
	evLogWritten
	evLogSynced
	evWALWriter
	evCheckpointDue
	evCheckpointStep
	evFileSynced
	evControlSynced
	evBackgroundWriter
	eventBits = 8
)

// An Engine is the model. It implements [database.Model].
type Engine struct {
	cfg    Config
	clock  *vtime.Clock
	host   *kernel.Host
	client database.Client
	begun  *vtime.Line // when transactions' CPU time ends
	// connections is how many connections the clients hold; 0 if unknown.
	connections int
	data        *kernel.Device
	cached      *random.Stream // decides whether a page is in the kernel's page cache
	// pageCached of pageCacheOf pages are in the kernel's page cache.
	pageCached, pageCacheOf uint64

	tables      [relations]table
	rowsPerPage int64
	buffers     buffers
	wal         wal
	segments    segments
	checkpoint  checkpointer
	background  backgroundWriter
	backends    flusher

	ops    []op
	free   int32 // list of unused ops
	active int
	// queue has the operations in front of the connections. Only the run bounds its length.
	queue  database.Queue
	queued database.Slots
	done   op // the last acknowledged op, valid for the client during its call

	n       counters
	metrics []database.Metric
	cycles  []database.Cycle
}

// New creates an engine on env's volumes: the log on "wal" if there is one, the rest on "data".
func New(cfg Config, env database.Env) (*Engine, error) {
	if err := cfg.Check().Err(); err != nil {
		return nil, err
	}

	pg := &Engine{cfg: cfg, clock: env.Clock, host: env.Host, client: env.Client,
		connections: env.Connections,
		data:        env.Volume("data")}
	logVolume := env.Volume("wal", "data")
	if pg.data == nil {
		return nil, errors.New(`postgres: volume "data" is missing; the log may be on a separate volume "wal"`)
	}

	memory := env.Host.Config().Memory
	if cfg.SharedBuffers >= memory {
		return nil, fmt.Errorf("postgres: shared_buffers of %s does not fit into a memory of %s",
			cfg.SharedBuffers.Exact(), memory.Exact())
	}

	pg.begun = env.Clock.Line(pg)
	pg.cached = env.Seed.Stream("postgres.pagecache")
	pg.layTables()
	pg.buffers = newBuffers(int(cfg.SharedBuffers / PageSize))
	pg.fill()
	pg.pageCacheOf = uint64(pg.tables[heap].pages + pg.tables[index].pages)
	pg.pageCached = min(pg.pageCacheOf, uint64(pageCache(memory, cfg.SharedBuffers)/PageSize))

	// The log's file was written before, so that appends do not allocate, as with recycled
	// segments.
	size := max(cfg.MaxWALSize/WALSegment, 2) * WALSegment
	pg.wal = wal{file: env.Host.Create("pg_wal", logVolume, size), buffers: cfg.walBuffers()}
	pg.wal.ring = (pg.wal.buffers + int64(WALSegment) - 1) / int64(WALSegment) * int64(WALSegment)
	pg.wal.file.SetPrewritten(true)

	pg.layLog(logVolume)

	pg.backends = flusher{after: flushPages(cfg.BackendFlushAfter)}
	pg.startCheckpointer()
	pg.startBackgroundWriter()
	pg.clock.After(time.Duration(cfg.WALWriterDelay), pg, evWALWriter)

	pg.ops = make([]op, cfg.MaxConnections)
	for i := range pg.ops {
		pg.ops[i].next, pg.ops[i].begun = int32(i)+1, vtime.Never
	}

	pg.ops[len(pg.ops)-1].next = none
	pg.countSegments()
	pg.metrics = pg.names()

	return pg, nil
}

// pageCache returns the memory left for the kernel's page cache: 90 % of the memory without shared
// buffers (assumed; the rest goes to processes).
func pageCache(memory, shared units.Size) units.Size { return (memory - shared) / 10 * 9 }

// Do starts a transaction, or queues it if max_connections are already running.
func (e *Engine) Do(o workload.Op) {
	now := e.clock.Now()
	if e.free == none {
		e.queue.Push(&e.queued, e.queued.Take(o, now))
		return
	}
	e.begin(now, now, &o)
}

// begin starts a transaction that arrived at came: it gets a connection and a CPU core.
func (e *Engine) begin(now, came vtime.Instant, o *workload.Op) {
	i := e.free
	t := &e.ops[i]
	e.free = t.next
	*t = op{op: *o, begun: now, held: none}
	e.active++
	_, done := e.host.CPU(now, e.cfg.CPU.Std())
	t.waits[database.WaitConnection] = int64(now.Sub(came))
	t.wait(database.WaitCPU, now)
	e.begun.At(done, evExecute|uint64(i)<<eventBits)
}

// acknowledge ends a transaction and passes its connection to the next one in the queue.
func (e *Engine) acknowledge(now vtime.Instant, i int32) {
	t := &e.ops[i]
	e.active--
	e.n.commits++
	if t.op.Kind.Writes() {
		e.countRows(t.op.Kind)
	}

	// A copy for the client, because the slot may be reused before the client returns.
	e.done.op, e.done.waits, e.done.lsn = t.op, t.waits, t.lsn
	t.next, t.begun = e.free, vtime.Never
	e.free = i

	if e.queue.Len() > 0 {
		k := e.queue.Pop(&e.queued)
		q := *e.queued.At(k)
		e.queued.Give(k)
		e.begin(now, q.Mark, &q.Op)
	}

	e.client.Done(now, &e.done.op, &e.done.waits)
}

// Cycles returns the checkpoints so far.
func (e *Engine) Cycles() []database.Cycle { return e.cycles }

// Fire handles a scheduled event.
func (e *Engine) Fire(now vtime.Instant, arg uint64) {
	// An event packs its kind into the lower bits and an argument into the others.
	switch arg & (1<<eventBits - 1) {
	case evExecute:
		e.execute(now, int32(arg>>eventBits))
	case evFlush:
		e.beginFlush(now)
	case evSegmentWritten:
		e.segments.fresh.Sync(e, evSegmentMade)
	case evSegmentMade:
		e.segmentMade(now)
	case evLogWritten:
		e.syncLog(now)
	case evLogSynced:
		e.logSynced(now)
	case evWALWriter:
		e.walWriter(now)
	case evCheckpointDue:
		e.checkpointDue(now, arg>>eventBits)
	case evCheckpointStep:
		e.checkpointStep(now)
	case evFileSynced:
		e.syncNextFile(now)
	case evControlSynced:
		e.checkpointDone(now)
	case evBackgroundWriter:
		e.backgroundWrite(now)
	}
}
