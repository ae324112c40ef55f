package model

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// TestPlots plots a log's appends second by second, and the effect of a database's checkpoint on their
// volume.
func TestPlots(t *testing.T) {
	datadriven.RunTest(t, "testdata/burst", func(t *testing.T, d *datadriven.TestData) string {
		var from, to, slots, over, depth int
		d.ScanArgs(t, "from", &from)
		d.ScanArgs(t, "to", &to)
		d.MaybeScanArgs(t, "slots", &slots)
		d.MaybeScanArgs(t, "over", &over)
		d.MaybeScanArgs(t, "depth", &depth)
		l := newBurst(t, slots, depth, d.HasArg("apart"), !d.HasArg("new"))
		l.steps = max(1, over*int(time.Second/burstStep))
		return l.plot(from, to)
	})
}

// A burst is a log's stream in a closed loop with one client, together with a checkpoint: each
// burstPeriod it writes burstPages of 8 KiB at random places of a file, in steps of burstStep, followed
// by fdatasync.
type burst struct {
	*loop
	file   *kernel.File
	data   *kernel.Device
	chance *random.Stream
	steps  int
}

const (
	burstPeriod = 8 * time.Second
	burstStep   = 100 * time.Millisecond
	burstPages  = 6000
	burstFile   = 10 * units.GiB
)

// newBurst uses a baseline gp3, 3,000 IOPS and 125 MiB/s, for both, or separate ones. 0 slots is
// the kernel's blk-throttle, which queues without a limit.
func newBurst(t *testing.T, slots, depth int, apart, prewritten bool) *burst {
	t.Helper()
	b := &burst{loop: &loop{}, chance: random.Seed(1).Stream("pages")}
	v := steady(3000, 600*time.Microsecond)
	v.Sustained.Throughput, v.Operation, v.Slots = 125*units.MiBps, 256*units.KiB, slots
	hc := kernel.Defaults()
	hc.WritebackDepth = depth
	b.host = kernel.NewHost(hc, &b.clock, 1)
	b.data = b.host.Attach("data", volume.MustNew(v, 1, nil))
	b.device = b.data
	devices := []*kernel.Device{b.data}

	if apart {
		b.device = b.host.Attach("wal", volume.MustNew(v, 1, nil))
		devices = append(devices, b.device)
	}

	b.file = b.host.Create("tables", b.data, burstFile)
	cfg := Defaults()
	cfg.Prewritten, cfg.File = prewritten, units.GiB

	x, err := New(cfg, database.Env{Clock: &b.clock, Host: b.host, Seed: 1, Client: b, Volumes: devices})
	if err != nil {
		t.Fatal(err)
	}

	b.streams = x
	return b
}

// Fire runs a step of the checkpoint. With a single step, the fdatasync does the writing; with more,
// each step is written out, like PostgreSQL's checkpoint_flush_after.
func (b *burst) Fire(now vtime.Instant, step uint64) {
	pages := burstPages / b.steps
	for range pages {
		b.file.Write(units.Size(b.chance.Below(uint64(burstFile/(8*units.KiB))))*8*units.KiB, 8*units.KiB)
	}
	if b.steps > 1 {
		b.file.WriteRange(0, burstFile)
	}
	if step++; int(step) < b.steps {
		b.clock.After(burstStep, b, step)
		return
	}
	b.file.Sync(synced{}, 0)
	b.clock.At(now.Add(burstPeriod-time.Duration(b.steps-1)*burstStep), b, 0)
}

// synced ignores the end of the checkpoint's fdatasync.
type synced struct{}

func (synced) Fire(vtime.Instant, uint64) {}

// plot runs up to a second and returns a line for each second from another one on: the appends answered
// in it, the longest one as a bar of three characters per doubling above half a millisecond, what they
// waited for, and what was sent to the data volume.
func (b *burst) plot(from, to int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%3s %8s %9s  %-40s %6s %6s %8s %8s %8s\n", "s", "appends", "longest", "1 ms     8 ms     64 ms    512 ms", "queue", "limit", "latency", "dirty MB", "sent MB")
	b.op, b.until = workload.Op{Kind: workload.Insert, Size: 2300}, vtime.At(time.Hour)
	b.clock.At(vtime.At(2*time.Second+burstStep/2), b, 0) // not between two lines
	b.ask()

	written := units.Size(0)
	for s := range to {
		b.answers = b.answers[:0]
		b.clock.Run(vtime.At(time.Duration(s+1) * time.Second))
		now := b.data.Stats().WrittenBytes
		if s >= from {
			b.line(&out, s, now-written)
		}
		written = now
	}

	return out.String()
}

func (b *burst) line(out *strings.Builder, s int, sent units.Size) {
	var longest time.Duration
	var waits database.Waits
	for _, a := range b.answers {
		longest = max(longest, a.took())
		for k, x := range a.waits {
			waits[k] += x
		}
	}

	sum := 0.0
	for _, x := range waits {
		sum += float64(x)
	}

	share := func(w database.Wait) string {
		if sum == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f %%", 100*float64(waits[w])/sum)
	}

	text, bar := "-", 0
	if longest > 0 {
		text, bar = units.Duration(longest).String(), max(0, int(math.Round(3*math.Log2(float64(longest)/5e5))))
	}

	fmt.Fprintf(out, "%3d %8d %9s  %-40s %6s %6s %8s %8.1f %8.1f\n", s, len(b.answers), text, strings.Repeat("#", bar),
		share(database.WaitLogQueue), share(database.WaitLogLimit), share(database.WaitLogDevice), float64(b.host.DirtyBytes())/1e6, float64(sent)/1e6)
}
