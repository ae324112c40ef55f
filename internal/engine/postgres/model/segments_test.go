package model

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// segmentsConfig is a server that was just loaded with a million rows and makes a checkpoint every 30
// s.
func segmentsConfig() Config {
	cfg := Defaults()
	cfg.SharedBuffers, cfg.MaxWALSize, cfg.Rows, cfg.JustLoaded = 256*units.MiB, 8*units.GiB, 1_000_000, true
	cfg.CheckpointTimeout = units.Duration(30 * time.Second)
	return cfg
}

// As with PostgreSQL 15.18: 400 updates per second to a million rows that pgbench has just loaded use
// up the eight segments left over from loading. The server creates two more before the first checkpoint
// has ended, and none after it. From then on, each checkpoint recycles five. While a segment is being
// created nothing commits, for as long as writing its 16 MiB takes.
func TestSegmentsOfAFreshServer(t *testing.T) {
	b := newBench(t, segmentsConfig(), labHost(), labVolume(), 400, 1)
	b.until = vtime.At(130 * time.Second)
	b.clock.At(0, b, 0)

	s := &b.engine.segments
	if s.last != 8 {
		t.Errorf("loading left segments up to the %d.", s.last)
	}

	made, recycled := 0, []int64{}
	for was := *s; b.clock.Now() < b.until; was = *s {
		b.clock.Run(b.clock.Now().Add(10 * time.Millisecond))
		switch n := s.last - was.last; {
		case s.first > was.first:
			recycled = append(recycled, n)
		case n > 0:
			made++
			if len(recycled) > 0 {
				t.Errorf("a segment is made at %v, after %d checkpoints", time.Duration(b.clock.Now()), len(recycled))
			}
		}
	}

	if made != 2 {
		t.Errorf("%d segments are made, two were", made)
	}

	if len(recycled) != 3 || min(recycled[0], recycled[1], recycled[2]) < 4 || max(recycled[0], recycled[1], recycled[2]) > 6 {
		t.Errorf("checkpoints recycle %v segments, five each did", recycled)
	}

	all := b.latencies() // a slice of the throttle passes at its beginning
	if least := time.Duration(WALSegment) * time.Second / 48_000_000; quantile(all, 1) < least-slice || quantile(all, 1) > 2*least {
		t.Errorf("the slowest commit took %v, a segment takes %v to write", quantile(all, 1), least)
	}
}

// A server with more data has all the segments that max_wal_size lets it keep, more than a checkpoint
// interval needs. So does one that has run for a long time.
func TestSegmentsThatSuffice(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"large":    func(c *Config) { c.Rows, c.MaxWALSize = 100_000_000, units.GiB },
		"long run": func(c *Config) { c.MaxWALSize, c.JustLoaded = units.GiB, false },
	} {
		cfg := segmentsConfig()
		change(&cfg)
		b := newBench(t, cfg, labHost(), labVolume(), 400, 1)
		last := b.engine.segments.last
		b.run(130*time.Second, time.Second)
		if s := &b.engine.segments; last < 50 || last > 64 || s.last-s.first > 64 {
			t.Errorf("%s: there are segments to the %d. at first, then %d to %d: max_wal_size is 64", name, last, s.first, s.last)
		}
		if b.engine.segments.fresh.LastSync().IOs != 0 {
			t.Errorf("%s: it made a segment", name)
		}
	}
}
