package model

import (
	"flag"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// TestMain runs fewer random cases than rapid's default of one hundred, because each is half a minute
// of a server, unless -rapid.checks asks for more.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		if err := flag.Set("rapid.checks", "30"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// drawConfig draws small engines, most of them too small for their load.
func drawConfig(t *rapid.T) Config {
	c := Defaults()
	c.MaxConnections = rapid.IntRange(1, 40).Draw(t, "connections")
	c.SharedBuffers = PageSize * units.Size(rapid.IntRange(4*c.MaxConnections+16, 3000).Draw(t, "buffers"))
	c.Rows = rapid.Int64Range(1, 200_000).Draw(t, "rows")
	c.Row = units.Size(rapid.IntRange(24, 2032).Draw(t, "row"))
	c.FillFactor = units.Ratio(rapid.SampledFrom([]float64{0.1, 0.9, 1}).Draw(t, "fillfactor"))
	c.HistoryRow = units.Size(rapid.SampledFrom([]int{0, 48, 2032}).Draw(t, "history"))
	c.CheckpointTimeout = units.Duration(30 * time.Second)
	c.CheckpointCompletionTarget = units.Ratio(rapid.SampledFrom([]float64{0, 0.5, 0.9, 1}).Draw(t, "target"))
	c.CheckpointFlushAfter = units.Size(rapid.SampledFrom([]int{0, 8192, 256 << 10}).Draw(t, "flush after"))
	c.BackendFlushAfter = units.Size(rapid.SampledFrom([]int{0, 64 << 10}).Draw(t, "backend flush after"))
	c.MaxWALSize = units.Size(rapid.IntRange(2, 20).Draw(t, "max_wal_size")) * WALSegment
	c.WALBuffers = units.Size(rapid.SampledFrom([]int{0, 32 << 10}).Draw(t, "wal_buffers"))
	c.JustLoaded = rapid.Bool().Draw(t, "just_loaded")
	c.FullPageWrites = rapid.Bool().Draw(t, "full_page_writes")
	c.SynchronousCommit = rapid.Bool().Draw(t, "synchronous_commit")
	c.CommitDelay = units.Duration(rapid.IntRange(0, 1).Draw(t, "commit_delay")) * units.Duration(time.Millisecond)

	return c
}

func drawBench(t *rapid.T, tb testing.TB) *bench {
	host := labHost()
	host.Memory = units.Size(rapid.SampledFrom([]int{64, 1024}).Draw(t, "memory")) * units.MiB
	v := &throttle{iops: rapid.Int64Range(200, 5000).Draw(t, "iops"), bytes: rapid.Int64Range(4e6, 1e8).Draw(t, "bytes"), latency: units.Duration(time.Millisecond)}
	b := newBench(tb, drawConfig(t), host, v, rapid.IntRange(50, 2000).Draw(t, "tps"), random.Seed(rapid.Uint64().Draw(t, "seed")))
	b.waiting = map[units.Size]bool{}
	b.kind = func(s *random.Stream) workload.Kind { return workload.Kind(s.Below(workload.Kinds)) }
	return b
}

// check checks what must be true of an engine at any time.
func (e *Engine) check(t interface{ Errorf(string, ...any) }) {
	dirty, marked := 0, 0
	for b := range e.buffers.all[:e.buffers.used] {
		f := &e.buffers.all[b]
		if f.dirty {
			dirty++
		} else if f.marked {
			t.Errorf("buffer %d is clean and still to be written by the checkpoint", b)
		}

		if f.marked {
			marked++
		}

		if got := e.buffers.find(f.page); got != int32(b) {
			t.Errorf("page %d is in buffer %d and is looked up in %d", f.page, b, got)
		}
	}

	if dirty != e.buffers.dirty || dirty > len(e.buffers.all) {
		t.Errorf("%d dirty buffers of %d, counted %d", dirty, len(e.buffers.all), e.buffers.dirty)
	}

	if marked > 0 && e.checkpoint.phase != writing {
		t.Errorf("%d pages wait for a checkpoint that does not write", marked)
	}

	if s := &e.segments; (e.wal.durable-1)/int64(WALSegment) > s.last || s.first > s.last || s.awaited && !s.making {
		t.Errorf("the log is durable to %d in segments %d to %d, one being made: %v, waited for: %v", e.wal.durable, s.first, s.last, s.making, s.awaited)
	}

	if w := &e.wal; w.durable > w.written || w.written > w.inserted {
		t.Errorf("the log is durable to %d, written to %d, inserted to %d", w.durable, w.written, w.inserted)
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := drawBench(rt, t)
		e := b.engine
		values, before := make([]float64, len(e.Metrics())), make([]float64, len(e.Metrics()))
		b.until = vtime.At(40 * time.Second)
		b.clock.At(0, b, 0)

		for s := time.Second; s < 40*time.Second; s += 3 * time.Second {
			b.clock.Run(vtime.At(s))
			e.check(rt)
			e.Sample(values)
			for k, m := range e.Metrics() {
				if values[k] < before[k] && m.Name != "pg_stat_activity_count" && m.Name != "pg_stat_activity_max_tx_duration" {
					rt.Errorf("%s falls from %g to %g", m.Name, before[k], values[k])
				}
			}
			copy(before, values)
		}

		// Without load, everything ends, and a checkpoint leaves nothing dirty.
		for range 100 {
			b.clock.Run(b.clock.Now().Add(30 * time.Second))
			if b.done == b.sent && e.buffers.dirty == 0 && e.checkpoint.phase == idle {
				break
			}
		}

		e.check(rt)
		for _, text := range b.errors {
			rt.Error(text)
		}

		if b.done != b.sent || len(b.waiting) != 0 || e.active != 0 || slices.ContainsFunc(e.ops, func(o op) bool { return o.begun != vtime.Never }) {
			rt.Errorf("%d sent, %d acknowledged, %d active", b.sent, b.done, e.active)
		}

		for i := range e.buffers.all {
			if e.buffers.all[i].pins != 0 {
				rt.Fatalf("buffer %d is pinned %d times by nobody", i, e.buffers.all[i].pins)
			}
		}

		checkCycles(rt, e)
	})
}

// checkCycles checks that checkpoints follow each other, and that each page that was dirty when one
// began was written by it exactly once, unless another process had done so.
func checkCycles(t *rapid.T, e *Engine) {
	end := vtime.Instant(0)
	written := int64(0)
	for k, c := range e.cycles {
		if c.Start < end || c.End < c.Start {
			t.Errorf("checkpoint %d: from %d to %d, after one that ended at %d", k, c.Start, c.End, end)
		}
		end = c.End
		written += c.Written
		if c.Written > c.Dirty {
			t.Errorf("checkpoint %d wrote %d of %d dirty bytes", k, c.Written, c.Dirty)
		}
	}

	if n := len(e.cycles); n > 0 && end != vtime.Never {
		if c, p := e.cycles[n-1], &e.checkpoint; c.Dirty != c.Written+p.skipped*int64(PageSize) {
			t.Errorf("the last checkpoint found %d bytes dirty, wrote %d and left %d pages to others", c.Dirty, c.Written, p.skipped)
		}
	}

	if written != e.n.buffersCheckpoint*int64(PageSize) {
		t.Errorf("checkpoints wrote %d bytes, counted %d buffers", written, e.n.buffersCheckpoint)
	}

	if e.n.checkpointsTimed+e.n.checkpointsRequested != int64(len(e.cycles))+e.checkpoint.unneeded {
		t.Errorf("%d checkpoints, counted %d and %d", len(e.cycles), e.n.checkpointsTimed, e.n.checkpointsRequested)
	}
}

// TestSameSeedSameBytes runs two engines with the same seed, one of which is sampled all the time.
func TestSameSeedSameBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := drawConfig(rt)
		seed := random.Seed(rapid.Uint64().Draw(rt, "seed"))
		run := func(step time.Duration) ([]float64, []int64) {
			b := newBench(t, cfg, labHost(), labVolume(), 300, seed)
			b.until = vtime.At(35 * time.Second)
			b.clock.At(0, b, 0)
			values := make([]float64, len(b.engine.Metrics()))
			for s := time.Duration(0); s < 40*time.Second; s += step {
				b.clock.Run(vtime.At(s))
				b.engine.Sample(values)
			}
			b.clock.Run(vtime.At(40 * time.Second))
			b.engine.Sample(values)
			return values, slices.Concat(b.by...)
		}

		v1, l1 := run(time.Second)
		v2, l2 := run(13 * time.Second)
		if d := cmp.Diff(v1, v2); d != "" {
			rt.Error(d)
		}

		if !slices.Equal(l1, l2) {
			rt.Error("latencies differ")
		}
	})
}

// TestBuffersAsAMap compares the cache's hash table with a map.
func TestBuffersAsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newBuffers(rapid.IntRange(1, 60).Draw(rt, "buffers"))
		at := map[pageID]int32{}
		for range rapid.IntRange(1, 400).Draw(rt, "steps") {
			// A small set of pages, whose slots in the table collide.
			p := pageID(rapid.Uint32Range(0, 200).Draw(rt, "page")) << rapid.SampledFrom([]int{0, 24}).Draw(rt, "shift")
			want, ok := at[p]
			if !ok {
				want = none
			}

			if got := s.find(p); got != want {
				rt.Fatalf("page %d is looked up in %d, is in %d", p, got, want)
			}

			if ok {
				continue
			}

			b, held, found := s.victim(0, math.MaxInt64)
			if !found {
				rt.Fatal("no victim among buffers that are all free")
			}

			if held {
				delete(at, s.all[b].page)
			}

			s.assign(b, p, held).usage = uint8(rapid.IntRange(0, usageMax).Draw(rt, "usage"))
			at[p] = b
		}
	})
}

// TestNoVictim: pinned buffers are left alone, and so are those whose log is not durable.
func TestNoVictim(t *testing.T) {
	s := newBuffers(2)
	for p := range pageID(2) {
		b, held, _ := s.victim(0, 0)
		s.assign(b, p, held)
	}
	s.all[0].pins = 1
	s.change(1, 10)
	if b, _, ok := s.victim(0, 9); ok {
		t.Errorf("buffer %d was taken: 0 is pinned, the log of 1 is durable to 9 of 10", b)
	}
	if b, held, ok := s.victim(0, 10); !ok || b != 1 || !held {
		t.Errorf("buffer %d, %t, %t: want 1", b, held, ok)
	}
}

func TestNeedsAVolume(t *testing.T) {
	b := newBench(t, Defaults(), labHost(), labVolume(), 1, 1)
	env := b.env
	env.Volumes = nil
	if _, err := New(Defaults(), env); err == nil {
		t.Error("an engine without a volume")
	}
	env = b.env
	small := kernel.Defaults()
	small.Memory = 100 * units.MiB
	env.Host = kernel.NewHost(small, &b.clock, 1)
	if _, err := New(Defaults(), env); err == nil {
		t.Error("shared buffers larger than the memory")
	}
}
