package model

import (
	"fmt"
	"math"
	"strings"
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

// ebs is a volume like the published case's, with the latencies that fio measured for appends: mean
// 1.42 ms on gp2, 0.70 ms on gp3, about a third of which is the file system's journal.
func ebs(t testing.TB, name string, iops units.Frequency, p0, p50, p99, p100 time.Duration) volume.Config {
	vc := volume.Config{Name: name, Operation: 256 * units.KiB, Merge: true}
	vc.Sustained = volume.Rate{IOPS: iops, Throughput: 250 * units.MiBps}
	q := func(share float64, d time.Duration) volume.Quantile {
		return volume.Quantile{Share: units.Ratio(share), Takes: units.Duration(d)}
	}
	l := latency(t, q(0, p0), q(0.5, p50), q(0.99, p99), q(1, p100))
	vc.Latency[volume.Read], vc.Latency[volume.Write] = l, l
	return vc
}

func gp2(t testing.TB) volume.Config {
	vc := ebs(t, "gp2", 900, 300*time.Microsecond, 800*time.Microsecond, 2*time.Millisecond, 10*time.Millisecond)
	vc.Burst = &volume.Burst{At: volume.Rate{IOPS: 3000}, Capacity: 5.4e6, Initial: 5.4e6}
	return vc
}

func gp3(t testing.TB, iops units.Frequency) volume.Config {
	return ebs(t, "gp3", iops, 250*time.Microsecond, 420*time.Microsecond, 900*time.Microsecond, 5*time.Millisecond)
}

// cloud is a cluster of five members with four cores each (m6i.xlarge), and a volume each for the WAL
// and the database, as in the published case.
func cloud(t testing.TB, vc volume.Config) harnessConfig {
	cfg := Defaults()
	cfg.Members = 5
	host := kernel.Defaults()
	host.Cores = 4
	one := func(int) volume.Config { return vc }
	return harnessConfig{config: cfg, host: host, seed: 1, volumes: one, data: one}
}

// TestLatencyBound: a single client's rate is the reciprocal of the latency, whatever the IOPS;
// published: 2 % more appends with twice the IOPS. Many clients share syncs and hide the effect.
func TestLatencyBound(t *testing.T) {
	put := func(iops units.Frequency, clients int) float64 {
		return newHarness(t, cloud(t, gp3(t, iops))).closedLoop(clients, 10*time.Second)
	}
	at3000, at6000 := put(3000, 1), put(6000, 1)
	t.Logf("one client: %.0f put/s at 3,000 IOPS, %.0f at 6,000 (%+.1f %%); published appends: 1,105 and 1,129 (+2 %%)",
		at3000, at6000, 100*(at6000/at3000-1))
	if math.Abs(at6000/at3000-1) > 0.03 {
		t.Errorf("twice the IOPS changes one client's rate from %.0f to %.0f", at3000, at6000)
	}
	if many := put(3000, 100); many < 8*at3000 {
		t.Errorf("100 clients: %.0f put/s, one: %.0f: syncs are not shared", many, at3000)
	}
}

// checker is `etcdctl check perf`: clients that put as fast as they are answered, all of them together
// up to a rate limit. (Its latencies exclude the time spent waiting for the limit: coordinated
// omission.)
type checker struct {
	harness  *harness
	limit    int
	waiting  int // clients
	tokens   int
	deadline vtime.Instant
	n        int
	slowest  time.Duration
	sum, sq  float64
}

func (c *checker) Done(now vtime.Instant, op *workload.Op, _ *database.Waits) {
	took := now.Sub(op.At)
	c.n++
	c.slowest = max(c.slowest, took)
	c.sum += took.Seconds()
	c.sq += took.Seconds() * took.Seconds()
	c.waiting++
	c.serve()
}

func (c *checker) serve() {
	for c.waiting > 0 && c.tokens > 0 {
		c.waiting--
		c.tokens--
		c.harness.put()
	}
}

func (c *checker) Fire(now vtime.Instant, _ uint64) {
	c.tokens = 1
	c.serve()
	c.tokens = 0
	if now < c.deadline {
		c.harness.clock.After(time.Second/time.Duration(c.limit), c, 0)
	}
}

// TestCheckPerf prints what check perf would report on the published volumes. Published for gp2: s
// passes, l fails at about 6,600 writes per second.
func TestCheckPerf(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-9s %-4s %9s %9s %9s  %s\n", "volume", "load", "put/s", "slowest", "stddev", "verdict")

	for _, vc := range []volume.Config{gp2(t), gp3(t, 3000)} {
		for _, load := range []struct {
			name           string
			limit, clients int
		}{{"s", 150, 50}, {"m", 1000, 200}, {"l", 8000, 500}, {"xl", 15000, 1000}} {
			const seconds = 10 // of its 60 s
			b := newHarness(t, cloud(t, vc))
			b.payload = 256 + 1024
			c := &checker{harness: b, limit: load.limit, waiting: load.clients, deadline: vtime.At(seconds * time.Second)}
			b.cluster.client = c
			b.clock.At(0, c, 0)
			b.clock.Run(c.deadline)
			mean := c.sum / float64(c.n)
			deviation := math.Sqrt(max(0, c.sq/float64(c.n)-mean*mean))
			rate := float64(c.n) / seconds
			pass := rate/float64(load.limit) > 0.9 && c.slowest <= 500*time.Millisecond && deviation <= 0.1
			fmt.Fprintf(&out, "%-9s %-4s %9.0f %9v %7.1fms  %s\n", vc.Name, load.name, rate, c.slowest.Round(100*time.Microsecond), deviation*1000, map[bool]string{true: "PASS", false: "FAIL"}[pass])

			if load.name == "s" && !pass {
				t.Errorf("%s fails at s", vc.Name)
			}
		}
	}

	t.Log("\n" + out.String())
}

// A slow leader affects clients even if a majority is fast: its loop applies nothing until its own sync
// is done.
func TestSlowLeader(t *testing.T) {
	rate := func(slow int) float64 {
		bc := cloud(t, gp3(t, 3000))
		fast := bc.volumes(1)
		bc.volumes = func(k int) volume.Config {
			vc := fast
			if k == slow {
				vc.Latency[volume.Write] = always(t, 20*time.Millisecond)
			}
			return vc
		}
		return newHarness(t, bc).closedLoop(1, 5*time.Second)
	}

	none, follower, leader := rate(0), rate(5), rate(1)

	// (The second of four fast followers is a little faster than the second of three.)
	if follower < 0.93*none || leader > none/5 {
		t.Errorf("put/s: %.0f, with a slow follower %.0f, with a slow leader %.0f", none, follower, leader)
	}
}

// Heartbeats pass through the leader's loop. A sync that takes more than two intervals delays them, one
// per follower. (A sync to new blocks is two writes in succession.)
func TestHeartbeats(t *testing.T) {
	for _, test := range []struct {
		write time.Duration
		late  bool
	}{{80 * time.Millisecond, false}, {250 * time.Millisecond, true}} {
		vc := volume.Config{Name: "slow"}
		vc.Latency[volume.Write] = always(t, test.write)
		b := newHarness(t, cloud(t, vc))
		b.closedLoop(1, 5*time.Second)
		n := b.cluster.done.heartbeatsLate
		if (n > 0) != test.late || n%4 != 0 {
			t.Errorf("writes of %v: %d heartbeats late", test.write, n)
		}
	}
}

// A follower that cannot keep up is sent the database, and the log does not grow without limit because
// of it.
func TestSnapshotToFollower(t *testing.T) {
	bc := cloud(t, gp3(t, 3000))
	bc.config.SnapshotCount, bc.config.CatchUp = 1000, 500
	fast := bc.volumes(1)
	bc.volumes = func(k int) volume.Config {
		vc := fast
		if k == 5 {
			vc.Latency[volume.Write] = always(t, 500*time.Millisecond)
		}
		return vc
	}

	bc.config.MaxInflight = 16
	b := newHarness(t, bc)
	snapshots := 0
	b.check = func(vtime.Instant) {
		if b.cluster.members[4].sending.snapshot {
			snapshots++
		}
	}

	b.closedLoop(50, 10*time.Second)
	if snapshots == 0 {
		t.Error("it was never sent the database")
	}

	if n := len(b.cluster.log.ring); n > 4096 {
		t.Errorf("the log holds %d entries", n)
	}

	if lag := b.cluster.leader.applied - b.cluster.members[4].synced; lag > 50_000 {
		t.Errorf("it is %d entries behind", lag)
	}
}

func TestCheck(t *testing.T) {
	cfg := Defaults()
	if l := cfg.Check(); len(l) > 0 {
		t.Fatal(l)
	}

	cfg.Members, cfg.Leader, cfg.Election, cfg.Quota, cfg.CPU.Ready = 4, 5, cfg.Heartbeat, 0, -1
	got := cfg.Check().Error()
	for _, want := range []string{
		"members: 4 members tolerate no more failures than 3", "nearest legal value: 3",
		"leader: 5 is not one of the members", "election: 100ms is below five heartbeats", "nearest legal value: 500ms",
		"quota: 0B is out of range", "cpu.ready: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	if _, err := New(cfg, &database.Env{Seed: random.Seed(1)}, nil); err == nil {
		t.Error("New takes it")
	}
}
