package model

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/units"
)

// TestPlot plots the write daemon's cycles second by second.
func TestPlot(t *testing.T) {
	datadriven.RunTest(t, "testdata/cycle", func(t *testing.T, d *datadriven.TestData) string {
		var stripe, readers, updates, hot, from, to int
		d.ScanArgs(t, "stripe", &stripe)
		d.ScanArgs(t, "readers", &readers)
		d.ScanArgs(t, "updates", &updates)
		d.ScanArgs(t, "hot", &hot)
		d.ScanArgs(t, "from", &from)
		d.ScanArgs(t, "to", &to)
		s := systems[0]

		if stripe > 1 {
			s = systems[1]
		}

		cfg := caseConfig()
		cfg.Cycle = units.Duration(8 * time.Second)
		s.constant = true // a plot of queues, without random latencies

		b := s.harness(t, cfg)
		for range readers {
			b.read()
		}

		b.hot, b.gap, b.until = uint64(hot), time.Second/time.Duration(updates), 1<<60
		b.clock.At(0, b, 0)
		return b.plot(from, to)
	})
}

// plot runs up to a second and returns a line for each second from another one on.
func (b *harness) plot(from, to int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%3s %5s %7s %9s %9s %9s %8s  %s\n", "s", "phase", "dirty", "WIJ MB/s", "writes/s", "reads/s", "p99", "0.5 1   2   4   8 ms")
	wij := b.instance.daemon.wij.device
	bytes := units.Size(0)

	var before counters
	for s := range to {
		b.run(time.Second)
		now, written := b.instance.counters, wij.Stats().WrittenBytes
		if s >= from {
			p99 := quantile(b.reads[s].took, 0.99)
			// Four characters for each doubling above half a millisecond.
			bar := 4 * (bits.Len64(uint64(p99/(250*time.Microsecond))) - 1)
			fmt.Fprintf(&out, "%3d %5d %7d %9.0f %9d %9d %8s  %s\n", s, b.instance.daemon.phase, b.instance.buffers.unclean(), float64(written-bytes)/1e6,
				now.writes-before.writes, now.reads-before.reads, p99.Round(10*time.Microsecond), strings.Repeat("#", max(bar, 0)))
		}
		bytes, before = written, now
	}

	return strings.ReplaceAll(out.String(), " \n", "\n")
}
