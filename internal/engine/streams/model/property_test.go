package model

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// For any appends, an fdatasync costs one write for each 256 KiB of its pages and a flush. If a page is
// new to the file, it also costs the file system's journal after a separate flush: two blocks on ext4,
// the second after the first is done, and one record on XFS, where new pages are written separately
// from old ones. On a volume without limits, its time is the sum of the sequential steps.
func TestAppendsAreArithmetic(t *testing.T) {
	const write, flush = 600 * time.Microsecond, 100 * time.Microsecond
	v := steady(0, write)
	v.Latency[volume.Flush] = volume.Constant(units.Duration(flush))
	rapid.Check(t, func(rt *rapid.T) {
		cfg := Defaults()
		cfg.CPU, cfg.File = 0, units.MiB
		cfg.Prewritten = rapid.Bool().Draw(rt, "prewritten")
		fs := rapid.SampledFrom([]kernel.FileSystem{kernel.XFS, kernel.Ext4}).Draw(rt, "file system")
		cache := rapid.Bool().Draw(rt, "volatile cache")
		l := newLoop(rt, cfg, v, fs)
		l.device.SetVolatileCache(cache)

		there := map[units.Size]bool{} // pages that were written
		end, mapped, fresh := units.Size(0), units.Size(0), false

		size := rapid.OneOf(rapid.IntRange(1, 9000), rapid.IntRange(1, 1<<20), rapid.IntRange(1<<20-6000, 1<<20), rapid.Just(3<<19))
		for range rapid.IntRange(1, 60).Draw(rt, "appends") {
			n := units.Size(size.Draw(rt, "size"))
			if end+n > cfg.File {
				if end = 0; fresh && !cfg.Prewritten {
					mapped = 0
				}
			}

			first, last := end/kernel.PageSize, (end+n-1)/kernel.PageSize
			end += n

			fresh = false
			for page := first; page <= last; page++ {
				fresh = fresh || !there[page]
				there[page] = true
			}

			pages := last - first + 1
			want := kernel.DeviceStats{Writes: int64((pages + 63) / 64), WrittenBytes: pages * kernel.PageSize}
			if fs == kernel.XFS && !cfg.Prewritten && fresh && first < mapped && mapped <= last {
				want.Writes = int64((mapped-first+63)/64 + (last-mapped+64)/64) // see File.submit
			}

			mapped = max(mapped, last+1)
			takes := write
			if fresh && !cfg.Prewritten {
				want.Writes++
				if takes += write; fs == kernel.Ext4 {
					want.Writes++
					takes += write
					want.WrittenBytes += 2 * kernel.PageSize
				} else {
					want.WrittenBytes += units.KiB
				}

				if cache {
					want.Flushes++
					takes += flush
				}
			}

			if cache {
				want.Flushes++
				takes += flush
			}

			before := l.device.Stats()
			a := l.one(workload.Op{Kind: workload.Insert, Size: n})
			after := l.device.Stats()

			got := kernel.DeviceStats{Writes: after.Writes - before.Writes, Flushes: after.Flushes - before.Flushes, WrittenBytes: after.WrittenBytes - before.WrittenBytes}
			if got != want {
				rt.Fatalf("an append of %d up to %d cost %+v, arithmetic says %+v", n, end, got, want)
			}

			if (a.waits != database.Waits{database.WaitLogDevice: int64(takes)}) || a.took() != takes {
				rt.Fatalf("an append of %d up to %d took %v, waiting %v; arithmetic says %v", n, end, a.took(), a.waits, takes)
			}
		}
	})
}

// An openLoop submits operations to the streams at given instants.
type openLoop struct {
	*loop
	ops []workload.Op
}

// Fire submits the operation with that number.
func (o *openLoop) Fire(_ vtime.Instant, n uint64) { o.streams.Do(o.ops[n]) }

// Each operation is answered once, no matter what arrives when. Its waits add up to its latency to the
// nanosecond, and its wait for the volume equals the volume's latency. Appends are answered in order.
// Each fdatasync covers everything that arrived before it began, and only one is in progress at a time.
// A second run gives the same result.
func TestWaitsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const takes = 500 * time.Microsecond
		cfg := Defaults()
		cfg.RandomWrites = rapid.Bool().Draw(rt, "random writes")
		cfg.CPU = units.Duration(rapid.SampledFrom([]int{0, 10_000, 300_000}).Draw(rt, "cpu ns"))
		v := steady(rapid.SampledFrom([]units.Frequency{0, 500, 3000}).Draw(rt, "IOPS"), takes)
		gap := rapid.SampledFrom([]int{0, 400, 3000}).Draw(rt, "gap us")
		chance := random.Seed(rapid.Uint64().Draw(rt, "seed")).Stream("arrivals")
		ops := make([]workload.Op, rapid.IntRange(1, 200).Draw(rt, "operations"))

		at := vtime.Instant(0)
		for i := range ops {
			at = at.Add(time.Duration(chance.Below(uint64(gap)+1)) * time.Microsecond)
			ops[i] = workload.Op{At: at, Kind: workload.Kind(chance.Below(workload.Kinds)), Key: uint64(i), Size: 2300}
		}

		run := func() *openLoop {
			o := &openLoop{newLoop(rt, cfg, v, kernel.XFS), ops}
			for i, op := range ops {
				o.clock.At(op.At, o, uint64(i))
			}
			o.clock.Run(vtime.At(time.Hour))
			return o
		}

		o := run()
		checkWaits(rt, o.answers, takes, cfg.RandomWrites)
		if len(o.answers) != len(ops) {
			rt.Fatalf("%d operations have %d answers", len(ops), len(o.answers))
		}

		if !cfg.RandomWrites {
			checkTurns(rt, o)
		}

		if again := run(); !slices.Equal(o.answers, again.answers) {
			rt.Fatal("two identical runs differ")
		}
	})
}

// checkWaits compares the waits of reads and random writes with the volume's latency, and all waits
// with their own latency.
func checkWaits(rt *rapid.T, answers []answer, takes time.Duration, randomWrites bool) {
	seen := map[uint64]bool{}
	for _, a := range answers {
		if seen[a.op.Key] {
			rt.Fatalf("operation %d was answered twice", a.op.Key)
		}

		seen[a.op.Key] = true
		sum, w := int64(0), a.waits
		for _, x := range w {
			if x < 0 {
				rt.Fatalf("%+v waited for less than nothing", a)
			}
			sum += x
		}

		if sum != int64(a.took()) {
			rt.Fatalf("operation %d took %v and waited %v: %v", a.op.Key, a.took(), time.Duration(sum), w)
		}

		log := w[database.WaitLogTurn] + w[database.WaitLogQueue] + w[database.WaitLogLimit] + w[database.WaitLogDevice]
		switch {
		case !a.op.Kind.Writes():
			if log != 0 || w[database.WaitRead] < int64(takes) {
				rt.Fatalf("a read waited %v", w)
			}
		case randomWrites:
			if w[database.WaitLogDevice] != int64(takes) || log != w[database.WaitLogDevice]+w[database.WaitLogLimit] {
				rt.Fatalf("a random write waited %v where a write takes %v", w, takes)
			}
		case w[database.WaitRead] != 0 || w[database.WaitLogDevice] < int64(takes):
			rt.Fatalf("an append waited %v where a write takes %v", w, takes)
		}
	}
}

// checkTurns reconstructs the fdatasyncs from the answers.
func checkTurns(rt *rapid.T, o *openLoop) {
	var ended, began vtime.Instant // of the last fdatasync
	syncs, key := int64(0), uint64(0)
	for _, a := range o.answers {
		if !a.op.Kind.Writes() {
			continue
		}

		came := a.op.At.Add(time.Duration(a.waits[database.WaitCPU]))
		start := came.Add(time.Duration(a.waits[database.WaitLogTurn]))
		if key > a.op.Key {
			rt.Fatalf("append %d is answered before %d", key, a.op.Key)
		}

		key = a.op.Key
		if a.done != ended || syncs == 0 {
			if start < ended {
				rt.Fatalf("an fdatasync begins at %d, before the end of the one before it at %d", start, ended)
			}
			if start != max(came, ended) {
				rt.Fatalf("append %d came at %d, the last fdatasync ended at %d, the next begins at %d", key, came, ended, start)
			}
			syncs, began, ended = syncs+1, start, a.done
		}

		if start != began || came > began {
			rt.Fatalf("append %d, that came at %d, is answered by the fdatasync of %d; it says %d", key, came, began, start)
		}
	}

	if n := o.device.Stats().Flushes; n != syncs {
		rt.Fatalf("%d fdatasyncs of blocks that were there cost %d flushes", syncs, n)
	}
}
