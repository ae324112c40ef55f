package model

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// A bench runs the engine under an open loop with a number of connections.
type bench struct {
	clock      vtime.Clock
	host       *kernel.Host
	devices    []*kernel.Device
	engine     *Engine
	source     workload.Source
	op         workload.Op
	free       int
	queue      []workload.Op
	from       vtime.Instant // start of the measurement
	latencies  []int64
	sum, done  int64
	waits      database.Waits
	unexpected []string
}

func (b *bench) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	b.done++
	latency := int64(now.Sub(op.At))

	sum := int64(0)
	for k, x := range w {
		if sum += x; x < 0 && len(b.unexpected) < 5 {
			b.unexpected = append(b.unexpected, database.Wait(k).String()+" below 0")
		}
	}

	if sum > latency && len(b.unexpected) < 5 {
		b.unexpected = append(b.unexpected, "waits of "+time.Duration(sum).String()+" in a latency of "+time.Duration(latency).String())
	}

	if op.At >= b.from {
		b.latencies = append(b.latencies, latency)
		b.sum += latency
		for k, x := range w {
			b.waits[k] += x
		}
	}

	if len(b.queue) > 0 {
		next := b.queue[0]
		b.queue = b.queue[1:]
		b.engine.Do(next)
		return
	}

	b.free++
}

func (b *bench) Fire(now vtime.Instant, _ uint64) {
	if b.free > 0 {
		b.free--
		b.engine.Do(b.op)
	} else {
		b.queue = append(b.queue, b.op)
	}
	if b.source.Next(&b.op) {
		b.clock.At(b.op.At, b, 0)
	}
}

// A rig holds the parts of a bench.
type rig struct {
	cfg     Config
	host    kernel.Config
	cache   bool // the volumes have a volatile write cache, as loop devices do
	load    workload.Spec
	volumes map[string]volume.Config
}

func (r rig) run(t testing.TB, warm, length time.Duration) *bench {
	t.Helper()
	b := &bench{from: vtime.At(warm)}
	seed := random.Seed(1)
	b.host = kernel.NewHost(r.host, &b.clock, seed)

	for _, name := range []string{"data", "journal"} {
		if cfg, ok := r.volumes[name]; ok {
			cfg.Name = name
			d := b.host.Attach(name, volume.MustNew(cfg, seed, nil))
			d.SetVolatileCache(r.cache)
			b.devices = append(b.devices, d)
		}
	}

	w, problems := r.load.Resolve(nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}

	if r.cfg.Documents == 0 {
		r.cfg.Documents, r.cfg.DocumentSize = uint64(w.Documents()), w.DocumentSize()
	}

	e, err := New(r.cfg, database.Env{Clock: &b.clock, Host: b.host, Seed: seed, Client: b, Volumes: b.devices})
	if err != nil {
		t.Fatal(err)
	}

	b.engine, b.source, b.free = e, w.Open(seed), w.Connections()
	if b.source.Next(&b.op) {
		b.clock.At(b.op.At, b, 0)
	}

	b.clock.Run(b.from)
	e.ResetFigures()
	b.clock.Run(vtime.At(warm + length))
	slices.Sort(b.latencies)

	return b
}

func (b *bench) quantile(q float64) time.Duration {
	if len(b.latencies) == 0 {
		return 0
	}
	return time.Duration(b.latencies[min(int(q*float64(len(b.latencies))), len(b.latencies)-1)])
}

// takes returns a quantile of measured requests, in microseconds.
func takes(share units.Ratio, us int64) volume.Quantile {
	return volume.Quantile{Share: share, Takes: units.Duration(us * int64(time.Microsecond))}
}

// distribution makes a latency distribution from quantiles.
func distribution(of ...volume.Quantile) volume.Latency {
	l, err := volume.NewLatency(of...)
	if err != nil {
		panic(err)
	}
	return l
}

// labVolume is the volume of the measured runs, as examples/make/volume.sh makes it: a loop device with
// 128 requests and the kernel's writeback throttling, on top of a device that the kernel limits to
// 3,000 IOPS and 48 MB/s. The limiter lets 100 ms worth of requests pass immediately (throtl_slice in
// block/blk-throttle.c) and charges flushes. The rest of a request's time was measured on the journal's
// own volume in a run of 150 s with all three changes and cores that were 17 % busy (block_rq_issue to
// block_rq_complete; 119,488 writes, 112,761 flushes). One in 100 requests exceeds half a millisecond:
// two kernel threads handle it one after the other, and wait for a core.
func labVolume() volume.Config {
	write := distribution(takes(0, 10), takes(0.1, 17), takes(0.25, 21), takes(0.5, 28), takes(0.75, 41), takes(0.9, 64), takes(0.95, 85),
		takes(0.98, 166), takes(0.99, 511), takes(0.995, 1137), takes(0.999, 2870), takes(1, 7588))
	flush := distribution(takes(0, 17), takes(0.1, 22), takes(0.25, 26), takes(0.5, 35), takes(0.75, 53), takes(0.9, 76), takes(0.95, 106),
		takes(0.98, 305), takes(0.99, 953), takes(0.995, 1675), takes(0.999, 3793), takes(1, 8865))
	r := volume.Rate{IOPS: 3000, Throughput: 48 * units.MBps}
	return volume.Config{
		WriteOnly: r, ReadOnly: r, Latency: [volume.Ops]volume.Latency{volume.Read: write, volume.Write: write, volume.Flush: flush},
		Slots: 128, FlushIsOperation: true, Slack: units.Duration(100 * time.Millisecond),
	}
}

// lab is the measured run: 150,000 documents of 4 KB in a cache of 1 GB, 300 B logged per write, 64
// threads.
func lab() rig {
	no := false
	cfg := Defaults()
	cfg.Cache, cfg.LogBytes, cfg.Oplog = units.GB, 300, &no
	host := kernel.Defaults()
	host.Cores, host.Memory, host.MaxRequest = 2, 24*units.GiB, 1280*units.KiB // of a loop device
	return rig{cfg: cfg, host: host, cache: true, load: workload.Spec{Preset: "wiredtiger-lab"}, volumes: map[string]volume.Config{"data": labVolume()}}
}

// The ten measured runs (eight here: two repeated a run with WiredTiger 11.3.1, within 10 %). All use
// one set of parameters; those calibrated on these runs are named in the package's doc.
func TestMeasuredRuns(t *testing.T) {
	tuned := func(c *Config) {
		c.EvictionThreadsMin, c.EvictionThreadsMax = 20, 20
		c.EvictionDirtyTarget, c.EvictionDirtyTrigger = 0.01, 0.05
	}

	rows := []struct {
		name             string
		change           func(*rig)
		p99, max         float64 // measured, ms
		checkpoint       float64 // the longest, ms
		mbps, iops       float64 // of the data volume
		within           float64 // the largest factor between the model's p99 and this one
		withinCheckpoint float64
	}{
		{"baseline", func(*rig) {}, 7909, 8972, 7615, 16.9, 1149, 1.5, 1.6},
		{"eviction tuning alone", func(r *rig) { tuned(&r.cfg) }, 6145, 6861, 8578, 15.7, 1259, 1.5, 1.5},
		{"checkpoint every 10 s", func(r *rig) { r.cfg.Checkpoint = units.Duration(10 * time.Second) }, 3905, 4164, 5695, 19.1, 1365, 1.5, 1.6},
		{"io_capacity 40 MB/s", func(r *rig) { r.cfg.IOCapacity = 40 * units.MBps }, 371, 715, 1403, 22.9, 1590, 1.5, 2},
		{"dirty_background 8 MB", func(r *rig) { r.host.DirtyBackground = 8 * units.MB }, 271, 734, 1103, 23.0, 1682, 1.5, 1.6},
		{"that and eviction tuning", func(r *rig) { r.host.DirtyBackground = 8 * units.MB; tuned(&r.cfg) }, 173, 313, 481, 24.2, 1836, 1.5, 1.6},
		{"separate journal", func(r *rig) { r.volumes["journal"] = labVolume() }, 4.7, 77, 9286, 15.4, 271, 2, 1.6},
		{"separate journal and both", func(r *rig) {
			r.volumes["journal"] = labVolume()
			r.host.DirtyBackground = 8 * units.MB
			tuned(&r.cfg)
		}, 5.0, 100, 525, 21.7, 576, 2, 1.6},
	}

	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	t.Logf("%-26s %21s %21s %21s %13s %13s", "measured | model", "p99 ms", "max ms", "checkpoint max ms", "MB/s", "IO/s")

	p99 := map[string]float64{}
	for _, r := range rows {
		g := lab()
		r.change(&g)
		b := g.run(t, 2*time.Minute, 8*time.Minute)
		longest := ms(b.longest())
		s, seconds := b.devices[0].Stats(), b.clock.Now().Seconds()
		p99[r.name] = ms(b.quantile(0.99))
		t.Logf(
			"%-26s %10.1f %10.1f %10.0f %10.0f %10.0f %10.0f %6.1f %6.1f %6.0f %6.0f", r.name, r.p99, p99[r.name],
			r.max, ms(b.quantile(1)), r.checkpoint, longest, r.mbps, float64(s.WrittenBytes)/seconds/1e6, r.iops, float64(b.writes())/seconds,
		)

		if f := p99[r.name] / r.p99; f > r.within || f < 1/r.within {
			t.Errorf("%s: p99 %.1f ms, measured %.1f: more than a factor of %v", r.name, p99[r.name], r.p99, r.within)
		}

		if f := longest / r.checkpoint; f > r.withinCheckpoint || f < 1/r.withinCheckpoint {
			t.Errorf("%s: checkpoint %.0f ms, measured %.0f: more than a factor of %v", r.name, longest, r.checkpoint, r.withinCheckpoint)
		}

		if f := float64(b.writes()) / seconds / r.iops; len(b.devices) == 1 && (f > 1.25 || f < 0.8) {
			t.Errorf("%s: %.0f writes/s, measured %.0f", r.name, f*r.iops, r.iops)
		}

		if rate := float64(s.WrittenBytes) / seconds / 1e6; rate < r.mbps*0.8 || rate > r.mbps*1.2 {
			t.Errorf("%s: %.1f MB/s, measured %.1f", r.name, rate, r.mbps)
		}

		for _, u := range b.unexpected {
			t.Error(r.name, u)
		}
	}

	// Lessons from the runs, whatever the figures: what helps, what does not, and by how much.
	for _, c := range []struct {
		less, more string
		by         float64
	}{
		{"checkpoint every 10 s", "baseline", 1.3},
		{"io_capacity 40 MB/s", "checkpoint every 10 s", 5},
		{"dirty_background 8 MB", "checkpoint every 10 s", 5},
		{"that and eviction tuning", "dirty_background 8 MB", 1.5},
		{"separate journal", "that and eviction tuning", 10},
	} {
		if p99[c.less]*c.by > p99[c.more] {
			t.Errorf("%s (%.1f ms) is not %v times better than %s (%.1f ms)", c.less, p99[c.less], c.by, c.more, p99[c.more])
		}
	}

	if p99["eviction tuning alone"] < p99["baseline"]/2 {
		t.Error("eviction tuning alone helps the model, but did not help the engine")
	}
}

// writes counts the data volume's writes as iostat does: a flush that follows no write of the file
// system's journal counts as a write without data, and a flush that belongs to such a write is part of
// it.
func (b *bench) writes() int64 {
	s, syncs := b.devices[0].Stats(), b.engine.c.fsyncs
	if len(b.devices) == 1 {
		syncs += b.engine.c.syncs
	}
	return s.Writes + 2*syncs - s.Flushes
}

// longest returns the longest checkpoint that ran entirely within the measurement.
func (b *bench) longest() (d time.Duration) {
	for _, c := range b.engine.Cycles() {
		if c.End != vtime.Never && c.Start >= b.from {
			d = max(d, c.End.Sub(c.Start))
		}
	}
	return d
}

// Bytes written per update, measured with a checkpoint every 20 s: 26 KB documents at 300 updates/s,
// both whole and as differences, and 500 hot ones.
func TestMeasuredAmplification(t *testing.T) {
	for _, c := range []struct {
		name     string
		measured float64
		load     workload.Spec
	}{
		{"26 KB documents, whole", 26172, workload.Spec{
			Arrivals: &workload.Arrivals{Poisson: hz(300)}, Mix: &workload.Mix{Update: 1},
			Keys: &workload.Keys{Count: 20_000}, Document: &workload.Document{Size: 26 * units.KB},
		}},
		{"26 KB documents, differences", 25432, workload.Spec{
			Arrivals: &workload.Arrivals{Poisson: hz(300)}, Mix: &workload.Mix{Update: 1},
			Keys: &workload.Keys{Count: 20_000}, Document: &workload.Document{Size: 26 * units.KB, Change: 100},
		}},
		{"500 hot documents", 2902, workload.Spec{
			Arrivals: &workload.Arrivals{Poisson: hz(300)}, Mix: &workload.Mix{Update: 1},
			Keys: &workload.Keys{Count: 500}, Document: &workload.Document{Size: 26 * units.KB, Change: 100},
		}},
	} {
		g := lab()
		g.cfg.Checkpoint, g.cfg.LogBytes, g.load = units.Duration(20*time.Second), 0, c.load
		g.volumes["data"] = volume.Config{}
		b := g.run(t, time.Minute, 4*time.Minute)
		got := b.figure("written_bytes_per_write")
		t.Logf("%-30s bytes written an update: measured %.0f, model %.0f", c.name, c.measured, got)
		if got < c.measured*0.75 || got > c.measured*1.25 {
			t.Errorf("%s: %.0f bytes an update, measured %.0f", c.name, got, c.measured)
		}
	}
}

// Without a journal, no write waits for one, and only checkpoints and eviction write.
func TestWithoutAJournal(t *testing.T) {
	no, g := false, lab()
	g.cfg.Journal = &no
	b := g.run(t, 0, 20*time.Second)
	log := b.waits[database.WaitLogTurn] + b.waits[database.WaitLogQueue] + b.waits[database.WaitLogLimit] + b.waits[database.WaitLogDevice]
	if b.done < 1000 || log != 0 || b.engine.c.logBytes != 0 || b.engine.c.syncs != 0 {
		t.Errorf("%d writes, waits for the log %d, %d bytes of it, %d syncs", b.done, log, b.engine.c.logBytes, b.engine.c.syncs)
	}
	if p := b.quantile(0.5); p > time.Millisecond { // the volume's own write takes 0.3 ms
		t.Errorf("the median write takes %v", p)
	}
}

func hz(x units.Frequency) *units.Frequency { return &x }

func (b *bench) figure(name string) float64 {
	for _, f := range b.engine.Figures() {
		if f.Name == name {
			return f.Value
		}
	}
	return 0
}

// BenchmarkTelemetry simulates ten minutes of 2,000 inserts/s with 5 GB of cache and a checkpoint
// every minute, on gp3.
func BenchmarkTelemetry(b *testing.B) {
	cfg := Defaults()
	cfg.Cache = 5 * units.GB
	gp3 := volume.Config{Sustained: volume.Rate{IOPS: 3000, Throughput: 125 * units.MiBps}, Latency: labVolume().Latency}
	b.ReportAllocs()
	for range b.N {
		r := rig{cfg: cfg, host: kernel.Defaults(), load: workload.Spec{Preset: "telemetry"}, volumes: map[string]volume.Config{"data": gp3}}
		r.run(b, 0, 10*time.Minute)
	}
}
