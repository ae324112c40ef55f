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
	for name, change := range map[string]func(*Config){
		"appends":       func(*Config) {}, // into blocks written before
		"new blocks":    func(c *Config) { c.Prewritten, c.File = false, units.MiB },
		"random writes": func(c *Config) { c.RandomWrites = true },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Defaults()
			change(&cfg)
			enginetest.Run(t, enginetest.Case{
				Volumes: []string{"data", "wal"},
				New:     func(env database.Env) (database.Model, error) { return New(cfg, env) },
				Op: func(n uint64, chance *random.Stream) workload.Op {
					return workload.Op{Kind: workload.Kind(n % workload.Kinds), Key: chance.Below(1 << 20), Size: 2300}
				},
			})
		})
	}
}

// A loop is a number of clients that submit the next operation as soon as one is answered, until an
// instant.
type loop struct {
	clock   vtime.Clock
	host    *kernel.Host
	device  *kernel.Device
	streams *Engine
	op      workload.Op
	until   vtime.Instant
	answers []answer // in their order
}

type answer struct {
	op    workload.Op
	done  vtime.Instant
	waits database.Waits
}

func (a *answer) took() time.Duration { return a.done.Sub(a.op.At) }

func newLoop(t interface{ Fatal(...any) }, cfg Config, v volume.Config, fs kernel.FileSystem) *loop {
	l := &loop{}
	hc := kernel.Defaults()
	hc.FileSystem = fs
	l.host = kernel.NewHost(hc, &l.clock, 1)
	l.device = l.host.Attach("data", volume.MustNew(v, 1, nil))
	l.device.SetVolatileCache(true) // count the flushes
	x, err := New(cfg, database.Env{Clock: &l.clock, Host: l.host, Seed: 1, Client: l, Volumes: []*kernel.Device{l.device}})
	if err != nil {
		t.Fatal(err)
	}
	l.streams = x
	return l
}

// run runs clients in the loop for d and keeps the answers from that time.
func (l *loop) run(clients int, op workload.Op, d time.Duration) {
	l.op, l.until = op, l.clock.Now().Add(d)
	for range clients {
		l.ask()
	}
	l.clock.Run(l.until.Add(time.Minute))
	if late := slices.IndexFunc(l.answers, func(a answer) bool { return a.done > l.until }); late >= 0 {
		l.answers = l.answers[:late]
	}
}

func (l *loop) ask() {
	op := l.op
	op.At = l.clock.Now()
	l.streams.Do(op)
}

// one submits one operation and returns its answer.
func (l *loop) one(op workload.Op) answer {
	op.At = l.clock.Now()
	n := len(l.answers)
	l.streams.Do(op)
	for len(l.answers) == n && l.clock.Pending() > 0 {
		l.clock.Run(l.clock.Next())
	}
	return l.answers[n]
}

func (l *loop) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	l.answers = append(l.answers, answer{*op, now, *w})
	if now < l.until {
		l.ask()
	}
}

func (l *loop) median() time.Duration {
	var took []time.Duration
	for i := range l.answers {
		took = append(took, l.answers[i].took())
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// steady is a volume on which every operation takes the same time.
func steady(iops units.Frequency, takes time.Duration) volume.Config {
	c := volume.Config{Name: "steady", Size: 100 * units.GiB, Sustained: volume.Rate{IOPS: iops}}
	for op := range c.Latency {
		c.Latency[op] = volume.Constant(units.Duration(takes))
	}
	return c
}

// Processes that read one block after another get one block per latency until the limit binds. From
// there on, each waits for its turn: the two lines in the plot of any datasheet. This is exact to the
// nanosecond for limits that are a whole number of nanoseconds apart.
func TestClosedLoopIsArithmetic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clients := rapid.IntRange(1, 64).Draw(rt, "clients")
		gap := time.Second / time.Duration(rapid.SampledFrom([]int{1000, 4000, 16_000, 1_000_000}).Draw(rt, "IOPS"))
		takes := time.Duration(rapid.IntRange(200, 2000).Draw(rt, "latency us")) * time.Microsecond
		cfg := Defaults()
		cfg.CPU = 0
		l := newLoop(rt, cfg, steady(units.Frequency(time.Second/gap), takes), kernel.XFS)
		const span = 100 * time.Millisecond
		l.run(clients, workload.Op{Kind: workload.Read, Size: cfg.Block}, span)

		// They all start together, so the n-th is admitted n intervals later, and again in every round.
		turn := max(takes, time.Duration(clients)*gap)
		want := 0
		for n := range clients {
			if first := time.Duration(n)*gap + takes; first <= span {
				want += int((span-first)/turn) + 1
			}
		}

		if len(l.answers) != want {
			rt.Errorf("%d processes, one read each %v at most, %v each: %d reads in %v, arithmetic says %d", clients, gap, takes, len(l.answers), span, want)
		}

		for i := range l.answers {
			took, expected := l.answers[i].took(), turn
			if i < clients {
				expected = time.Duration(i)*gap + takes
			}
			if took != expected {
				rt.Fatalf("%d processes, one read each %v at most, %v each: read %d took %v, arithmetic says %v", clients, gap, takes, i, took, expected)
			}
		}
	})
}

// fio's recipe for etcd: 5,014 appends of 2,300 B. Their cost on a volume depends on whether the
// file's blocks existed before (measured: docs/models.md).
func TestAppendsCost(t *testing.T) {
	for _, c := range []struct {
		name       string
		fs         kernel.FileSystem
		prewritten bool
		p50        time.Duration // of the majority, which enter a new block: its writes and flushes in succession
	}{
		{"ext4, new blocks", kernel.Ext4, false, 5 * 600 * time.Microsecond},
		{"xfs, new blocks", kernel.XFS, false, 4 * 600 * time.Microsecond},
		{"ext4, written before", kernel.Ext4, true, 2 * 600 * time.Microsecond},
	} {
		cfg := Defaults()
		cfg.Prewritten, cfg.CPU = c.prewritten, 0
		l := newLoop(t, cfg, steady(0, 600*time.Microsecond), c.fs)
		op := workload.Op{Kind: workload.Insert, Size: 2300}

		const appends = 5014
		for range appends {
			l.one(op)
		}

		s := l.device.Stats()
		t.Logf("%-22s %6d writes, %5d flushes, p50 %v", c.name, s.Writes, s.Flushes, l.median())
		if c.prewritten && (s.Writes != appends || s.Flushes != appends) {
			t.Errorf("%s: %d writes and %d flushes, want one of each an append", c.name, s.Writes, s.Flushes)
		}

		if l.median() != c.p50 {
			t.Errorf("%s: an append takes %v in the median, arithmetic says %v", c.name, l.median(), c.p50)
		}

		writes := int64(10_646)
		if c.fs == kernel.XFS {
			writes -= 5 // appends that begin at a block boundary; see the kernel's test of these counts
		}

		if !c.prewritten && (s.Writes != writes || s.Flushes != 7_830) {
			t.Errorf("%s: %d writes and %d flushes, want %d and 7,830", c.name, s.Writes, s.Flushes, writes)
		}
	}
}

// Appends that arrive while a sync is in progress share the next. Writers that append again
// immediately end up in two groups that take turns: each fdatasync covers half of them.
func TestGroupCommit(t *testing.T) {
	cfg := Defaults()
	cfg.Prewritten, cfg.CPU = true, 0
	l := newLoop(t, cfg, steady(0, time.Millisecond), kernel.XFS)
	l.run(50, workload.Op{Kind: workload.Update, Size: 512}, 2*time.Second)
	s := l.device.Stats()
	if per := float64(len(l.answers)) / float64(s.Flushes); per < 24 || per > 26 {
		t.Errorf("%.1f appends per sync with 50 writers", per)
	}
}

func TestNeedsAVolume(t *testing.T) {
	var clock vtime.Clock
	host := kernel.NewHost(kernel.Defaults(), &clock, 1)
	env := database.Env{Clock: &clock, Host: host, Volumes: []*kernel.Device{host.Attach("index", volume.MustNew(volume.Config{Size: units.GiB}, 1, nil))}}
	if _, err := New(Defaults(), env); err == nil {
		t.Error("streams without a suitable volume were made")
	}
}

func TestCheck(t *testing.T) {
	cfg := Defaults()
	if l := cfg.Check(); len(l) > 0 {
		t.Fatal(l)
	}

	cfg.Block, cfg.File, cfg.Data, cfg.CPU = 0, 0, -1, units.Duration(-time.Microsecond)
	got := cfg.Check().Error()
	for _, want := range []string{
		"block: block of 0B out of range (limit: 512B to 16MiB); nearest legal value: 512B", "file: 0B", "data: -1B",
		"cpu: -1µs of CPU per call (limit: 0s to 1s); nearest legal value: 0s",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	if _, err := New(cfg, database.Env{}); err == nil {
		t.Error("New accepts what Check rejects")
	}
}
