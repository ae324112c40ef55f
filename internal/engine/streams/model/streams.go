// Package model is not a database but the I/O patterns of databases: a log's appends with
// fdatasync, and reads and writes of random blocks that bypass the page cache.
//
// Benchmark tools run these patterns (fio's recipe for etcd: appends of 2,300 bytes with fdatasync
// after each; InterSystems' RANREAD: processes that read 8 KB blocks), so this model shows what a volume
// delivers without the additional load of an engine. A write operation is an append to the log and its
// fdatasync, with the operation's payload; a read is a block of the data volume. Concurrency is the
// workload's: one client has one operation in flight.
//
// Not modelled: a tool's CPU cost beyond a constant, and io_uring compared with threads.
package model

import (
	"errors"
	"time"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// A Config defines the streams.
type Config struct {
	// File is the size of a log's file, which starts over when the next append does not fit. An append larger
	// than the file enlarges the file to the size of the append.
	File units.Size `yaml:"file"`
	// Prewritten means that the file's blocks were written before, so that an append changes no
	// metadata. fio lays out its file first by default.
	Prewritten bool `yaml:"prewritten"`
	// Block is the size of a read, and of a random write.
	Block units.Size `yaml:"block"`
	// Data is the size of the area that reads are spread over.
	Data units.Size `yaml:"data"`
	// RandomWrites makes write operations direct writes of random blocks instead of appends.
	RandomWrites bool `yaml:"random_writes"`
	// CPU is the cost of one system call including the tool's share, up to a second.
	CPU units.Duration `yaml:"cpu"`
}

// Defaults are those of fio in etcd's recipe (--size=22m) and RANREAD's blocks; 10 us per call
// (assumed).
func Defaults() Config {
	return Config{File: 22 * units.MiB, Prewritten: true, Block: 8 * units.KiB, Data: 100 * units.GiB,
		CPU: units.Duration(10 * time.Microsecond)}
}

// Check reports impossible values.
func (c *Config) Check() inputerror.List {
	var l inputerror.List
	// O_DIRECT needs multiples of the sector size, so nothing smaller can be measured.
	if c.Block < 512 || c.Block > 16*units.MiB {
		l = append(l, inputerror.Problem{Field: "block", Text: "block of " + c.Block.Exact() + " out of range",
			Limit: "512B to 16MiB", Nearest: min(max(c.Block, 512), 16*units.MiB).Exact()})
	}

	if c.File < units.MiB {
		l = append(l, inputerror.Problem{Field: "file", Text: c.File.Exact() + " is too small for a log file",
			Limit: "at least 1MiB", Nearest: "1MiB"})
	}

	if c.Data < c.Block {
		l = append(l, inputerror.Problem{Field: "data", Text: c.Data.Exact() + " is smaller than one block",
			Nearest: c.Block.Exact()})
	}

	inputerror.AddOutside(&l, "cpu", c.CPU.Std(), 0, time.Second, time.Duration.String, " of CPU per call", "")
	return l
}

// An Engine is the streams on their volumes: appends on "wal" or otherwise "data", blocks on "data"
// or otherwise "wal".
type Engine struct {
	cfg    Config
	env    database.Env
	data   *kernel.Device
	log    *kernel.File
	end    units.Size // end of the appended data
	high   units.Size // the highest end so far; blocks below it exist
	chance *random.Stream

	busy     bool // an fdatasync is in progress
	waiting  []pending
	syncing  []pending
	underway database.Kept[pending] // operations on the CPU or the volume
}

// A pending is an operation and its arrival time.
type pending struct {
	op    workload.Op
	since vtime.Instant
	waits database.Waits
}

// New makes the streams. It fails without a volume.
func New(cfg Config, env database.Env) (*Engine, error) {
	if err := cfg.Check().Err(); err != nil {
		return nil, err
	}
	data, wal := env.Volume("data", "wal"), env.Volume("wal", "journal", "data")
	if data == nil || wal == nil {
		return nil, errors.New("streams need a volume named data or wal")
	}
	e := &Engine{cfg: cfg, env: env, data: data, chance: env.Seed.Stream("streams.blocks")}
	e.log = env.Host.Create("stream.log", wal, cfg.File)
	return e, nil
}

// Do starts an operation.
func (e *Engine) Do(op workload.Op) {
	now := e.env.Clock.Now()
	_, done := e.env.Host.CPU(now, e.cfg.CPU.Std())
	p := pending{op: op, since: now}
	p.waits[database.WaitCPU] = int64(done.Sub(now))
	if op.Kind.Writes() && !e.cfg.RandomWrites {
		e.env.Clock.At(done, (*appendTurn)(e), e.underway.Keep(p))
		return
	}
	e.env.Clock.At(done, (*blockTurn)(e), e.underway.Keep(p))
}

type (
	appendTurn Engine
	syncDone   Engine
	blockTurn  Engine
	blockDone  Engine
)

// Fire appends after the CPU's part, and syncs unless a sync is in progress.
func (t *appendTurn) Fire(_ vtime.Instant, arg uint64) {
	e := (*Engine)(t)
	p := e.underway.Take(arg)
	if e.end+p.op.Size > e.cfg.File {
		e.log.Rewind(0)
		e.end = 0
	}
	end := e.end + p.op.Size
	// Blocks up to the high mark exist already, including the rest of the last one.
	e.log.SetPrewritten(e.cfg.Prewritten || end <= (e.high+kernel.PageSize-1)/kernel.PageSize*kernel.PageSize)
	e.log.Append(p.op.Size)
	e.end, e.high = end, max(e.high, end)
	e.waiting = append(e.waiting, p)
	e.sync()
}

func (e *Engine) sync() {
	if e.busy || len(e.waiting) == 0 {
		return
	}
	e.busy = true
	e.syncing, e.waiting = e.waiting, e.syncing[:0]
	e.log.Sync((*syncDone)(e), uint64(e.env.Clock.Now()))
}

// Fire acknowledges the appends that the sync made durable.
func (t *syncDone) Fire(now vtime.Instant, arg uint64) {
	e := (*Engine)(t)
	s, began := e.log.LastSync(), vtime.Instant(arg)
	for i := range e.syncing {
		p := &e.syncing[i]
		turn := began.Sub(p.since) - time.Duration(p.waits[database.WaitCPU])
		p.waits[database.WaitLogTurn] = int64(turn)
		p.waits[database.WaitLogQueue] = int64(s.Queue)
		p.waits[database.WaitLogLimit] = int64(s.Limit)
		p.waits[database.WaitLogDevice] = int64(s.Device)
		e.env.Client.Done(now, &p.op, &p.waits)
	}
	e.syncing = e.syncing[:0]
	e.busy = false
	e.sync()
}

// Fire submits a block's read or write.
func (t *blockTurn) Fire(_ vtime.Instant, arg uint64) {
	e := (*Engine)(t)
	p := e.underway.At(arg)
	op := volume.Read
	if p.op.Kind.Writes() {
		op = volume.Write
	}
	blocks := uint64(e.cfg.Data / e.cfg.Block)
	off := units.Size(e.chance.Below(blocks)) * e.cfg.Block
	e.data.Start(volume.Request{Op: op, Offset: off, Length: e.cfg.Block}, t, arg)
}

// Started accounts for a block's waits, from when its thread requested it.
func (t *blockTurn) Started(_ vtime.Instant, c volume.Completion, arg uint64) {
	e := (*Engine)(t)
	p := e.underway.At(arg)
	asked := p.since.Add(time.Duration(p.waits[database.WaitCPU]))
	if p.op.Kind.Writes() { // the limits and the latency separately, because the fix differs
		p.waits[database.WaitLogLimit] = int64(c.Issued.Sub(asked))
		p.waits[database.WaitLogDevice] = int64(c.Done.Sub(c.Issued))
	} else {
		p.waits[database.WaitRead] = int64(c.Done.Sub(asked))
	}
	e.env.Clock.At(c.Done, (*blockDone)(e), arg)
}

// Fire acknowledges a block.
func (t *blockDone) Fire(now vtime.Instant, arg uint64) {
	e := (*Engine)(t)
	p := e.underway.Take(arg)
	e.env.Client.Done(now, &p.op, &p.waits)
}

// Metrics returns none: everything that streams do is visible on the device, where node_exporter
// counts it.
func (e *Engine) Metrics() []database.Metric { return nil }

// Sample returns nothing.
func (e *Engine) Sample([]float64) {}

// Cycles returns none.
func (e *Engine) Cycles() []database.Cycle { return nil }
