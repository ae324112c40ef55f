package kernel

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// A crowd is a number of threads that read from a device, each one block after another.
type crowd struct {
	device *Device
	clock  *vtime.Clock
	think  time.Duration   // between two reads of a thread
	asked  []vtime.Instant // by thread
	left   []int

	took []time.Duration
	ends []vtime.Instant // of requests that have a slot
	most int             // in flight at the same time
}

type crowdDone crowd

func gather(h *Host, d *Device, threads, reads int, think time.Duration) *crowd {
	c := &crowd{device: d, clock: h.clock, think: think, asked: make([]vtime.Instant, threads), left: make([]int, threads)}
	for i := range threads {
		c.left[i] = reads
		h.clock.At(vtime.At(time.Duration(i)*time.Microsecond), c, uint64(i))
	}
	return c
}

// Fire continues a thread's reads.
func (c *crowd) Fire(now vtime.Instant, thread uint64) {
	if c.left[thread] == 0 {
		return
	}
	c.left[thread]--
	c.asked[thread] = now
	c.device.Start(volume.Request{Op: volume.Read, Offset: units.Size(thread*13+uint64(c.left[thread])*7) * 64 * units.KiB, Length: 8 * units.KiB}, c, thread)
}

func (c *crowd) Started(now vtime.Instant, r volume.Completion, thread uint64) {
	c.ends = slices.DeleteFunc(c.ends, func(end vtime.Instant) bool { return end <= now })
	c.ends = append(c.ends, r.Done)
	c.most = max(c.most, len(c.ends))
	c.clock.At(r.Done, (*crowdDone)(c), thread)
}

func (d *crowdDone) Fire(now vtime.Instant, thread uint64) {
	c := (*crowd)(d)
	c.took = append(c.took, now.Sub(c.asked[thread]))
	c.clock.At(now.Add(c.think), c, thread)
}

// Latencies of 64 threads on a volume of 3,000 IOPS with 32 slots, as measured in the lab
// (examples/lab, streams-randread-limit), with about 50 us between a reply and the next request. If
// requests were served in order of arrival, all latencies would be 21.3 ms.
func TestThreadsCompeteForSlots(t *testing.T) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	d := h.Attach("data", slow(t, 32))
	c := gather(h, d, 64, 10_000, 50*time.Microsecond)
	const run = 60 * time.Second
	clock.Run(vtime.At(run))

	if n := len(c.took); n < 3000*60-100 || n > 3000*60+100 {
		t.Errorf("%d reads in %v of a volume that does 3,000 a second", n, run)
	}

	if c.most != 32 {
		t.Errorf("%d requests in flight through 32 slots", c.most)
	}

	if held := d.Volume().State(clock.Now()).HeldBy[volume.Slots]; held < units.Duration(25*run) || held > units.Duration(33*run) {
		t.Errorf("32 threads without a slot waited for %v of them in %v", held.Std(), run)
	}

	slices.Sort(c.took)
	for _, q := range []struct {
		share    float64
		measured time.Duration
	}{{0.5, 10_815 * time.Microsecond}, {0.95, 79_871 * time.Microsecond}, {0.99, 143_359 * time.Microsecond}, {0.999, 232_447 * time.Microsecond}} {
		got := c.took[int(float64(len(c.took))*q.share)]
		t.Logf("p%g: measured %v, model %v", 100*q.share, q.measured, got)
		if got < q.measured*85/100 || got > q.measured*115/100 {
			t.Errorf("p%g is %v, measured %v", 100*q.share, got, q.measured)
		}
	}
}

// Whatever the slots, threads and limits: no thread starves, no slot is given out twice, and the same
// seed gives the same waits.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots, threads := rapid.IntRange(1, 80).Draw(t, "slots"), rapid.IntRange(1, 200).Draw(t, "threads")
		reads := rapid.IntRange(1, 20).Draw(t, "reads")
		think := time.Duration(rapid.IntRange(0, 2000).Draw(t, "think")) * time.Microsecond
		members := rapid.IntRange(1, 3).Draw(t, "members")
		sync := rapid.Bool().Draw(t, "sync") // meanwhile, the page cache's requests also get slots in turn
		once := func() *crowd {
			var clock vtime.Clock
			h := NewHost(Defaults(), &clock, 1)
			cfg := volume.Config{Name: "data", Sustained: volume.Rate{IOPS: 3000}, Slots: slots}

			l, err := volume.NewLatency(volume.Quantile{Share: 0, Takes: 100_000}, volume.Quantile{Share: 1, Takes: 5_000_000})
			if err != nil {
				t.Fatal(err)
			}

			cfg.Latency = [volume.Ops]volume.Latency{l, l, l}
			v, err := volume.StripeOf(members, 64*units.KiB, cfg, random.Seed(7), nil)
			if err != nil {
				t.Fatal(err)
			}

			d := h.Attach("data", v)
			c := gather(h, d, threads, reads, think)
			if sync {
				f := h.Create("f", d, units.GiB)
				f.Write(0, 20*units.MiB)
				f.Sync(vtime.HandlerFunc(func(vtime.Instant, uint64) {}), 0)
			}

			clock.Run(vtime.At(time.Hour))
			return c
		}

		c := once()
		if len(c.took) != threads*reads {
			t.Fatalf("%d reads of %d are done", len(c.took), threads*reads)
		}

		if c.most > slots*members {
			t.Fatalf("%d in flight through %d slots", c.most, slots*members)
		}

		if !slices.Equal(c.took, once().took) {
			t.Fatal("a second run of the same seed is another")
		}
	})
}

// A thread that waits alone is woken by a batch of returned slots, and not before; until then, the
// kernel's slots are idle.
func TestWakeBatch(t *testing.T) {
	var clock vtime.Clock
	h := NewHost(Defaults(), &clock, 1)
	d := h.Attach("data", slow(t, 32))
	gather(h, d, 33, 1, 0)
	clock.Run(vtime.At(time.Second))
	// The first is done after 0.6 ms, then one each third of a millisecond, so the fourth after 1.6 ms.
	if held := d.Volume().State(clock.Now()).HeldBy[volume.Slots].Std(); held < 1500*time.Microsecond || held > 1700*time.Microsecond {
		t.Errorf("the last of 33 waited %v for a slot", held)
	}
}
