package streams

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/engine"
	"plimsoll/engine/enginetest"
	"plimsoll/linux"
	"plimsoll/random"
	"plimsoll/units"
	"plimsoll/volume"
	"plimsoll/vtime"
	"plimsoll/workload"
)

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"appends":       func(*Config) {},
		"random writes": func(c *Config) { c.RandomWrites = true },
		"prewritten":    func(c *Config) { c.Prewritten = true },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Defaults()
			change(&cfg)
			enginetest.Run(t, enginetest.Case{
				Volumes: []string{"data", "wal"},
				New:     func(env engine.Env) (engine.Engine, error) { return New(cfg, env) },
				Op: func(n uint64, chance *random.Stream) workload.Op {
					return workload.Op{Kind: workload.Kind(n % workload.Kinds), Key: chance.Below(1 << 20), Size: 2300}
				},
			})
		})
	}
}

// A loop is clients that ask again as soon as they are answered.
type loop struct {
	clock   vtime.Clock
	host    *linux.Host
	device  *linux.Device
	streams *Engine
	op      workload.Op
	until   vtime.Instant
	took    []time.Duration
}

func newLoop(t interface{ Fatal(...any) }, cfg Config, v volume.Config, fs linux.FileSystem) *loop {
	l := &loop{}
	hc := linux.Defaults()
	hc.FileSystem = fs
	l.host = linux.NewHost(hc, &l.clock, 1)
	l.device = l.host.Attach("data", volume.MustNew(v, 1, nil))
	l.device.SetVolatileCache(true) // count the flushes
	x, err := New(cfg, engine.Env{Clock: &l.clock, Host: l.host, Seed: 1, Client: l, Volumes: []*linux.Device{l.device}})
	if err != nil {
		t.Fatal(err)
	}
	l.streams = x
	return l
}

func (l *loop) run(clients int, op workload.Op, d time.Duration) {
	l.op, l.until = op, l.clock.Now().Add(d)
	for range clients {
		l.ask()
	}
	l.clock.Run(l.until.Add(time.Minute))
}

func (l *loop) ask() {
	op := l.op
	op.At = l.clock.Now()
	l.streams.Do(op)
}

func (l *loop) Done(now vtime.Instant, op *workload.Op, _ *engine.Waits) {
	l.took = append(l.took, now.Sub(op.At))
	if now < l.until {
		l.ask()
	}
}

func (l *loop) median() time.Duration {
	slices.Sort(l.took)
	return l.took[len(l.took)/2]
}

// steady is a volume whose every operation takes as long.
func steady(iops units.Frequency, takes time.Duration) volume.Config {
	c := volume.Config{Name: "steady", Size: 100 * units.GiB, Sustained: volume.Rate{IOPS: iops}}
	for op := range c.Latency {
		c.Latency[op] = volume.Constant(units.Duration(takes))
	}
	return c
}

// Processes that read one block after the other get a block each latency, until the limit binds; from
// there on each waits for its turn among all: the two lines of any datasheet's plot.
func TestClosedLoopIsArithmetic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clients := rapid.IntRange(1, 64).Draw(rt, "clients")
		iops := rapid.SampledFrom([]int{1000, 3000, 16000}).Draw(rt, "IOPS")
		takes := time.Duration(rapid.IntRange(200, 2000).Draw(rt, "latency us")) * time.Microsecond
		cfg := Defaults()
		cfg.CPU = 0
		l := newLoop(rt, cfg, steady(units.Frequency(iops), takes), linux.XFS)
		const span = 4 * time.Second
		l.run(clients, workload.Op{Kind: workload.Read, Size: cfg.Block}, span)
		free := float64(clients) / takes.Seconds()
		want := min(free, float64(iops))
		if got := float64(len(l.took)) / span.Seconds(); got < want*.99-1 || got > want*1.01+float64(clients) {
			rt.Errorf("%d processes at %v: %.0f reads/s, arithmetic says %.0f", clients, takes, got, want)
		}
		if free > 1.1*float64(iops) {
			takes = time.Duration(float64(clients) / float64(iops) * 1e9)
		} else if free > .9*float64(iops) {
			return // which of the two binds is a matter of rounding
		}
		if got := l.median(); got < takes*98/100 || got > takes*102/100 {
			rt.Errorf("%d processes, %d IOPS: median %v, arithmetic says %v", clients, iops, got, takes)
		}
	})
}

// fio's recipe for etcd: 5,014 appends of 2,300 B. What it costs a volume depends on whether the file's
// blocks were there before (measured: docs/models.md).
func TestAppendsCost(t *testing.T) {
	for _, c := range []struct {
		name       string
		fs         linux.FileSystem
		prewritten bool
	}{{"ext4, new blocks", linux.Ext4, false}, {"xfs, new blocks", linux.XFS, false}, {"ext4, written before", linux.Ext4, true}} {
		cfg := Defaults()
		cfg.Prewritten, cfg.CPU = c.prewritten, 0
		l := newLoop(t, cfg, steady(0, 600*time.Microsecond), c.fs)
		op := workload.Op{Kind: workload.Insert, Size: 2300}
		const appends = 5014
		for range appends { // one in flight
			at := l.clock.Now()
			n := len(l.took)
			l.until = 0
			op.At = at
			l.streams.Do(op)
			for len(l.took) == n {
				l.clock.Run(l.clock.Next())
			}
		}
		s := l.device.Stats()
		t.Logf("%-22s %6d writes, %5d flushes, p50 %v", c.name, s.Writes, s.Flushes, l.median())
		if c.prewritten && (s.Writes != appends || s.Flushes != appends) {
			t.Errorf("%s: %d writes and %d flushes, want one of each an append", c.name, s.Writes, s.Flushes)
		}
		if !c.prewritten && (s.Writes != 10_646 || s.Flushes != 7_830) {
			t.Errorf("%s: %d writes and %d flushes, measured 10,646 and 7,830", c.name, s.Writes, s.Flushes)
		}
	}
}

// Appends that come while a sync is under way share the next. Writers who ask again at once end up in two
// groups that take turns: each fdatasync carries half of them.
func TestGroupCommit(t *testing.T) {
	cfg := Defaults()
	cfg.Prewritten, cfg.CPU = true, 0
	l := newLoop(t, cfg, steady(0, time.Millisecond), linux.XFS)
	l.run(50, workload.Op{Kind: workload.Update, Size: 512}, 2*time.Second)
	s := l.device.Stats()
	if per := float64(len(l.took)) / float64(s.Flushes); per < 24 || per > 26 {
		t.Errorf("%.1f appends a sync of 50 writers", per)
	}
}

func TestNeedsAVolume(t *testing.T) {
	var clock vtime.Clock
	host := linux.NewHost(linux.Defaults(), &clock, 1)
	env := engine.Env{Clock: &clock, Host: host, Volumes: []*linux.Device{host.Attach("index", volume.MustNew(volume.Config{Size: units.GiB}, 1, nil))}}
	if _, err := New(Defaults(), env); err == nil {
		t.Error("streams without a volume of theirs were made")
	}
	cfg := Defaults()
	cfg.Block = 0
	if _, err := New(cfg, env); err == nil {
		t.Error("blocks of no bytes were taken")
	}
}

func BenchmarkRead(b *testing.B) {
	l := newLoop(b, Defaults(), steady(16_000, 500*time.Microsecond), linux.XFS)
	b.ReportAllocs()
	for b.Loop() {
		l.took = l.took[:0]
		l.run(16, workload.Op{Kind: workload.Read, Size: 8 * units.KiB}, time.Second)
	}
	b.ReportMetric(float64(len(l.took)), "reads/virtual-s")
}
