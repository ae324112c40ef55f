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

	etcd "plimsoll/internal/engine/etcd/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// memory makes a folder in memory if possible, so that the benchmark measures the client and not the
// disk.
func memory(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "plimsoll-")
	if err != nil {
		return folder(b, b.TempDir())
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// BenchmarkDo measures the throughput of the client in closed loops, on a volume that takes no time.
func BenchmarkDo(b *testing.B) {
	for _, x := range []struct {
		kind         workload.Kind
		conns, links int
	}{
		{workload.Update, 1, 1},
		{workload.Update, 64, 1},
		{workload.Update, 64, Links},
		{workload.Update, 64, 64},
		{workload.Read, 64, Links},
	} {
		b.Run(fmt.Sprintf("%v/connections=%d/links=%d", x.kind, x.conns, x.links), func(b *testing.B) {
			dir := memory(b)
			if err := os.Chmod(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			s := startShared(b, dir, x.links, strings.Replace(text, "connections: 4", "connections: 64", 1))
			loop(b, x.conns, func(conn int, n uint64) error {
				return s.Do(b.Context(), conn, &lab.Op{Op: workload.Op{Kind: x.kind, Key: n % 300, Size: 300, Document: 300}, Seq: n})
			})
		})
	}
}

func startShared(b *testing.B, dir string, links int, text string) *bench {
	b.Helper()
	sharedByTest = links
	defer func() { sharedByTest = 0 }()
	return start(b, dir, etcd.Defaults(), text, "data")
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
