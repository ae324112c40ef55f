package model

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

func TestConformance(t *testing.T) {
	for _, synchronous := range []bool{false, true} {
		cfg := Defaults()
		cfg.Database, cfg.Buffers, cfg.Cycle, cfg.Synchronous = 64*units.MiB, 2*units.MiB, units.Duration(10*time.Second), synchronous
		enginetest.Run(t, enginetest.Case{
			Volumes: []string{"data", "wij"}, For: 25 * time.Second,
			New: func(env database.Env) (database.Model, error) { return New(cfg, &env) },
			Op: func(n uint64, chance *random.Stream) workload.Op {
				return workload.Op{Kind: workload.Kind(n % workload.Kinds), Key: chance.Below(1 << 40), Size: 100}
			},
		})
	}
}

// A watched volume logs its requests and when they are done.
type watched struct {
	volume.Volume
	name string
	log  *[]io
}

type io struct {
	name            string
	r               volume.Request
	submitted, done vtime.Instant
}

func (w watched) Submit(now vtime.Instant, r volume.Request) volume.Completion {
	c := w.Volume.Submit(now, r)
	*w.log = append(*w.log, io{w.name, r, now, c.Done})
	return c
}

// A trial is a client that submits operations at given instants.
type trial struct {
	rt    *rapid.T
	clock vtime.Clock
	x     *Instance
	ops   []workload.Op
	next  int
	seen  []int
	trace []int64
	ios   []io

	updated []vtime.Instant // when updates were acknowledged
}

func (a *trial) Fire(now vtime.Instant, _ uint64) {
	op := a.ops[a.next]
	a.next++
	if a.next < len(a.ops) {
		a.clock.At(a.ops[a.next].At, a, 0)
	}
	a.x.Do(op)
}

func (a *trial) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	a.seen[op.Class]++
	sum := int64(0)
	for i, x := range w {
		if x < 0 {
			a.rt.Fatalf("%d ns for %v", x, database.Wait(i))
		}
		sum += x
	}

	if took := int64(now.Sub(op.At)); sum != took {
		a.rt.Fatalf("operation took %d ns, its waits are %d: %v", took, sum, *w)
	}

	if b := &a.x.buffers; b.unclean() > max(a.x.hold, 1) || len(b.frames) > b.room {
		a.rt.Fatalf("%d of %d buffers are unclean, over %d; %d in use", b.unclean(), b.room, a.x.hold, len(b.frames))
	}

	if op.Kind.Writes() {
		a.updated = append(a.updated, now)
	}

	a.trace = append(a.trace, int64(now), int64(op.Class), sum)
}

func try(t testing.TB, rt *rapid.T, cfg Config, latency, wijLatency volume.Latency, iops units.Frequency, ops []workload.Op) *trial {
	a := &trial{rt: rt, ops: ops, seen: make([]int, 256)}
	host := kernel.NewHost(kernel.Defaults(), &a.clock, 1)

	var devices []*kernel.Device
	for i, l := range []volume.Latency{latency, wijLatency} {
		name := []string{"data", "wij"}[i]
		vc := volume.Config{Name: name, Sustained: volume.Rate{IOPS: iops}, Latency: [volume.Ops]volume.Latency{l, l, l}}
		devices = append(devices, host.Attach(name, watched{volume.MustNew(vc, 1, nil), name, &a.ios}))
	}

	x, err := New(cfg, &database.Env{Clock: &a.clock, Host: host, Seed: 1, Client: a, Volumes: devices})
	if err != nil {
		t.Fatal(err)
	}

	a.x = x
	a.clock.At(ops[0].At, a, 0)
	a.clock.Run(vtime.At(2 * time.Hour))

	return a
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := Defaults()
		cfg.Database, cfg.Buffers = 4*units.MiB, units.Size(rapid.IntRange(128, 400).Draw(rt, "buffers"))*BlockSize
		cfg.Cycle = units.Duration(rapid.IntRange(1, 20).Draw(rt, "cycle s")) * units.Duration(time.Second)
		cfg.Writes, cfg.WIJWrites = rapid.IntRange(1, 80).Draw(rt, "writes"), rapid.IntRange(1, 4).Draw(rt, "wij writes")
		cfg.Synchronous = rapid.Bool().Draw(rt, "synchronous")
		cfg.HoldDirty = units.Ratio(rapid.Float64Range(0.1, 0.9).Draw(rt, "hold"))
		cfg.WakeDirty = cfg.HoldDirty * units.Ratio(rapid.Float64Range(0.1, 1).Draw(rt, "wake"))
		draw := func(name string) volume.Latency {
			d := units.Duration(rapid.IntRange(0, 5000).Draw(rt, name)) * units.Duration(time.Microsecond)
			l, err := volume.NewLatency(volume.Quantile{Share: 0, Takes: d / 2}, volume.Quantile{Share: 1, Takes: d})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}

		data, wij := draw("latency"), draw("wij latency")
		iops := rapid.SampledFrom([]units.Frequency{0, 500}).Draw(rt, "iops")
		ops := make([]workload.Op, rapid.IntRange(1, 256).Draw(rt, "operations"))
		at := vtime.Instant(0)

		gap := rapid.SampledFrom([]int{0, 100, 100_000}).Draw(rt, "gap µs")
		for i := range ops {
			at = at.Add(time.Duration(rapid.IntRange(0, gap).Draw(rt, "gap")) * time.Microsecond)
			ops[i] = workload.Op{At: at, Kind: workload.Kind(rapid.IntRange(0, 2).Draw(rt, "kind")), Key: rapid.Uint64Range(0, 600).Draw(rt, "key"), Size: 100, Class: uint8(i)}
		}

		a := try(t, rt, cfg, data, wij, iops, ops)
		for i := range ops {
			if a.seen[i] != 1 {
				rt.Fatalf("operation %d was acknowledged %d times", i, a.seen[i])
			}
		}

		if n := a.x.buffers.unclean(); n != 0 {
			rt.Fatalf("%d buffers unclean at the end", n)
		}

		a.imageFirst(rt)
		if !cfg.Synchronous { // otherwise an update is acknowledged when its record is durable
			a.journalFirst(rt)
		}

		if again := try(t, rt, cfg, data, wij, iops, ops); !slices.Equal(a.trace, again.trace) {
			rt.Fatal("two identical runs differ")
		}
	})
}

// imageFirst checks each cycle's order: the blocks to the WIJ, then its mark, and only after that
// the first block of the databases. Both must have the same number of blocks.
func (a *trial) imageFirst(rt *rapid.T) {
	var image units.Size // bytes in the WIJ since its last mark
	var blocks int       // bytes written to databases since that mark
	var imageDone, marked, written vtime.Instant

	valid := false
	for _, i := range a.ios {
		switch {
		case i.r.Op != volume.Write:
		case i.name == "wij" && i.r.Offset == 0 && !valid: // its mark
			if i.submitted < imageDone {
				rt.Fatalf("the WIJ is marked at %d, its writes are done at %d", i.submitted, imageDone)
			}
			valid, marked, blocks, written = true, i.done, 0, 0
		case i.name == "wij" && i.r.Offset == 0: // and cleared
			if i.submitted < written || image != units.Size(blocks)*BlockSize {
				rt.Fatalf("the WIJ is cleared at %d with %d bytes; %d blocks are written at %d", i.submitted, image, blocks, written)
			}
			valid, image = false, 0
		case i.name == "wij":
			image += i.r.Length
			imageDone = max(imageDone, i.done)
		case i.r.Offset < a.x.cfg.Database: // not the journal
			if !valid || i.submitted < marked {
				rt.Fatalf("a block is written at %d; the WIJ is valid: %v, from %d", i.submitted, valid, marked)
			}
			blocks++
			written = max(written, i.done)
		}
	}

	if valid {
		rt.Fatal("a WIJ is still valid at the end")
	}
}

// journalFirst checks that before a cycle's first block goes to the databases, a write of the journal
// contains the last update that the cycle can have included.
func (a *trial) journalFirst(rt *rapid.T) {
	for _, cycle := range a.x.Cycles() {
		var update vtime.Instant = -1
		for _, at := range a.updated {
			if at < cycle.Start {
				update = max(update, at)
			}
		}

		durable := vtime.Never
		for _, i := range a.ios {
			switch {
			case i.r.Op != volume.Write || i.name != "data":
			case i.r.Offset >= a.x.cfg.Database:
				if i.submitted >= update {
					durable = min(durable, i.done)
				}
			case i.submitted >= cycle.Start && i.submitted < cycle.End && i.submitted < durable:
				rt.Fatalf("cycle %+v writes a block at %d; the update of %d is in the journal at %d", cycle, i.submitted, update, durable)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	cfg := Defaults()
	if l := cfg.Check(); len(l) > 0 {
		t.Fatal(l)
	}
	cfg.Database, cfg.Cycle, cfg.WakeDirty, cfg.HoldDirty, cfg.Writes = 8*units.TiB, 0, 0.99, 0.96, 0
	got := cfg.Check().Error()
	for _, want := range []string{
		"database: 8TiB out of range (limit: 1MiB to 4TiB); nearest legal value: 4TiB",
		"cycle: 0s", "wake_dirty: ", "hold_dirty: ", "database_writes: 0 writes in flight: want 1 to 16384",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A process that reads forever.
type process struct{ b *harness }

func (p process) Done(vtime.Instant, *workload.Op, *database.Waits) { p.b.done++; p.b.read() }

func BenchmarkRead(b *testing.B) {
	harness := systems[1].harness(b, caseConfig())
	harness.instance.client = process{harness}
	for range 50 {
		harness.read()
	}
	harness.run(10 * time.Second)
	b.ReportAllocs()
	for from := harness.done; harness.done-from < b.N; {
		harness.run(10 * time.Millisecond)
	}
}

// BenchmarkUpdate measures an update with its share of the daemon's cycles.
func BenchmarkUpdate(b *testing.B) {
	cfg := caseConfig()
	cfg.Cycle = units.Duration(10 * time.Second)
	harness := systems[1].harness(b, cfg)
	harness.hot, harness.gap, harness.until = 100_000, 50*time.Microsecond, 1<<60
	harness.clock.At(0, harness, 0)
	harness.run(25 * time.Second)
	b.ReportAllocs()
	for from := harness.instance.counters.updates; harness.instance.counters.updates-from < int64(b.N); {
		harness.run(10 * time.Millisecond)
	}
}
