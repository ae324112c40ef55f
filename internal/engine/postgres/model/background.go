package model

import (
	"time"

	"plimsoll/internal/base/vtime"
)

// Constants of the background writer's estimate: PostgreSQL 15's bufmgr.c, BgBufferSync.
const (
	smoothingSamples = 16
	scanWholePool    = 2 * time.Minute // without demand it scans the whole pool in this time
)

// backgroundWriter writes dirty, unused buffers before backends need them. Recent demand sets how
// many.
type backgroundWriter struct {
	out       flusher
	passed    uint64  // its position, counted like buffers.swept
	swept     uint64  // the sweep's position in the previous round
	allocated int64   // demand up to the previous round
	demand    float64 // buffers needed per round, smoothed
	density   float64 // buffers the sweep passes per buffer it takes, smoothed
}

func (e *Engine) startBackgroundWriter() {
	g := &e.background
	g.out = flusher{after: flushPages(e.cfg.BgwriterFlushAfter)}
	g.density = 10 // BgBufferSync's initial value
	g.swept, g.passed = e.buffers.swept, e.buffers.swept
	e.clock.After(e.cfg.BgwriterDelay.Std(), e, evBackgroundWriter)
}

// backgroundWrite runs one round of the background writer.
func (e *Engine) backgroundWrite(now vtime.Instant) {
	e.clock.After(e.cfg.BgwriterDelay.Std(), e, evBackgroundWriter)
	backgroundWriter, pool := &e.background, &e.buffers
	if e.cfg.BgwriterLRUMaxpages == 0 {
		return
	}

	// It stops once enough reusable buffers are ahead of the sweep, or after a full circle.
	needed, known := e.demand()
	reusable, written, scanned := known, 0, 0
	for left := uint64(len(pool.all)) - (backgroundWriter.passed - pool.swept); left > 0 &&
		reusable < needed; left-- {
		b := int32(backgroundWriter.passed % uint64(len(pool.all)))
		backgroundWriter.passed++
		scanned++

		f := &pool.all[b]
		if f.pins > 0 || f.usage > 0 || f.ready > now {
			continue
		}

		// A page may be written only after its log is durable.
		reusable++
		if !f.dirty || f.lsn > e.wal.durable {
			continue
		}

		resume := e.write(f.page)
		pool.clean(b)
		backgroundWriter.out.add(e, f.page)
		e.n.buffersClean++

		if written++; written >= e.cfg.BgwriterLRUMaxpages {
			e.n.maxWrittenClean++
			break
		}

		if resume > now {
			break // the kernel throttles it: it continues in the next round
		}
	}

	if found := reusable - known; found > 0 { // only this round's, like scanned
		backgroundWriter.density += float64((float64(scanned)/found - backgroundWriter.density) / smoothingSamples)
	}
}

// demand estimates how many buffers the next round needs, and how many of the buffers between the
// sweep and the background writer are reusable.
func (e *Engine) demand() (needed, known float64) {
	g, s := &e.background, &e.buffers
	recent := float64(e.n.allocated - g.allocated)
	delta := float64(s.swept - g.swept)
	g.allocated, g.swept = e.n.allocated, s.swept

	if g.passed < s.swept {
		g.passed = s.swept // the sweep overtook it
	}

	// The density follows the sweep slowly, in both directions.
	if delta > 0 && recent > 0 {
		g.density += float64((delta/recent - g.density) / smoothingSamples)
	}

	// Demand follows an increase immediately and a decrease slowly, as in BgBufferSync.
	known = float64(g.passed-s.swept) / max(g.density, 1)
	if g.demand <= recent {
		g.demand = recent
	} else {
		g.demand += float64((recent - g.demand) / smoothingSamples)
	}

	least := float64(len(s.all)) * float64(e.cfg.BgwriterDelay) / float64(scanWholePool)
	return max(float64(g.demand*float64(e.cfg.BgwriterLRUMultiplier)), least+known), known
}
