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

// A harness is an instance of IRIS with processes that read and others that update.
type harness struct {
	clock    vtime.Clock
	host     *kernel.Host
	data     *kernel.Device
	instance *Instance
	chance   *random.Stream

	hot   uint64        // updates go to blocks below this one
	gap   time.Duration // between updates
	until vtime.Instant
	reads []second
	done  int // reads in a benchmark
}

// A second holds the latencies of reads in one second of the run.
type second struct{ took []time.Duration }

const (
	readClass = iota
	updateClass
)

func newHarness(t testing.TB, cfg Config, data volume.Volume, other func(name string) volume.Volume, cores int) *harness {
	t.Helper()
	b := &harness{chance: random.Seed(7).Stream("test")}
	hc := kernel.Defaults()
	hc.Cores, hc.Memory = cores, 256*units.GiB
	b.host = kernel.NewHost(hc, &b.clock, 1)
	b.data = b.host.Attach("data", data)
	env := &database.Env{Clock: &b.clock, Host: b.host, Seed: 1, Client: b, Volumes: []*kernel.Device{b.data}}

	if other != nil {
		for _, name := range []string{"wij", "journal"} {
			env.Volumes = append(env.Volumes, b.host.Attach(name, other(name)))
		}
	}

	x, err := New(cfg, env)
	if err != nil {
		t.Fatal(err)
	}

	b.instance = x
	return b
}

func (b *harness) read() {
	b.instance.Do(workload.Op{At: b.clock.Now(), Kind: workload.Read, Key: b.chance.Below(b.instance.buffers.blocks), Class: readClass, Size: BlockSize})
}

// Fire submits the next update.
func (b *harness) Fire(now vtime.Instant, _ uint64) {
	b.instance.Do(workload.Op{At: now, Kind: workload.Update, Key: b.chance.Below(b.hot), Class: updateClass, Size: 100})
	if now < b.until {
		b.clock.After(b.gap, b, 0)
	}
}

func (b *harness) Done(now vtime.Instant, op *workload.Op, _ *database.Waits) {
	if op.Class != readClass {
		return
	}
	s := int(now / 1e9)
	for len(b.reads) <= s {
		b.reads = append(b.reads, second{})
	}
	b.reads[s].took = append(b.reads[s].took, now.Sub(op.At))
	b.read()
}

func (b *harness) run(d time.Duration) { b.clock.Run(b.clock.Now().Add(d)) }

func mean(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sum := time.Duration(0)
	for _, d := range took {
		sum += d
	}
	return sum / time.Duration(len(took))
}

func quantile(took []time.Duration, q float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(took))
	return s[int(q*float64(len(s)-1))]
}

// gp3 is a volume of the published case: 16,000 IOPS and 1,000 MiB/s.
func gp3(name string) volume.Config {
	vc := volume.Config{Name: name, Operation: 256 * units.KiB, Merge: true}
	vc.Sustained = volume.Rate{IOPS: 16_000, Throughput: 1000 * units.MiBps}
	vc.Latency = [volume.Ops]volume.Latency{volume.Read: volume.GP3.Latency(), volume.Write: volume.GP3.Latency()}
	return vc
}
