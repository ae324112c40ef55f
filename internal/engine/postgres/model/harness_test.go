package model

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// A bench runs an engine under load and records the results.
type bench struct {
	clock   vtime.Clock
	host    *kernel.Host
	device  *kernel.Device
	engine  *Engine
	env     database.Env
	sent    int64
	waiting map[units.Size]bool // nil: not observed
	errors  []string
	done    int64
	by      []([]int64) // latencies by the second in which they ended
	waits   database.Waits
	chance  *random.Stream
	every   time.Duration // mean, between transactions
	until   vtime.Instant
	kind    func(*random.Stream) workload.Kind
}

func (b *bench) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	b.done++
	latency := int64(now.Sub(op.At))

	second := int(now / 1e9)
	for len(b.by) <= second {
		b.by = append(b.by, nil)
	}

	b.by[second] = append(b.by[second], latency)
	sum := int64(0)
	for k, x := range w {
		b.waits[k] += x
		sum += x
		if x < 0 {
			b.errors = append(b.errors, "a wait below 0: "+database.Wait(k).String())
		}
	}

	if sum > latency {
		b.errors = append(b.errors, "waits of "+time.Duration(sum).String()+" in a latency of "+time.Duration(latency).String())
	}

	if b.waiting != nil {
		if !b.waiting[op.Size] {
			b.errors = append(b.errors, "acknowledged twice, or never sent")
		}
		delete(b.waiting, op.Size)
		if p := b.engine; p.cfg.SynchronousCommit && op.Kind.Writes() && p.wal.durable < p.done.lsn {
			b.errors = append(b.errors, "acknowledged before its log was durable")
		}
	}
}

// Fire sends a transaction and schedules the next.
func (b *bench) Fire(now vtime.Instant, _ uint64) {
	if now >= b.until {
		return
	}
	b.sent++
	op := workload.Op{At: now, Kind: workload.Update, Key: b.chance.Below(uint64(b.engine.cfg.Rows)), Size: units.Size(b.sent)}
	if b.kind != nil {
		op.Kind = b.kind(b.chance)
	}
	if b.waiting != nil {
		b.waiting[op.Size] = true
	}
	b.engine.Do(op)
	b.clock.After(b.chance.Exponential(b.every), b, 0)
}

// exampleConfig is the configuration of examples/postgres-checkpoint/make.sh, except for the pacing
// and the fill factor, which are PostgreSQL's.
func exampleConfig() Config {
	cfg := Defaults()
	cfg.SharedBuffers, cfg.MaxWALSize = 2*units.GiB, 16*units.GiB
	cfg.CheckpointTimeout = units.Duration(time.Minute)
	cfg.MaxConnections = 64
	return cfg
}

// newBench makes an engine on a volume, with the log on a second volume if there is one.
func newBench(t testing.TB, cfg Config, host kernel.Config, v volume.Volume, tps int, seed random.Seed, log ...volume.Volume) *bench {
	t.Helper()
	b := &bench{every: time.Duration(1e9 / tps), chance: seed.Stream("test")}
	b.host = kernel.NewHost(host, &b.clock, seed)
	b.device = b.host.Attach("data", v)

	devices := []*kernel.Device{b.device}
	for _, v := range log {
		devices = append(devices, b.host.Attach("wal", v))
	}

	b.env = database.Env{Clock: &b.clock, Host: b.host, Seed: seed, Client: b, Volumes: devices}
	e, err := New(cfg, b.env)
	if err != nil {
		t.Fatal(err)
	}

	b.engine = e
	return b
}

// run sends transactions for a while, then lets everything end.
func (b *bench) run(load, drain time.Duration) {
	b.until = b.clock.Now().Add(load)
	b.clock.At(b.clock.Now(), b, 0)
	b.clock.Run(b.until.Add(drain))
}

// latencies returns all latencies in ascending order.
func (b *bench) latencies() []int64 { return slices.Sorted(slices.Values(slices.Concat(b.by...))) }

func quantile(sorted []int64, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return time.Duration(sorted[min(len(sorted)-1, int(q*float64(len(sorted))))])
}
