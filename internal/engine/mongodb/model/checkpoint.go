package model

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
)

// checkpointBatch is how many pages a checkpoint writes before other events get their turn.
const checkpointBatch = 16

// scrubLook is how often a checkpoint checks whether eviction still lowers the dirty share. Once it
// does not, the checkpoint continues (WT: __checkpoint_reduce_dirty_cache).
const scrubLook = 100 * time.Millisecond

// scrubLooks is how many checks scrubbing may take at the current rate. If it would take longer,
// the checkpoint gives up scrubbing (the source gives up when dirty bytes stop falling; two seconds
// are assumed).
const scrubLooks = 20

// A checkpoint writes all dirty pages and syncs the files. It is always in one of its phases.
type checkpoint struct {
	e         *Engine
	phase     phase
	scrubbing bool // eviction works towards the lower target meanwhile
	dirtyWas  int64
	tree, at  int // position of the next page
	meta      *kernel.File
	cycles    []database.Cycle
	took      time.Duration // duration of the last one
	sum       time.Duration
	written   int64
	requested bool // by the loader of the documents, not by the server's timer
}

type phase uint8

const (
	pausing phase = iota
	scrubbing
	writing
	syncing
	describing // writing the metadata file, which completes the checkpoint
)

// cyclesMax limits the checkpoints that are remembered: a week of them.
const cyclesMax = 10080

func (k *checkpoint) start(e *Engine) {
	k.e = e
	k.meta = e.env.Host.Create("WiredTiger.wt", e.device, 64*units.MiB)
	if k.requested = e.cfg.Loading > 0; k.requested {
		e.env.Clock.After(0, k, 0)
		return
	}
	e.env.Clock.After(e.cfg.Checkpoint.Std(), k, 0)
}

func (k *checkpoint) running() bool { return k.phase != pausing }

// Fire continues the current phase.
func (k *checkpoint) Fire(now vtime.Instant, _ uint64) {
	e := k.e
	switch k.phase {
	case pausing:
		k.begin(now)
	case scrubbing:
		k.scrub(now)
	case writing:
		k.write(now)
	case syncing:
		k.sync()
	default:
		k.end(now)
	}
	e.fillMax = max(e.fillMax, float64(e.memory)/float64(e.cfg.Cache))
}

func (k *checkpoint) begin(now vtime.Instant) {
	e := k.e
	if len(k.cycles) == cyclesMax {
		k.cycles = append(k.cycles[:0], k.cycles[1:]...)
	}
	k.cycles = append(k.cycles, database.Cycle{Start: now, End: vtime.Never, Dirty: e.dirtyBytes})
	k.phase, k.scrubbing, k.dirtyWas = scrubbing, e.oplog != nil, e.dirtyBytes
	k.written = e.c.written
	e.evictor.wake()
	e.env.Clock.After(scrubLook, k, 0)
}

// scrub lets eviction write before the checkpoint does, as long as that helps. In the engine alone,
// it is a single check: "transaction checkpoint scrub time" is 100 ms, and eviction writes no more
// meanwhile, because the lowered target never goes below eviction_dirty_target. A server's runs
// report 100 ms too, but what else makes its checkpoints long is unknown, and the longer scrub
// stands in for that.
func (k *checkpoint) scrub(now vtime.Instant) {
	e := k.e
	target := float64(float64(e.cfg.Cache) * float64(e.cfg.EvictionCheckpointTarget))
	left := float64(e.dirtyBytes) - target
	if k.scrubbing && left > 0 && float64(k.dirtyWas-e.dirtyBytes) > left/scrubLooks {
		k.dirtyWas = e.dirtyBytes
		e.env.Clock.After(scrubLook, k, 0)
		return
	}
	k.scrubbing = false
	k.phase, k.tree, k.at = writing, 0, 0
	if e.oplog != nil {
		e.epoch++
	}
	k.write(now)
}

// write writes the next dirty pages, in key order.
func (k *checkpoint) write(now vtime.Instant) {
	engineModel := k.e
	pages := 0
	for k.tree < len(engineModel.trees) && pages < checkpointBatch {
		t := engineModel.trees[k.tree]
		i := t.unmark(k.at)
		if i < 0 {
			k.tree, k.at = k.tree+1, 0
			continue
		}

		k.at = i + 1
		if t.pages.at(i).state&dirty != 0 { // otherwise eviction has written it
			if until := engineModel.prepare(k.tree, i); until > now {
				engineModel.env.Clock.At(until, k, 0)
				return
			}
			before := engineModel.c.written
			engineModel.write(t, i)
			engineModel.c.forCheckpoint += engineModel.c.written - before
			pages++
		}
	}

	if k.tree < len(engineModel.trees) {
		_, done := engineModel.env.Host.CPU(now, time.Duration(pages)*engineModel.cfg.CPU.Page.Std())
		engineModel.env.Clock.At(max(done, engineModel.paced()), k, 0)
		return
	}

	// Blocks written since the last checkpoint are freed as soon as their page is written again,
	// even by this checkpoint: they become part of it only when it has written all pages (WT:
	// __ckpt_process). So it writes into the holes that they leave, page by page. A trace of the
	// engine alone shows this; a server's runs are closer to blocks that are kept from the
	// beginning.
	if engineModel.oplog == nil {
		engineModel.epoch++
		for _, t := range engineModel.trees {
			t.taken()
		}
	}

	k.phase, k.tree = syncing, 0
	k.sync()
}

// sync makes the files durable, one after the other.
func (k *checkpoint) sync() {
	e := k.e
	if k.tree < len(e.trees) {
		t := e.trees[k.tree]
		k.tree++
		t.unsynced = 0
		e.c.fsyncs++
		t.file.Sync(k, 0)
		return
	}
	k.phase = describing
	k.meta.Write(0, 2*unit)
	e.c.fsyncs++
	k.meta.Sync(k, 0)
}

func (k *checkpoint) end(now vtime.Instant) {
	e := k.e
	for _, t := range e.trees {
		if e.oplog != nil {
			t.taken()
		}
		t.checkpointed()
	}

	c := &k.cycles[len(k.cycles)-1]
	c.End, c.Written = now, e.c.written-k.written
	k.took = now.Sub(c.Start)
	k.sum += k.took
	k.phase = pausing
	pause := e.cfg.Checkpoint.Std()

	if k.requested {
		k.requested = false
		// The loader then flushes the page cache; the server's own first checkpoint follows its
		// schedule.
		e.env.Host.Sync()
		pause = max(pause-e.cfg.Loading.Std()-time.Duration(now), 0)
	}

	e.env.Clock.After(pause, k, 0)
}

// Cycles returns the checkpoints.
func (e *Engine) Cycles() []database.Cycle { return e.checkpoint.cycles }
