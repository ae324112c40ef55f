//go:build linux

package server

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// memoryFolder makes a folder in memory if possible, so that the benchmark measures the client and not
// the disk.
func memoryFolder(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-")
	if err != nil {
		return folder(b, b.TempDir())
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkDo measures the throughput of the client in closed loops, on a volume that takes no time.
func BenchmarkDo(b *testing.B) {
	const rows = 100_000
	s := start(b, memoryFolder(b), strings.NewReplacer("rows: 2500", "rows: 100000", "shared_buffers: 16MiB", "shared_buffers: 128MiB",
		"max_connections: 10", "max_connections: 64", "connections: 4", "connections: 64").Replace(text), "data")
	for _, x := range []struct {
		kind  workload.Kind
		conns int
	}{{workload.Update, 1}, {workload.Update, 64}, {workload.Read, 1}, {workload.Read, 64}} {
		b.Run(fmt.Sprintf("%v/connections=%d", x.kind, x.conns), func(b *testing.B) {
			loop(b, x.conns, func(conn int, n uint64) error {
				key := n * 0x9e3779b97f4a7c15 % rows
				return s.Do(b.Context(), conn, &lab.Op{Op: workload.Op{Kind: x.kind, Key: key, Size: 97, Document: 97}, Seq: n})
			})
		})
	}
}

// loop runs operations on all connections until b.N are done, and reports rate and latencies.
func loop(b *testing.B, conns int, do func(conn int, n uint64) error) {
	b.Helper()
	took := make([][]time.Duration, conns)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	begun := time.Now()

	for conn := range conns {
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				at := time.Now()
				if err := do(conn, uint64(n)); err != nil {
					b.Error(err)
					return
				}
				took[conn] = append(took[conn], time.Since(at))
			}
		})
	}

	all.Wait()
	b.ReportMetric(float64(b.N)/time.Since(begun).Seconds(), "op/s")
	b.StopTimer()
	times := slices.Concat(took...)
	slices.Sort(times)

	for _, q := range []int{50, 99} {
		if len(times) > 0 {
			b.ReportMetric(float64(times[len(times)*q/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", q))
		}
	}
}
