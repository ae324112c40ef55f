package model

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

func TestCheck(t *testing.T) {
	cfg := Defaults()
	if err := cfg.Check().Err(); err != nil {
		t.Errorf("the defaults: %v", err)
	}

	for _, bad := range []struct {
		field, nearest string
		change         func(*Config)
	}{
		{"shared_buffers", "3328KiB", func(c *Config) { c.SharedBuffers = 1 }},
		{"checkpoint_timeout", "30s", func(c *Config) { c.CheckpointTimeout = units.Duration(time.Second) }},
		{"checkpoint_timeout", "24h0m0s", func(c *Config) { c.CheckpointTimeout = units.Duration(25 * time.Hour) }},
		{"checkpoint_completion_target", "1", func(c *Config) { c.CheckpointCompletionTarget = 1.5 }},
		{"checkpoint_flush_after", "2MiB", func(c *Config) { c.CheckpointFlushAfter = 3 * units.MiB }},
		{"max_wal_size", "32MiB", func(c *Config) { c.MaxWALSize = units.MiB }},
		{"max_connections", "1", func(c *Config) { c.MaxConnections = 0 }},
		{"wal_buffers", "32KiB", func(c *Config) { c.WALBuffers = 1 }},
		{"commit_delay", "100ms", func(c *Config) { c.CommitDelay = units.Duration(time.Second) }},
		{"bgwriter_delay", "10ms", func(c *Config) { c.BgwriterDelay = 0 }},
		{"row", "2032B", func(c *Config) { c.Row = 26 * units.KiB }},
		{"fillfactor", "0.1", func(c *Config) { c.FillFactor = 0 }},
		{"rows", "1", func(c *Config) { c.Rows = -1 }},
		{"rows", "16374562816", func(c *Config) { c.Rows = 1 << 60 }},
	} {
		cfg := Defaults()
		bad.change(&cfg)
		l := cfg.Check()
		if len(l) != 1 || l[0].Field != bad.field || l[0].Nearest != bad.nearest || l[0].Source == "" {
			t.Errorf("want one problem of %s, nearest %s: %#v", bad.field, bad.nearest, l)
		}
		if _, err := New(cfg, database.Env{}); err == nil || !strings.Contains(err.Error(), bad.field) {
			t.Errorf("New says %v of %s", err, bad.field)
		}
	}
}

// TestLayout: pgbench's tables at scale 100 have 163,935 pages of 61 rows and 27,323 leaves; at a
// fill factor of 90 %, 55 rows a page (pgbench -i, pg_class.relpages).
func TestLayout(t *testing.T) {
	b := newBench(t, Defaults(), labHost(), labVolume(), 1, 1)
	if n := b.engine.tables[heap].pages; n != 163_935 {
		t.Errorf("%d pages", n)
	}
	if n := b.engine.tables[index].pages; n != 27_323 {
		t.Errorf("%d leaves", n)
	}
	cfg := Defaults()
	cfg.FillFactor = 0.9
	if n, h := cfg.rowsPerPage(), cfg.historyPerPage(); n != 55 || h != 157 {
		t.Errorf("%d rows of accounts and %d of history a page, want 55 and 157", n, h)
	}
}

// TestGroupCommit: of transactions that arrive together, the first has a separate flush, and one more
// serves all the others.
func TestGroupCommit(t *testing.T) {
	cfg := Defaults()
	cfg.CPU = 0
	b := newBench(t, cfg, labHost(), labVolume(), 1, 1)
	for k := range uint64(50) {
		b.engine.Do(workload.Op{Kind: workload.Update, Key: k * 1000})
	}
	b.clock.Run(vtime.At(100 * time.Millisecond))
	if b.done != 50 || b.engine.n.walSyncs != 2 {
		t.Errorf("%d acknowledged by %d flushes, want 50 by 2", b.done, b.engine.n.walSyncs)
	}
}

func TestCommitDelay(t *testing.T) {
	perSync := func(delay time.Duration) float64 {
		cfg := exampleConfig()
		cfg.CommitDelay, cfg.CommitSiblings = units.Duration(delay), 1
		b := newBench(t, cfg, labHost(), labVolume(), 2000, 1)
		b.run(5*time.Second, time.Second)
		return float64(b.done) / float64(b.engine.n.walSyncs)
	}
	without, with := perSync(0), perSync(2*time.Millisecond)
	if with < 1.5*without {
		t.Errorf("%.2f transactions a flush without a delay, %.2f with one of 2 ms", without, with)
	}
}

// TestLogVolume: on a separate volume the log does not wait behind an unpaced checkpoint, and
// the checkpoint takes as long as before.
func TestLogVolume(t *testing.T) {
	cfg := exampleConfig()
	cfg.CheckpointCompletionTarget, cfg.CheckpointFlushAfter = 0, 0
	together := newBench(t, cfg, labHost(), labVolume(), 600, 1)
	apart := newBench(t, cfg, labHost(), labVolume(), 600, 1, labVolume())
	together.run(100*time.Second, 30*time.Second)
	apart.run(100*time.Second, 30*time.Second)

	p1, p2 := quantile(together.latencies(), 0.99), quantile(apart.latencies(), 0.99)
	if p1 < time.Second || p2 > 10*time.Millisecond {
		t.Errorf("p99 %v on one volume, %v on two: want seconds, and milliseconds", p1, p2)
	}

	if s1, s2 := together.engine.n.checkpointSyncMs, apart.engine.n.checkpointSyncMs; s2 < 0.6*s1 {
		t.Errorf("a checkpoint syncs for %g ms on one volume and %g ms on two", s1, s2)
	}

	if together.waits[database.WaitLogQueue]+together.waits[database.WaitLogTurn]+together.waits[database.WaitLogLimit] < together.waits[database.WaitCPU] {
		t.Errorf("where stalled transactions waited: %v", together.waits)
	}
}

// TestAsynchronousCommit: no client waits for the log, which is nevertheless durable soon afterwards.
func TestAsynchronousCommit(t *testing.T) {
	cfg := exampleConfig()
	cfg.SynchronousCommit = false
	b := newBench(t, cfg, labHost(), labVolume(), 300, 1)
	b.run(10*time.Second, 0)
	if all := b.latencies(); quantile(all, 0.99) > 5*time.Millisecond {
		t.Errorf("p99 %v", quantile(all, 0.99))
	}
	if n := b.engine.n.walSyncs; n < 40 || n > 52 {
		t.Errorf("%d flushes in 10 s, want one each 200 ms", n)
	}
	b.clock.Run(b.clock.Now().Add(time.Second))
	if w := &b.engine.wal; w.durable != w.inserted {
		t.Errorf("a second later the log is durable to %d of %d", w.durable, w.inserted)
	}
}

// TestRequestedCheckpoints happen every max_wal_size / (1 + completion target), minus the current
// segment, unless the timer is first.
func TestRequestedCheckpoints(t *testing.T) {
	cfg := exampleConfig()
	cfg.MaxWALSize = 20 * WALSegment
	b := newBench(t, cfg, labHost(), labVolume(), 600, 1)
	b.run(120*time.Second, 0)

	e := b.engine
	if e.n.checkpointsRequested < 3 || e.n.checkpointsTimed != 0 {
		t.Fatalf("%d requested and %d timed", e.n.checkpointsRequested, e.n.checkpointsTimed)
	}

	per := float64(e.n.walBytes) / float64(e.n.checkpointsRequested) / float64(WALSegment)
	if per < 8.5 || per > 11.5 { // 20 / 1.9 = 10 segments, minus one
		t.Errorf("%.1f segments a checkpoint", per)
	}

	if most := 21 * WALSegment; e.walSize() > int64(most) {
		t.Errorf("the log takes %d of %d", e.walSize(), most)
	}
}

// TestBackgroundWriter: if the cache is too small, it saves backends from writing.
func TestBackgroundWriter(t *testing.T) {
	run := func(pages int) *counters {
		cfg := exampleConfig()
		cfg.SharedBuffers, cfg.BgwriterLRUMaxpages = 32*units.MiB, pages
		b := newBench(t, cfg, labHost(), labVolume(), 300, 1)
		b.run(50*time.Second, time.Second)
		return &b.engine.n
	}
	off, on := run(0), run(100)
	if off.buffersClean != 0 || off.buffersBackend < 10_000 {
		t.Errorf("off: it wrote %d buffers, backends %d", off.buffersClean, off.buffersBackend)
	}
	if on.buffersClean < on.buffersBackend {
		t.Errorf("on: it wrote %d buffers, backends %d", on.buffersClean, on.buffersBackend)
	}
}

// TestColdReads: pages that are neither in shared buffers nor in the page cache are read from the
// volume, once for all who need them.
func TestColdReads(t *testing.T) {
	cfg := Defaults()
	cfg.Rows = 100_000_000
	host := labHost()
	host.Memory = 256 * units.MiB
	b := newBench(t, cfg, host, labVolume(), 100, 1)
	b.kind = func(*random.Stream) workload.Kind { return workload.Read }
	b.run(20*time.Second, time.Second)

	e := b.engine
	if got := b.device.Stats().Reads; got < b.done/2 || got > e.n.reads || e.n.walBytes > recordCheckpoint {
		t.Errorf("%d reads of the volume, %d of buffers, %d B of log for %d transactions", got, e.n.reads, e.n.walBytes, b.done)
	}

	if b.waits[database.WaitRead] == 0 {
		t.Error("nobody waited for a read")
	}

	before := e.n.reads
	for range 5 {
		e.Do(workload.Op{At: b.clock.Now(), Kind: workload.Read, Key: 77_777_777})
	}

	b.clock.Run(b.clock.Now().Add(time.Second))
	if n := e.n.reads - before; n > 2 {
		t.Errorf("five readers of one row read %d pages", n)
	}
}

// TestFlushAfter: adjacent pages are sent to the volume together.
func TestFlushAfter(t *testing.T) {
	b := newBench(t, Defaults(), labHost(), labVolume(), 1, 1)
	e := b.engine
	f := flusher{after: 4}
	for _, block := range []int64{pagesPerFile, 7, pagesPerFile - 1, 8} {
		p := heap.page(block)
		e.write(p)
		f.add(e, p)
	}
	if n := b.device.Stats().Writes; n != 3 { // 7 and 8; the end of one file; the start of the next
		t.Errorf("%d writes, want 3", n)
	}
	if b.host.DirtyBytes() != 0 || len(f.pages) != 0 {
		t.Errorf("%d bytes left dirty, %d pages left", b.host.DirtyBytes(), len(f.pages))
	}
}

// TestFullPageWrites: a page is logged whole once per interval; without the setting, never.
func TestFullPageWrites(t *testing.T) {
	for _, on := range []bool{true, false} {
		cfg := exampleConfig()
		cfg.FullPageWrites, cfg.FillFactor, cfg.HistoryRow = on, 0.9, 0
		b := newBench(t, cfg, labHost(), labVolume(), 1, 1)
		update := func() { // the same row
			b.engine.Do(workload.Op{At: b.clock.Now(), Kind: workload.Update, Key: 5})
			b.clock.Run(b.clock.Now().Add(time.Second))
		}

		update()
		update()
		first := b.engine.n.walImages
		b.clock.Run(vtime.At(61 * time.Second))
		update()

		if second := b.engine.n.walImages - first; on && (first != 1 || second != 1) || !on && first+second != 0 {
			t.Errorf("full_page_writes %t: %d images, and %d after a checkpoint", on, first, second)
		}
	}
}

// TestQuiet: a server without load stops writing.
func TestQuiet(t *testing.T) {
	b := newBench(t, exampleConfig(), labHost(), labVolume(), 100, 1)
	b.run(5*time.Second, 5*time.Minute)
	before := b.device.Stats()
	b.clock.Run(b.clock.Now().Add(10 * time.Minute))
	if after := b.device.Stats(); after != before || len(b.engine.cycles) != 1 || b.engine.n.checkpointsTimed < 14 {
		t.Errorf("%d checkpoints of %d by the clock; the volume goes from %+v to %+v", len(b.engine.cycles), b.engine.n.checkpointsTimed, before, after)
	}
}
