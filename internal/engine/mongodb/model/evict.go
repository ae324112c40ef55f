package model

import (
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
)

// evictionTurn is how often the eviction threads' work is accounted for: a compromise between few
// events and even progress (assumed).
const evictionTurn = 10 * time.Millisecond

// An evictor represents all eviction threads.
type evictor struct {
	e      *Engine
	awake  bool
	credit float64 // pages they may still handle
	// waiting is the number of threads that wait for a page of the history store.
	waiting int
	last    vtime.Instant
}

// pressure returns the position of the worst of the three shares between its target and its
// trigger: 0 at or below the target, 1 at the trigger. While a checkpoint scrubs, the dirty target
// is lower.
func (e *Engine) pressure() float64 {
	cache := float64(e.cfg.Cache)
	worst := between(float64(e.memory)/cache, float64(e.cfg.EvictionTarget), float64(e.cfg.EvictionTrigger))
	target := float64(e.cfg.EvictionDirtyTarget)
	share := float64(e.dirtyBytes) / cache
	if e.checkpoint.scrubbing && share > float64(e.cfg.EvictionCheckpointTarget) {
		return 1
	}
	worst = max(worst, between(share, target, float64(e.cfg.EvictionDirtyTrigger)))
	return max(worst, between(float64(e.updates)/cache, float64(e.cfg.EvictionUpdatesTarget),
		float64(e.cfg.EvictionUpdatesTrigger)))
}

func between(x, from, to float64) float64 { return max(0, (x-from)/(to-from)) }

// overTrigger reports whether application threads have to help.
func (e *Engine) overTrigger() bool {
	cache := float64(e.cfg.Cache)
	return float64(e.memory) > cache*float64(e.cfg.EvictionTrigger) ||
		float64(e.dirtyBytes) > cache*float64(e.cfg.EvictionDirtyTrigger) ||
		float64(e.updates) > cache*float64(e.cfg.EvictionUpdatesTrigger)
}

// wake starts the threads if there is work to do.
func (v *evictor) wake() {
	if v.awake || v.e.pressure() == 0 {
		return
	}
	v.awake = true
	v.last = v.e.env.Clock.Now()
	v.e.env.Clock.After(evictionTurn, v, 0)
}

// Fire lets the threads do the work that they could have done since the last call.
func (v *evictor) Fire(now vtime.Instant, _ uint64) {
	engineModel := v.e
	pressure := min(4*engineModel.pressure(), 1)
	if pressure == 0 {
		v.awake, v.credit = false, 0
		return
	}

	least, most := float64(engineModel.cfg.EvictionThreadsMin),
		float64(max(engineModel.cfg.EvictionThreadsMax, engineModel.cfg.EvictionThreadsMin))
	threads := least + float64((most-least)*pressure)

	// The threads' effort rises with the distance to the target and is full at a quarter of the way
	// to the trigger.
	// A thread that waits for a page of the history store does nothing else.
	threads = max(threads-float64(v.waiting), 0)
	v.credit += float64(float64(now.Sub(v.last)) / float64(engineModel.cfg.CPU.Eviction) * threads * pressure)
	v.last = now

	pages, next := 0, now.Add(evictionTurn)
	for v.credit >= 1 && engineModel.pressure() > 0 {
		v.credit--
		until, ok := engineModel.evict()
		if !ok {
			v.credit = 0
			break
		}

		pages++
		if until > now {
			v.waiting++
			engineModel.env.Clock.At(until, (*threadBack)(v), 0)
			if v.waiting >= int(most) {
				v.credit = 0
			}
		}
	}

	if pages > 0 {
		engineModel.c.evicted += int64(pages)
		_, done := engineModel.env.Host.CPU(now, time.Duration(pages)*engineModel.cfg.CPU.Page.Std())
		next = max(next, done, engineModel.paced())
	}

	engineModel.env.Clock.At(next, v, 0)
}

// evict evicts one page. If the cache is too full, it drops a clean page; otherwise it writes the
// unused page that has been dirty longest. It returns false if there is no such page. If the page's
// history has to be read first, the page is written at until.
func (e *Engine) evict() (until vtime.Instant, ok bool) {
	now := e.env.Clock.Now()
	if float64(e.memory) > float64(e.cfg.Cache)*float64(e.cfg.EvictionTarget) && e.drop() {
		return now, true
	}

	// Twice the queue: each page may be passed over once because it was touched.
	for tries := 2 * len(e.queue); tries > 0 && len(e.queue) > 0; tries-- {
		x := e.queue[0]
		e.queue = e.queue[1:]
		t := e.trees[x.tree]
		p := t.pages.at(int(x.page))
		if p.state&dirty == 0 {
			p.state &^= queued
			continue
		}

		if p.state&touched != 0 {
			p.state &^= touched
			e.queue = append(e.queue, x)
			continue
		}

		p.state &^= queued
		if until := e.prepare(int(x.tree), int(x.page)); until > now {
			return until, true
		}

		e.write(t, int(x.page))
		return now, true
	}

	return now, false
}

// dropLook limits the pages that one search for a clean page examines; the next search continues
// from there.
const dropLook = 4096

// drop drops a clean page, of any tree, that was not used since the search last passed it.
func (e *Engine) drop() bool {
	for range dropLook {
		t := e.trees[e.hand]
		if t.hand++; t.hand >= t.pages.count {
			t.hand = -1
			e.hand = (e.hand + 1) % len(e.trees)
			continue
		}

		p := t.pages.at(t.hand)
		if p.state&(cached|dirty) != cached {
			continue
		}

		if p.state&touched != 0 {
			p.state &^= touched
			continue
		}

		if t == e.oplog && e.chance.Float() >= dropOplog {
			continue
		}

		p.state &^= cached
		e.memory -= p.memory()
		return true
	}
	return false
}

// write writes a dirty page and, with io_capacity, hands the file to the volume from time to time.
func (e *Engine) write(t *tree, i int) {
	n := e.clean(t, i)
	if e.cfg.IOCapacity == 0 {
		return
	}
	now := e.env.Clock.Now()
	e.c.paceUntil = max(e.c.paceUntil, now).Add(time.Duration(float64(n) / float64(e.cfg.IOCapacity) * 1e9))
	if t.unsynced >= max(10*units.MB, units.Size(e.cfg.IOCapacity)/10) && now >= e.c.rangeAfter {
		e.c.rangeAfter = now.Add(time.Second)
		t.file.WriteRange(0, units.Size(t.end)*unit)
		t.unsynced = 0
	}
}

// paced returns when the engine may write again.
func (e *Engine) paced() vtime.Instant { return e.c.paceUntil }

// appPagesMax limits how many pages one operation has to evict before it continues (assumed).
const appPagesMax = 20

// makeRoom makes an operation evict, or wait for eviction, while the cache is over a trigger.
func (e *Engine) makeRoom(p *pending) {
	if !e.overTrigger() {
		return
	}

	now := e.env.Clock.Now()
	pages := 0

	from := max(now, p.ready)
	for pages < appPagesMax && e.overTrigger() {
		until, ok := e.evict()
		if !ok {
			break
		}
		pages++
		if until > now {
			from = max(from, until)
			break
		}
	}

	_, done := e.env.Host.CPU(from, time.Duration(pages)*e.cfg.CPU.Page.Std())
	done = max(done, min(e.paced(), done.Add(time.Second)))
	p.waits[database.WaitCache] += int64(done.Sub(p.ready))
	e.c.appEvicted += int64(pages)
	e.c.appTime += int64(done.Sub(p.ready))
	p.ready = done
}
