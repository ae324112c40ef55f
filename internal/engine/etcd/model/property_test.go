package model

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/kernel"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/workload"
)

// drawn makes a cluster of any size on volumes with any latency and limit.
func drawn(t testing.TB, rt *rapid.T) harnessConfig {
	cfg := Defaults()
	cfg.Members = rapid.SampledFrom([]int{1, 3, 5}).Draw(rt, "members")
	cfg.Leader = rapid.IntRange(1, cfg.Members).Draw(rt, "leader")
	cfg.BatchLimit = rapid.SampledFrom([]int{7, 10_000}).Draw(rt, "batch")
	cfg.SnapshotCount = rapid.SampledFrom([]int{20, 10_000}).Draw(rt, "snapshot")
	cfg.CatchUp = rapid.SampledFrom([]int{10, 5_000}).Draw(rt, "catchup")
	cfg.MaxInflight = rapid.SampledFrom([]int{1, 4, 512}).Draw(rt, "inflight")
	cfg.MaxMessage = rapid.SampledFrom([]units.Size{4 * units.KiB, units.MiB}).Draw(rt, "message")
	host := kernel.Defaults()
	host.Cores = rapid.IntRange(1, 4).Draw(rt, "cores")
	latencies := rapid.SliceOfN(rapid.IntRange(0, 40_000), 5, 5).Draw(rt, "latency µs")
	iops := rapid.SampledFrom([]units.Frequency{0, 300, 3000}).Draw(rt, "iops")

	return harnessConfig{config: cfg, host: host, shared: rapid.Bool().Draw(rt, "shared"), seed: random.Seed(rapid.Uint64().Draw(rt, "seed")),
		volumes: func(k int) volume.Config {
			vc := volume.Config{Name: "v"}
			vc.Sustained.IOPS = iops
			d := time.Duration(latencies[k-1]) * time.Microsecond
			vc.Latency[volume.Write] = latency(t, volume.Quantile{Share: 0, Takes: units.Duration(d / 2)}, volume.Quantile{Share: 1, Takes: units.Duration(d)})
			return vc
		}}
}

// arrivals is a client that sends at given instants, and checks the answers.
type arrivals struct {
	rt      *rapid.T
	harness *harness
	ops     []workload.Op
	next    int
	seen    []int
	trace   []int64
}

func (a *arrivals) Fire(now vtime.Instant, _ uint64) {
	op := a.ops[a.next]
	op.At = now
	a.next++
	if a.next < len(a.ops) {
		a.harness.clock.At(a.ops[a.next].At, a, 0)
	}
	a.harness.cluster.Do(op)
}

func (a *arrivals) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	a.seen[op.Key]++
	sum := int64(0)
	for i, x := range w {
		if x < 0 {
			a.rt.Fatalf("put %d waited %d ns for %v", op.Key, x, database.Wait(i))
		}
		sum += x
	}

	if took := int64(now.Sub(op.At)); sum != took {
		a.rt.Fatalf("put %d took %d ns, its waits are %d: %v", op.Key, took, sum, *w)
	}

	c := a.harness.cluster
	var on []uint64
	for k := range c.members {
		on = append(on, c.members[k].synced)
	}

	slices.Sort(on)
	if quorum := on[len(on)/2]; c.loop.committed > quorum || c.leader.applied > c.loop.committed {
		a.rt.Fatalf("applied %d, committed %d, on a majority's disks %d", c.leader.applied, c.loop.committed, quorum)
	}

	a.trace = append(a.trace, int64(now), int64(op.Key), sum)
}

func run(t testing.TB, rt *rapid.T, bc harnessConfig, ops []workload.Op) *arrivals {
	b := newHarness(t, bc)
	a := &arrivals{rt: rt, harness: b, ops: ops, seen: make([]int, len(ops))}
	b.cluster.client = a
	b.clock.At(ops[0].At, a, 0)
	b.clock.Run(vtime.At(10 * time.Minute))
	return a
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bc := drawn(t, rt)
		n := rapid.IntRange(1, 300).Draw(rt, "puts")
		gap := rapid.SampledFrom([]int{0, 50, 1000, 20_000}).Draw(rt, "gap µs")
		ops := make([]workload.Op, n)

		at := vtime.Instant(0)
		for i := range ops {
			at = at.Add(time.Duration(rapid.IntRange(0, gap).Draw(rt, "gap")) * time.Microsecond)
			kind := workload.Update
			if rapid.IntRange(0, 9).Draw(rt, "kind") == 0 {
				kind = workload.Read
			}
			ops[i] = workload.Op{At: at, Kind: kind, Key: uint64(i), Size: units.Size(rapid.IntRange(0, 5000).Draw(rt, "size"))}
		}

		a := run(t, rt, bc, ops)
		for key, n := range a.seen {
			if n != 1 {
				rt.Fatalf("put %d was acknowledged %d times", key, n)
			}
		}

		c := a.harness.cluster
		for k := range c.members {
			if m := &c.members[k]; m.synced != c.log.last || m.applied != c.log.last || m.backend.pending != 0 {
				rt.Fatalf("idle at last, member %d has %d of %d on disk, %d applied, %d not committed", k+1, m.synced, c.log.last, m.applied, m.backend.pending)
			}
		}

		if again := run(t, rt, bc, ops); !slices.Equal(a.trace, again.trace) {
			rt.Fatal("the same run twice differs")
		}
	})
}

func TestMetrics(t *testing.T) {
	b := newHarness(t, lab(t, 3))
	b.closedLoop(4, 3*time.Second)
	metrics := b.cluster.Metrics()

	values := make([]float64, len(metrics))
	for i := range values {
		values[i] = math.Inf(1)
	}

	b.cluster.Sample(values)
	got := map[string]float64{}
	for i, m := range metrics {
		name := m.Name + "{" + strings.Join(m.Labels, ",") + "}"
		if _, twice := got[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		if math.IsInf(values[i], 0) {
			t.Errorf("%s was not sampled", name)
		}
		got[name] = values[i]
	}

	const fsync = "etcd_disk_wal_fsync_duration_seconds"
	if n, inf := got[fsync+"_count{instance,m1}"], got[fsync+"_bucket{instance,m1,le,+Inf}"]; n == 0 || n != inf {
		t.Errorf("%v syncs counted, %v in the last bucket", n, inf)
	}

	if got[fsync+"_bucket{instance,m1,le,0.008}"] < got[fsync+"_bucket{instance,m1,le,0.001}"] {
		t.Error("buckets are not cumulative")
	}

	if got["etcd_server_is_leader{instance,m1}"] != 1 || got["etcd_server_is_leader{instance,m2}"] != 0 {
		t.Error("the leader does not learn of it")
	}

	if x := got["etcd_server_proposals_committed_total{instance,m1}"]; x < 1000 {
		t.Errorf("%v proposals committed", x)
	}

	if len(b.cluster.Cycles()) < 20 {
		t.Errorf("%d backend commits in 4 s", len(b.cluster.Cycles()))
	}
}

func TestHistogram(t *testing.T) {
	for _, test := range []struct {
		d    time.Duration
		edge int
	}{
		{0, 0}, {time.Millisecond, 0}, {time.Millisecond + 1, 1}, {2 * time.Millisecond, 1}, {2*time.Millisecond + 1, 2},
		{8192 * time.Millisecond, 13}, {8192*time.Millisecond + 1, 14}, {time.Hour, 14},
	} {
		var h histogram
		h.observe(test.d)
		if h.counts[test.edge] != 1 {
			t.Errorf("%v is in %v, not in bucket %d", test.d, h.counts, test.edge)
		}
	}
	if e := edges(); e[0] != "0.001" || e[3] != "0.008" || e[13] != "8.192" || e[14] != "+Inf" {
		t.Errorf("edges are %v", e)
	}
}

// forever is a client that sends the next request after each answer.
type forever struct{ b *harness }

func (f *forever) Done(_ vtime.Instant, op *workload.Op, _ *database.Waits) {
	f.b.issued++
	f.b.cluster.Do(workload.Op{At: f.b.clock.Now(), Kind: workload.Update, Size: 256, Key: op.Key})
}

func benchmark(b *testing.B, members, clients int) {
	harness := newHarness(b, lab(b, members))
	harness.cluster.client = &forever{harness}
	for range clients {
		harness.put()
	}
	harness.clock.Run(vtime.At(time.Second))
	b.ReportAllocs()
	for from := harness.issued; harness.issued-from < b.N; {
		harness.clock.Run(harness.clock.Now().Add(10 * time.Millisecond))
	}
}

func BenchmarkPut(b *testing.B)            { benchmark(b, 1, 100) }
func BenchmarkPutFiveMembers(b *testing.B) { benchmark(b, 5, 100) }
func BenchmarkPutOneClient(b *testing.B)   { benchmark(b, 5, 1) }

func TestConformance(t *testing.T) {
	cfg := Defaults()
	cfg.Members = 3
	enginetest.Run(t, enginetest.Case{
		Volumes: []string{"m1/data", "m2/data", "m3/data", "m2/wal"}, For: 15 * time.Second,
		New: func(env database.Env) (database.Model, error) {
			var members []Member
			for _, m := range []string{"m1", "m2", "m3"} {
				members = append(members, Member{Host: env.Host, WAL: env.Volume(m+"/wal", m+"/data"), Data: env.Volume(m + "/data")})
			}
			return New(cfg, &env, members)
		},
		Op: func(n uint64, chance *random.Stream) workload.Op {
			return workload.Op{Kind: workload.Kind(n % workload.Kinds), Key: chance.Below(1 << 40), Size: 256}
		},
	})
}
