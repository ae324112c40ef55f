package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/kernel"
)

// TestPlot plots a checkpoint's cycle second by second, so that a change of behaviour is visible in the
// plot.
func TestPlot(t *testing.T) {
	datadriven.RunTest(t, "testdata/cycle", func(t *testing.T, d *datadriven.TestData) string {
		cfg := exampleConfig()
		var tps, from, to int
		var target float64
		var flush string
		d.ScanArgs(t, "tps", &tps)
		d.ScanArgs(t, "from", &from)
		d.ScanArgs(t, "to", &to)
		d.ScanArgs(t, "target", &target)
		d.ScanArgs(t, "flush_after", &flush)

		after, err := units.ParseSize(flush)
		if err != nil {
			t.Fatal(err)
		}

		cfg.CheckpointCompletionTarget, cfg.CheckpointFlushAfter = units.Ratio(target), after
		v := labVolume()
		d.ScanArgs(t, "slots", &v.slots)

		return newBench(t, cfg, labHost(), v, tps, 1).plot(from, to)
	})
}

// plot runs up to a second and returns a line for each second from another one on.
func (b *bench) plot(from, to int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%4s %9s %-32s %9s %10s %6s\n", "s", "p99", "1 ms    10 ms   100 ms  1 s", "dirty MB", "cached MB", "MB/s")
	b.until = vtime.At(time.Duration(to) * time.Second)
	b.clock.At(0, b, 0)
	samples := make([]float64, len(b.host.Metrics()))
	disk := slices.IndexFunc(b.host.Metrics(), func(m kernel.Metric) bool { return m.Name == "node_disk_written_bytes_total" })

	written := 0.0
	for s := range to {
		b.clock.Run(vtime.At(time.Duration(s+1) * time.Second))
		b.host.Sample(samples)
		now := samples[disk] // completed: requests may wait for seconds after submission

		if s >= from {
			p99, bar := "-", ""
			if s < len(b.by) && len(b.by[s]) > 0 {
				took := quantile(slices.Sorted(slices.Values(b.by[s])), 0.99)
				p99, bar = units.Seconds(took.Seconds()), strings.Repeat("#", decades(took, 8))
			}
			fmt.Fprintf(&out, "%4d %9s %-32s %9.0f %10.0f %6.1f\n", s, p99, bar, float64(b.engine.buffers.dirty)*8.192e-3,
				float64(b.host.DirtyBytes())/1e6, (now-written)/1e6)
		}

		written = now
	}

	return strings.ReplaceAll(out.String(), " \n", "\n")
}

// decades returns how far took is above a millisecond, in steps per factor of ten. It needs no
// logarithm, whose result differs between machines.
func decades(took time.Duration, steps int) int {
	n := 0
	for x := time.Millisecond; x <= took; x *= 10 {
		for k := range steps { // ten equal steps: straight lines between powers of ten
			if took >= x+x*9*time.Duration(k)/time.Duration(steps) {
				n++
			}
		}
	}
	return n
}
