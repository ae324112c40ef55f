package model

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/workload"
)

// A virtual second of 16 processes, each sending one request after another.
func benchmark(b *testing.B, cfg Config, op workload.Op) {
	l := newLoop(b, cfg, steady(16_000, 500*time.Microsecond), kernel.XFS)
	operations := 0
	b.ReportAllocs()
	for b.Loop() {
		l.answers = l.answers[:0]
		l.run(16, op, time.Second)
		operations += len(l.answers)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(operations), "ns/operation")
	b.ReportMetric(float64(operations)/float64(b.N), "operations/virtual-s")
}

func BenchmarkRead(b *testing.B) {
	benchmark(b, Defaults(), workload.Op{Kind: workload.Read, Size: 8 * units.KiB})
}

func BenchmarkAppend(b *testing.B) {
	benchmark(b, Defaults(), workload.Op{Kind: workload.Insert, Size: 2300})
}

// BenchmarkAppendNew includes the file system's journal, which is used as long as the file's blocks are
// new.
func BenchmarkAppendNew(b *testing.B) {
	cfg := Defaults()
	cfg.Prewritten, cfg.File = false, 100*units.GiB
	benchmark(b, cfg, workload.Op{Kind: workload.Insert, Size: 2300})
}
