package model

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/base/units"
)

// XLogCheckpointNeeded is called for the segment that was just finished. With a max_wal_size of 64 MiB,
// which is two segments, a checkpoint is requested when the log has passed two segment ends since the
// last checkpoint's redo position; with 128 MiB, four.
func TestRequestAfterTheFinishedSegment(t *testing.T) {
	for size, want := range map[units.Size]int64{64 * units.MiB: 2, 128 * units.MiB: 4} {
		cfg := exampleConfig()
		cfg.MaxWALSize, cfg.CheckpointTimeout = size, units.Duration(time.Hour)
		b := newBench(t, cfg, labHost(), labVolume(), 1, 1)

		e := b.engine
		if e.checkpoint.segments != want {
			t.Fatalf("%s are %d segments", size, e.checkpoint.segments)
		}

		redo := e.checkpoint.redo / int64(WALSegment)
		for e.n.checkpointsRequested == 0 {
			e.insertLog(64 << 10)
		}

		if got := e.wal.inserted/int64(WALSegment) - redo; got != want {
			t.Errorf("%s: requested after %d ends of segments, want %d", size, got, want)
		}
	}
}

// BufferSync calls CheckpointWriteDelay for every page that it processes. A checkpoint whose pages
// another process has written sleeps for them as if it had written them itself.
func TestNapsOverSkippedPages(t *testing.T) {
	cfg := exampleConfig()
	b := newBench(t, cfg, labHost(), labVolume(), 200, 1)
	b.until = b.clock.Now().Add(30 * time.Second)
	b.clock.At(b.clock.Now(), b, 0)
	b.clock.Run(b.until)
	e := b.engine
	e.beginCheckpoint(b.clock.Now(), false)

	pages := len(e.checkpoint.pages)
	for _, p := range e.checkpoint.pages {
		e.buffers.clean(e.buffers.find(p))
	}

	if pages < 1000 {
		t.Fatalf("%d pages are dirty", pages)
	}

	began := b.clock.Now()
	b.clock.Run(began.Add(10 * time.Second))
	c := &e.checkpoint
	if c.phase != writing || c.skipped == 0 {
		t.Fatalf("after 10 s it is in phase %d and has skipped %d of %d pages", c.phase, c.skipped, pages)
	}

	// The checkpoint is on schedule: 10 s of 0.9 minutes.
	progress, due := float64(c.next)/float64(pages), 10/(cfg.CheckpointTimeout.Std().Seconds()*float64(cfg.CheckpointCompletionTarget))
	if math.Abs(progress-due) > .02 {
		t.Errorf("after 10 s it is through %.3f of its pages, want %.3f", progress, due)
	}
}

// The background writer learns the density from what it scanned and found in the round. It learns
// nothing new while bgwriter_lru_maxpages is 0.
func TestDensityOfTheRound(t *testing.T) {
	cfg := exampleConfig()
	b := newBench(t, cfg, labHost(), labVolume(), 1, 1)

	e, g := b.engine, &b.engine.background
	for k := range e.buffers.all {
		f := &e.buffers.all[k]
		f.usage, f.pins, f.dirty = 0, 0, false
	}

	g.swept, g.passed, g.allocated = e.buffers.swept, e.buffers.swept, e.n.allocated
	was := g.density
	e.n.allocated += 100
	e.backgroundWrite(b.clock.Now())

	// All buffers are free, so each one that it scans counts as found, whatever comes before it.
	want := was + (1-was)/smoothingSamples
	if math.Abs(g.density-want) > 1e-9 {
		t.Errorf("the density is %v, want %v", g.density, want)
	}

	e.n.allocated += 400
	known := float64(g.passed-e.buffers.swept) / g.density
	if known < 1 {
		t.Fatal("nothing lies between the sweep and the writer")
	}

	e.backgroundWrite(b.clock.Now())
	if want += (1 - want) / smoothingSamples; math.Abs(g.density-want) > 1e-9 {
		t.Errorf("the density is %v after a second round, want %v", g.density, want)
	}

	e.cfg.BgwriterLRUMaxpages = 0
	demand := g.demand
	e.n.allocated += 10_000
	e.backgroundWrite(b.clock.Now())

	if g.demand != demand {
		t.Errorf("switched off, it estimates a demand of %v", g.demand)
	}
}
