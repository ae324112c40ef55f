package model

import (
	"slices"
	"strconv"
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

// A harness is a cluster on hosts, and clients that put.
type harness struct {
	t       testing.TB
	clock   *vtime.Clock
	hosts   []*kernel.Host
	devices []*kernel.Device
	cluster *Cluster

	closed  bool // a client that gets an answer sends the next request
	payload units.Size
	chance  *random.Stream
	issued  int
	latency []time.Duration
	at      []vtime.Instant
	waits   database.Waits
	over    int // operations whose waits do not add up to their latency
	quota   int // operations that may still be sent; 0: any number
	check   func(now vtime.Instant)
}

type harnessConfig struct {
	config  Config
	host    kernel.Config
	shared  bool // one host for all members
	volumes func(member int) volume.Config
	data    func(member int) volume.Config // nil: with the WAL
	// together puts members whose volumes have the same name on one volume.
	together bool
	cache    bool // of the volumes, volatile
	seed     random.Seed
}

func newHarness(t testing.TB, bc harnessConfig) *harness {
	t.Helper()
	b := &harness{t: t, clock: new(vtime.Clock), payload: 256, chance: bc.seed.Stream("test")}
	var members []Member

	made := map[string]*kernel.Device{}
	for k := 1; k <= bc.config.Members; k++ {
		if len(b.hosts) == 0 || !bc.shared {
			b.hosts = append(b.hosts, kernel.NewHost(bc.host, b.clock, bc.seed))
		}

		host := b.hosts[len(b.hosts)-1]
		attach := func(vc volume.Config, name string) *kernel.Device {
			if !bc.together {
				vc.Name = "m" + strconv.Itoa(k) + name
			}

			d := made[vc.Name]
			if d == nil {
				v, err := volume.New(vc, bc.seed, nil)
				if err != nil {
					t.Fatal(err)
				}
				d = host.Attach(vc.Name, v)
				d.SetVolatileCache(bc.cache)
				made[vc.Name] = d
				b.devices = append(b.devices, d)
			}

			return d
		}

		if bc.data == nil {
			d := attach(bc.volumes(k), "/data")
			members = append(members, Member{Host: host, WAL: d, Data: d})
			continue
		}

		members = append(members, Member{Host: host, WAL: attach(bc.volumes(k), "/wal"), Data: attach(bc.data(k), "/data")})
	}

	c, err := New(bc.config, b.env(), members)
	if err != nil {
		t.Fatal(err)
	}

	b.cluster = c
	return b
}

// env is what New needs in addition to the members.
func (b *harness) env() *database.Env { return &database.Env{Clock: b.clock, Seed: 1, Client: b} }

func (b *harness) put() {
	b.issued++
	b.cluster.Do(workload.Op{At: b.clock.Now(), Kind: workload.Update, Key: b.chance.Below(1 << 30), Size: b.payload})
}

func (b *harness) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	took := now.Sub(op.At)
	b.latency = append(b.latency, took)
	b.at = append(b.at, now)

	sum := int64(0)
	for i, x := range w {
		sum += x
		b.waits[i] += x
		if x < 0 {
			b.over++
		}
	}

	if sum != int64(took) { // the model accounts for all of it
		b.over++
	}

	if b.check != nil {
		b.check(now)
	}

	if b.closed && (b.quota == 0 || b.issued < b.quota) {
		b.put()
	}
}

// closedLoop lets n clients put one value after another for a while, and returns puts per second,
// without the first second.
func (b *harness) closedLoop(n int, d time.Duration) float64 {
	b.closed = true
	for range n {
		b.put()
	}
	b.clock.Run(b.clock.Now().Add(time.Second))
	b.latency, b.at, b.waits = b.latency[:0], b.at[:0], database.Waits{}
	b.clock.Run(b.clock.Now().Add(d))
	return float64(len(b.latency)) / d.Seconds()
}

func (b *harness) quantile(q float64) time.Duration {
	if len(b.latency) == 0 {
		return 0
	}
	s := slices.Clone(b.latency)
	slices.Sort(s)
	return s[int(q*float64(len(s)-1))]
}

func (b *harness) fsyncs() (n int64) {
	for _, x := range b.cluster.leader.wal.fsync.counts {
		n += x
	}
	return n
}

func latency(t testing.TB, quantiles ...volume.Quantile) volume.Latency {
	t.Helper()
	l, err := volume.NewLatency(quantiles...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func always(t testing.TB, d time.Duration) volume.Latency {
	t.Helper()
	return latency(t, volume.Quantile{Share: 0, Takes: units.Duration(d)}, volume.Quantile{Share: 1, Takes: units.Duration(d)})
}
