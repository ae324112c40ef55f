package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/kernel"
)

// labHost is the machine of the measured runs.
func labHost() kernel.Config {
	h := kernel.Defaults()
	h.Cores, h.Memory, h.FileSystem = 2, 24*units.GiB, kernel.Ext4
	return h
}

// labVolume allows 3,000 operations and 48 MB per second through the kernel's throttle. Between
// checkpoints iostat shows 0.1 ms (measured, examples/postgres-checkpoint).
func labVolume() *throttle {
	return &throttle{iops: 3000, bytes: 48_000_000, latency: units.Duration(100 * time.Microsecond)}
}

// A measured run of a real PostgreSQL 15, by pgbench -N.
type measured struct {
	name       string
	tps        int
	fillFactor units.Ratio
	slots      int
	paced      bool
	p99, max   time.Duration
	sync       time.Duration // of a checkpoint; 0: not measured
	walBytes   float64       // a transaction
	images     float64       // per transaction; 0: not measured
	pages      float64       // per checkpoint; 0: not measured
}

// The runs at 600/s report their p99, slowest, sync phase and log, but neither scale nor interval.
// Scale 100 and 60 s are assumed; a checkpoint then finds as many pages as can be written in 17 s at
// 3,000 per second. The number of requests in the volume's queue is not reported either: blk-throttle
// itself has no limit, and a loop device in front of it has 128. For the run at 1,000/s,
// examples/postgres-checkpoint, everything is known; pages are the mean of its five checkpoints.
var runs = []measured{
	{name: "600/s, defaults", tps: 600, fillFactor: 1, paced: true, p99: 5 * time.Millisecond, max: 83 * time.Millisecond, walBytes: 11_600},
	{name: "600/s, unpaced", tps: 600, fillFactor: 1, slots: 128, p99: 3274 * time.Millisecond, sync: 17200 * time.Millisecond, walBytes: 11_600},
	{name: "  no queue's end", tps: 600, fillFactor: 1, p99: 3274 * time.Millisecond, sync: 17200 * time.Millisecond, walBytes: 11_600},
	{name: "1,000/s, unpaced", tps: 1000, fillFactor: 0.9, slots: 128, p99: 4830 * time.Millisecond, max: 5705 * time.Millisecond,
		sync: 12408 * time.Millisecond, walBytes: 6439, images: 0.847, pages: 51_331},
}

func (m *measured) run(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	cfg := exampleConfig()
	cfg.FillFactor = m.fillFactor
	if !m.paced {
		cfg.CheckpointCompletionTarget, cfg.CheckpointFlushAfter = 0, 0
	}
	change(&cfg)
	v := labVolume()
	v.slots = m.slots
	b := newBench(t, cfg, labHost(), v, m.tps, 1)
	b.run(200*time.Second, 30*time.Second)
	return b
}

// TestOracle compares the model with real runs, with one set of parameters for all of them.
func TestOracle(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-18s %-28s %9s %9s %6s\n", "run", "figure", "measured", "model", "ratio")
	row := func(run, figure string, measured, model, least, most float64) {
		if measured == 0 {
			return
		}
		ratio := model / measured
		fmt.Fprintf(&out, "%-18s %-28s %9s %9s %6.2f\n", run, figure, units.Number(measured), units.Number(model), ratio)
		if ratio < least || ratio > most {
			t.Errorf("%s: %s is %s in the model, measured %s", run, figure, units.Number(model), units.Number(measured))
		}
	}

	p99 := make([]time.Duration, len(runs))
	for k := range runs {
		m := &runs[k]
		b := m.run(t, func(*Config) {})
		all := b.latencies()
		n := &b.engine.n
		p99[k] = quantile(all, 0.99)
		checkpoints := float64(n.checkpointsTimed + n.checkpointsRequested)

		if b.engine.checkpoint.phase != idle {
			checkpoints--
		}

		least, most := 1/2.5, 2.5
		switch {
		case m.paced: // other programs ran on the measured machine, but none runs here
			least, most = 1.0/15, 2
		case m.slots == 0:
			least, most = 1.0/4, 4
		}

		row(m.name, "p99, ms", m.p99.Seconds()*1e3, p99[k].Seconds()*1e3, least, most)
		row(m.name, "slowest, ms", m.max.Seconds()*1e3, quantile(all, 1).Seconds()*1e3, least, most)
		row(m.name, "sync of a checkpoint, s", m.sync.Seconds(), n.checkpointSyncMs/1e3/checkpoints, 0.5, 1.5)
		row(m.name, "log a transaction, B", m.walBytes, float64(n.walBytes)/float64(n.commits), 0.8, 1.2)
		row(m.name, "images a transaction", m.images, float64(n.walImages)/float64(n.commits), 0.9, 1.1)
		row(m.name, "pages a checkpoint", m.pages, float64(b.engine.cycles[1].Written)/float64(PageSize), 0.9, 1.1)

		if m.paced && n.checkpointSyncMs > n.checkpointWriteMs/100 {
			t.Errorf("a paced checkpoint wrote for %g ms and synced for %g ms: want nearly nothing left to sync", n.checkpointWriteMs, n.checkpointSyncMs)
		}
	}

	if min(p99[1], p99[2], p99[3]) < 100*p99[0] {
		t.Errorf("p99 is %v paced and %v unpaced: want milliseconds against seconds", p99[0], p99[1:])
	}

	t.Log("\n" + out.String())
}

// TestShorterInterval: more frequent checkpoints cause more full-page images and more log.
func TestShorterInterval(t *testing.T) {
	log := func(interval time.Duration) float64 {
		b := runs[0].run(t, func(c *Config) { c.CheckpointTimeout = units.Duration(interval) })
		return float64(b.engine.n.walBytes) / float64(b.engine.n.commits)
	}
	minute, half := log(time.Minute), log(30*time.Second)
	t.Logf("log a transaction: %.0f B with checkpoints every 60 s, %.0f B every 30 s", minute, half)
	if half < 1.05*minute {
		t.Errorf("%.0f B a transaction every 30 s, %.0f B every 60 s: want more", half, minute)
	}
}
