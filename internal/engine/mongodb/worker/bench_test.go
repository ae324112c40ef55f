//go:build linux

package worker

import (
	"slices"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// BenchmarkPath runs closed loops of 64 connections and of one, to measure the throughput of the
// path to the engine and back. With TMPDIR on a tmpfs, no volume is involved.
func BenchmarkPath(b *testing.B) {
	for name, tt := range map[string]struct {
		kind    workload.Kind
		journal string
		clients int
	}{
		"read":                     {workload.Read, "true", 64},
		"read by one":              {workload.Read, "true", 1},
		"update":                   {workload.Update, "false", 64},
		"update, journaled":        {workload.Update, "true", 64},
		"update by one, journaled": {workload.Update, "true", 1},
	} {
		b.Run(name, func(b *testing.B) {
			s := started(b, machine(b, `plimsoll: 1
volumes: {data: {type: gp3, size: 100GiB}}
host: {memory: 8GiB, cores: 2}
engine: {mongodb: {cache: 1GiB, checkpoint: 1h, journal_each_write: `+tt.journal+`}}
workload: {arrivals: {clients: 64}, mix: {update: 100%}, keys: {count: 20000}, document: {size: 1kB}}`), options{})

			took := make([][]time.Duration, tt.clients)
			var all sync.WaitGroup
			b.ResetTimer()

			for conn := range tt.clients {
				all.Go(func() {
					for i := conn; i < b.N; i += tt.clients {
						op := lab.Op{Op: workload.Op{Kind: tt.kind, Key: uint64(i) * 7919 % 20_000, Size: 1000, Document: 1000}, Seq: uint64(i)}
						begin := time.Now()
						if err := s.Do(b.Context(), conn, &op); err != nil {
							b.Error(err)
							return
						}
						took[conn] = append(took[conn], time.Since(begin))
					}
				})
			}

			all.Wait()
			b.StopTimer()
			every := slices.Sorted(slices.Values(slices.Concat(took...)))
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
			b.ReportMetric(float64(every[len(every)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(every[len(every)*99/100].Microseconds()), "p99-us")
		})
	}
}

// BenchmarkPush measures what the engine writes for a bucket that grows by a reading. The document is
// passed whole or as a difference; in either case the next checkpoint writes its whole page.
func BenchmarkPush(b *testing.B) {
	const documents, size, entry = 2000, 26_000, 40
	for name, tt := range map[string]struct {
		log string
		opt options
	}{
		"difference": {},
		// As a replacement, the oplog has the whole document too.
		"whole":                  {opt: options{whole: true}},
		"whole, short log entry": {log: ", log_bytes: 300B", opt: options{whole: true}},
	} {
		b.Run(name, func(b *testing.B) {
			s := started(b, machine(b, `plimsoll: 1
volumes: {data: {type: gp3, size: 100GiB}}
host: {memory: 8GiB, cores: 2}
engine: {mongodb: {cache: 1GiB, checkpoint: 1h, journal_each_write: false`+tt.log+`}}
workload: {arrivals: {poisson: 100/s}, mix: {update: 100%}, keys: {count: 2000}, document: {size: 26000B}}`), tt.opt)

			before := engineStatistics(b, s)
			b.ResetTimer()

			for i := range b.N {
				round := units.Size(i/documents + 1)
				write(b, s, workload.Push, uint64(i%documents), uint64(i)+1, entry, size+round*entry)
				if i%documents == documents-1 {
					checkpoint(b, s)
				}
			}

			checkpoint(b, s)
			b.StopTimer()
			after := engineStatistics(b, s)
			per := func(unit, name string) { b.ReportMetric(float64(after[name]-before[name])/float64(b.N), unit) }
			per("written-B/op", "block-manager: bytes written")
			per("journal-B/op", "log: log bytes written")
		})
	}
}
