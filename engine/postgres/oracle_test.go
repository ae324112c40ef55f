package postgres

import (
	"fmt"
	"testing"
	"time"

	"plimsoll/linux"
	"plimsoll/units"
)

func labHost() linux.Config {
	h := linux.Defaults()
	h.Cores, h.Memory, h.FileSystem = 2, 24*units.GiB, linux.Ext4
	return h
}

func labVolume() *throttle {
	return &throttle{iops: 3000, bytes: 48_000_000, latency: units.Duration(100 * time.Microsecond)}
}

func TestOracle(t *testing.T) {
	for _, slots := range []int{0, 128} {
		for _, run := range []struct {
			clients, tps int
			fill         units.Ratio
			paced        bool
		}{{64, 600, 1, true}, {64, 600, 1, false}, {50, 600, 1, false}, {64, 1000, .9, false}} {
			cfg := Defaults()
			cfg.SharedBuffers, cfg.MaxWALSize = 2*units.GiB, 16*units.GiB
			cfg.CheckpointTimeout = units.Duration(time.Minute)
			cfg.MaxConnections, cfg.FillFactor = run.clients, run.fill
			if !run.paced {
				cfg.CheckpointCompletionTarget, cfg.CheckpointFlushAfter = 0, 0
			}
			v := labVolume()
			v.slots = slots
			b := newBench(t, cfg, labHost(), v, run.tps, 1)
			start := time.Now()
			b.run(200*time.Second, 60*time.Second)
			took := time.Since(start)
			all := b.latencies()
			e := b.engine
			fmt.Println(slots, run, len(all), quantile(all, .5), quantile(all, .99), quantile(all, 1), "WAL/tx", e.n.walBytes/b.done, "fpi/tx", float64(e.n.walImages)/float64(b.done),
				"sync ms", e.n.checkpointSyncMs, "write ms", e.n.checkpointWriteMs, e.n.buffersCheckpoint, b.device.Stats(), took, b.errors)
			for _, c := range e.cycles {
				fmt.Println("  ", c.Start.Seconds(), c.End.Sub(c.Start), c.Dirty/8192, c.Written/8192)
			}
		}
	}
}
