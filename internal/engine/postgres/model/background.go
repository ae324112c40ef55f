package model

import (
	"time"

	"plimsoll/internal/base/vtime"
)

// Constants of the background writer's estimate: PostgreSQL 15's bufmgr.c, BgBufferSync.
const (
	smoothingSamples = 16
	scanWholePool    = 2 * time.Minute // without demand it passes all buffers in that time
)

// backgroundWriter writes dirty, unused buffers before a backend needs them, as many as recent
// demand makes likely.
type backgroundWriter struct {
	out       flusher
	passed    uint64  // where it is, counted as buffers.swept is
	swept     uint64  // the sweep's position in the round before
	allocated int64   // demand up to the round before
	demand    float64 // buffers needed a round, smoothed
	density   float64 // buffers the sweep passes for each it takes, smoothed
}

func (e *Engine) startBackgroundWriter() {
	g := &e.background
	g.out = flusher{after: flushPages(e.cfg.BgwriterFlushAfter)}
	g.density = 10 // where BgBufferSync starts
	g.swept, g.passed = e.buffers.swept, e.buffers.swept
	e.clock.After(e.cfg.BgwriterDelay.Std(), e, evBackgroundWriter)
}

// backgroundWrite is a round of it.
func (e *Engine) backgroundWrite(now vtime.Instant) {
	e.clock.After(e.cfg.BgwriterDelay.Std(), e, evBackgroundWriter)
	g, s := &e.background, &e.buffers
	if e.cfg.BgwriterLRUMaxpages == 0 {
		return
	}

	needed, known := e.demand()
	reusable, written, scanned := known, 0, 0
	for left := uint64(len(s.all)) - (g.passed - s.swept); left > 0 && reusable < needed; left-- {
		b := int32(g.passed % uint64(len(s.all)))
		g.passed++
		scanned++

		f := &s.all[b]
		if f.pins > 0 || f.usage > 0 || f.ready > now {
			continue
		}

		reusable++
		if !f.dirty || f.lsn > e.wal.durable {
			continue
		}

		resume := e.write(f.page)
		s.clean(b)
		g.out.add(e, f.page)
		e.n.buffersClean++

		if written++; written >= e.cfg.BgwriterLRUMaxpages {
			e.n.maxWrittenClean++
			break
		}

		if resume > now {
			break // held for having dirtied too much: on in the next round
		}
	}

	if found := reusable - known; found > 0 { // of this round, as its scan
		g.density += float64((float64(scanned)/found - g.density) / smoothingSamples)
	}
}

// demand estimates how many buffers the next round will need, and how many of those between the
// sweep and the background writer are free to take.
func (e *Engine) demand() (needed, known float64) {
	g, s := &e.background, &e.buffers
	recent := float64(e.n.allocated - g.allocated)
	delta := float64(s.swept - g.swept)
	g.allocated, g.swept = e.n.allocated, s.swept

	if g.passed < s.swept {
		g.passed = s.swept // the sweep overtook it
	}

	if delta > 0 && recent > 0 {
		g.density += float64((delta/recent - g.density) / smoothingSamples)
	}

	known = float64(g.passed-s.swept) / max(g.density, 1)
	if g.demand <= recent {
		g.demand = recent
	} else {
		g.demand += float64((recent - g.demand) / smoothingSamples)
	}

	least := float64(len(s.all)) * float64(e.cfg.BgwriterDelay) / float64(scanWholePool)
	return max(float64(g.demand*float64(e.cfg.BgwriterLRUMultiplier)), least+known), known
}
