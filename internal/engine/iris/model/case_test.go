package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// A system is one of the published case: volumes for data, WIJ and journal, and the instance's limits.
type system struct {
	name     string
	stripe   int
	instance volume.Rate
	updates  int // per second, so that the daemon writes for part of each cycle
	hot      uint64
	constant bool // every I/O takes 0.7 ms after the limits
}

var systems = []system{
	{"A, one volume", 1, volume.Rate{IOPS: 30_000, Throughput: 850 * units.MBps}, 10_000, 45_000, false},
	{"B, five striped", 5, volume.Rate{IOPS: 80_000, Throughput: 2500 * units.MBps}, 40_000, 100_000, false},
}

func (s system) harness(t testing.TB, cfg Config) *harness {
	t.Helper()
	on, err := volume.NewInstance(volume.InstanceConfig{Name: s.name, Baseline: s.instance})
	if err != nil {
		t.Fatal(err)
	}

	stripe := func(name string) volume.Volume {
		vc := gp3(name)
		if s.constant {
			l := volume.Constant(units.Duration(700 * time.Microsecond))
			vc.Latency = [volume.Ops]volume.Latency{volume.Read: l, volume.Write: l}
		}
		v, err := volume.StripeOf(s.stripe, 64*units.KiB, vc, 1, on)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}

	return newHarness(t, cfg, stripe("data"), stripe, 32)
}

func caseConfig() Config {
	cfg := Defaults()
	cfg.Database, cfg.Buffers = 256*units.GiB, 6*units.GiB
	return cfg
}

// TestRanRead: an increasing number of processes read at random, without other load. Published for A:
// 0.7 to 1.5 ms, with peaks over 5 ms near 16,000 per second; for B: 0.7 ms on average near 80,000.
func TestRanRead(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-16s %9s %9s %9s %9s\n", "system", "processes", "reads/s", "mean", "p99")

	for _, s := range systems {
		const step = 500 * time.Millisecond
		b := s.harness(t, caseConfig())
		n := 0

		var few, many time.Duration
		for _, processes := range []int{5, 10, 20, 30, 40, 50} {
			for ; n < processes; n++ {
				b.read()
			}

			b.run(step) // the first half of a second does not count
			b.run(step)
			took := b.reads[int(b.clock.Now()/1e9)-1].took
			took = took[len(took)/2:]
			fmt.Fprintf(&out, "%-16s %9d %9d %9v %9v\n", s.name, processes, 2*len(took), mean(took).Round(10*time.Microsecond), quantile(took, 0.99).Round(10*time.Microsecond))

			if processes == 5 {
				few = mean(took)
			}

			many = mean(took)
			if 2*len(took) > 16_000*s.stripe+200 {
				t.Errorf("%s: %d reads a second, over its limit", s.name, 2*len(took))
			}
		}

		if few < 600*time.Microsecond || few > 900*time.Microsecond {
			t.Errorf("%s: 5 processes read in %v", s.name, few)
		}

		if s.stripe == 1 && many < 3*few {
			t.Errorf("%s: %v with 50 processes, %v with 5: its limit has no effect", s.name, many, few)
		}

		if s.stripe == 5 && many > few*5/4 {
			t.Errorf("%s: %v with 50 processes, %v with 5: it has IOPS to spare", s.name, many, few)
		}
	}

	t.Log("\n" + out.String())
}

// TestRanReadBesideDaemon: read latency spikes while the write daemon writes, and less so on a stripe.
// Published: A, 8,000 writes and 12,000 reads per second, spikes over 5 ms; B, 40,000 and 60,000,
// spikes under 1.4 ms.
func TestRanReadBesideDaemon(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%-16s %9s %9s %9s %9s %9s %9s %9s\n", "system", "reads/s", "mean", "writing:", "writes/s", "reads/s", "mean", "worst p99")

	spikes := map[int]time.Duration{}
	for _, s := range systems {
		cfg := caseConfig()
		cfg.Cycle = units.Duration(8 * time.Second)

		b := s.harness(t, cfg)
		for range 9 * s.stripe {
			b.read()
		}

		b.hot, b.gap = s.hot, time.Second/time.Duration(s.updates)
		b.until = 1 << 60
		b.clock.At(0, b, 0)
		var quiet, busy, worst []time.Duration

		var writes, reads, seconds, quietSeconds int64
		for b.clock.Now() < 16e9 {
			before := b.instance.counters
			phase := b.instance.daemon.phase
			b.run(time.Second)
			after := b.instance.counters

			if b.clock.Now() <= 8e9 { // updates read their blocks at first
				continue
			}

			took := b.reads[int(b.clock.Now()/1e9)-1].took
			switch {
			case phase == 8 && b.instance.daemon.phase == 8:
				busy = append(busy, took...)
				worst = append(worst, quantile(took, 0.99))
				writes += after.writes - before.writes
				reads += after.reads - before.reads
				seconds++
			case phase == 0 && b.instance.daemon.phase == 0:
				quiet = append(quiet, took...)
				quietSeconds++
			}
		}

		if seconds == 0 || quietSeconds == 0 {
			t.Fatalf("%s: the daemon wrote for %d whole seconds and slept for %d: %+v", s.name, seconds, quietSeconds, b.instance.Cycles())
		}

		round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
		fmt.Fprintf(&out, "%-16s %9d %9v %9s %9d %9d %9v %9v\n", s.name, int64(len(quiet))/quietSeconds, round(mean(quiet)), "",
			writes/seconds, reads/seconds, round(mean(busy)), round(quantile(worst, 1)))
		spikes[s.stripe] = quantile(worst, 1)

		if mean(busy) < mean(quiet)*5/4 {
			t.Errorf("%s: reads take %v while the daemon writes and %v otherwise: no spike", s.name, mean(busy), mean(quiet))
		}
	}

	t.Log("\n" + out.String() + "published: A 8,000 writes, 12,000 reads, spikes over 5 ms; B 40,000, 60,000, under 1.4 ms")
	if spikes[5] > spikes[1]*2/3 {
		t.Errorf("a stripe of five has spikes of %v, one volume of %v", spikes[5], spikes[1])
	}
}
