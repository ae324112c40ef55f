package model

import (
	"runtime"
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

// load sends transactions and keeps nothing.
type load struct {
	clock  vtime.Clock
	engine *Engine
	chance *random.Stream
	every  time.Duration
	until  vtime.Instant
	done   int
}

func (l *load) Done(vtime.Instant, *workload.Op, *database.Waits) { l.done++ }

func (l *load) Fire(now vtime.Instant, _ uint64) {
	if now >= l.until {
		return
	}
	l.engine.Do(workload.Op{At: now, Kind: workload.Update, Key: l.chance.Below(uint64(l.engine.cfg.Rows))})
	l.clock.After(l.chance.Exponential(l.every), l, 0)
}

func newLoad(b testing.TB, cfg Config, tps int) *load {
	l := &load{chance: random.Seed(1).Stream("load"), every: time.Second / time.Duration(tps)}
	v, err := volume.New(volume.Config{Name: "data", Sustained: volume.Rate{IOPS: 3000, Throughput: 125 * units.MiBps}}, 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	h := kernel.NewHost(labHost(), &l.clock, 1)
	e, err := New(cfg, database.Env{Clock: &l.clock, Host: h, Seed: 1, Client: l, Volumes: []*kernel.Device{h.Attach("data", v)}})
	if err != nil {
		b.Fatal(err)
	}
	l.engine = e
	return l
}

// BenchmarkTransaction measures one transaction including its share of arrivals, log, checkpoints,
// kernel and volume. A run simulates a minute at 2,000 transactions per second.
func BenchmarkTransaction(b *testing.B) {
	l := newLoad(b, exampleConfig(), 2000)
	l.until = vtime.Never
	l.clock.At(0, l, 0)
	l.clock.Run(vtime.At(2 * time.Minute)) // slices have grown to their size
	l.done = 0
	b.ReportAllocs()
	b.ResetTimer()
	for l.done < b.N {
		l.clock.Run(l.clock.Next())
	}
}

// BenchmarkTenMinutes measures ten minutes of 2,000 transactions per second.
func BenchmarkTenMinutes(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		l := newLoad(b, exampleConfig(), 2000)
		l.until = vtime.At(10 * time.Minute)
		l.clock.At(0, l, 0)
		l.clock.Run(l.until)
		b.ReportMetric(float64(l.done), "transactions")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "MB-from-the-OS")
}
