package catalog

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// together counts what a machine's volumes issue in a time if each of those in busy has a backlog.
func together(t *testing.T, on *InstanceType, orders []*Order, busy []int, length units.Size, within time.Duration) []float64 {
	t.Helper()
	attached, err := Attachments(on, orders)
	if err != nil {
		t.Fatal(err)
	}

	end := vtime.At(within)
	volumes := make([]volume.Volume, len(orders))
	for k, o := range orders {
		o := *o
		o.QueueSlots = 64 // the others' requests are submitted in between
		o.Latency = &LatencyOrder{Write: &Quantiles{P50: new(units.Duration)}}
		if volumes[k], err = o.Build(string(rune('a'+k)), 1, attached[k]); err != nil {
			t.Fatal(err)
		}
	}

	out := make([]float64, len(orders))
	for now := vtime.Instant(0); now < end; now = now.Add(time.Millisecond) {
		for _, k := range busy {
			for {
				c := volumes[k].Submit(now, volume.Request{Op: volume.Write, Offset: units.Size(out[k]) * 33 * 64 * units.KiB % (8 * units.GiB), Length: length})
				if c.Issued < end {
					out[k]++
				}
				if c.Admitted > now {
					break
				}
			}
		}
	}

	for k := range out {
		out[k] /= within.Seconds()
	}

	return out
}

// Persistent Disks of a type on one machine share one baseline, computed from their total size: any of
// them may use all of it, and together they have no more. Disks of another type have their own.
func TestDisksShareTheirTypesLimits(t *testing.T) {
	n2, err := Embedded().Instance("n2-standard-8")
	if err != nil {
		t.Fatal(err)
	}

	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > want/50 {
			t.Errorf("%s: %.0f a second, want %.0f", what, got, want)
		}
	}

	data, wal := &Order{Type: "pd-balanced", Size: 100 * units.GiB}, &Order{Type: "pd-balanced", Size: 20 * units.GiB}
	both := []*Order{data, wal}
	for _, on := range []*InstanceType{nil, n2} {
		got := together(t, on, both, []int{0, 1}, 4096, 2*time.Second)
		near("both", got[0]+got[1], 3000+6*120)
		near("the small one alone", together(t, on, both, []int{1}, 4096, 2*time.Second)[1], 3000+6*120)
		near("bytes of both", 256*sum(together(t, on, both, []int{0, 1}, 256*units.KiB, 2*time.Second)), (140+.28*120)*1024)
	}

	near("of two types", sum(together(t, n2, []*Order{data, {Type: "pd-ssd", Size: 20 * units.GiB}}, []int{0, 1}, 4096, 2*time.Second)), 3000+6*100+6000+30*20)

	// The machine's limit applies too: 15,000 IOPS for disks of a type.
	large := []*Order{{Type: "pd-ssd", Size: units.TiB}, {Type: "pd-ssd", Size: units.TiB}}
	near("of a small machine", sum(together(t, n2, large, []int{0, 1}, 4096, time.Second)), 15_000)

	// A stripe of several disks also has one baseline.
	striped := &Order{Type: "pd-ssd", Size: 100 * units.GiB, Stripe: 4}
	near("a stripe", sum(together(t, nil, []*Order{striped}, []int{0}, 4096, time.Second)), 6000+30*400)
	l, err := striped.Limits(nil)
	if err != nil {
		t.Fatal(err)
	}

	near("its part", float64(l.Sustained.IOPS), (6000+30*400)/4)
	if l, err = wal.LimitsAmong(both, nil); err != nil || l.Sustained.IOPS != 3720 {
		t.Errorf("the log's disk may use %v, %v", l.Sustained, err)
	}
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// Premium SSD's throughput also has a credit bucket: after half an hour at 170 MB/s, a disk of 128
// GiB falls to 100 MB/s.
func TestPremiumSSDRunsOutOfBytes(t *testing.T) {
	cfg, err := order(t, "{type: premium-ssd, size: 128GiB}").Config("data", nil)
	if err != nil {
		t.Fatal(err)
	}

	q := volume.MustNew(cfg, 1, nil)
	moved, at := map[bool]units.Size{}, map[bool]time.Duration{false: 29 * time.Minute, true: 10 * time.Minute}
	const size = units.MiB

	now := vtime.Instant(0)
	for place := units.Size(0); now < vtime.At(42*time.Minute); place += 2 * units.MiB {
		now = q.Submit(now, volume.Request{Op: volume.Write, Offset: place % (100 * units.GiB), Length: size}).Issued
		switch {
		case now < vtime.At(29*time.Minute):
			moved[false] += size
		case now >= vtime.At(32*time.Minute):
			moved[true] += size
		}
	}

	for empty, want := range map[bool]float64{false: 170e6, true: 100e6} {
		if got := float64(moved[empty]) / at[empty].Seconds(); math.Abs(got-want) > want/100 {
			t.Errorf("empty: %t: %.0f bytes a second, want %.0f", empty, got, want)
		}
	}

	if s := q.State(now); !s.HasCredits || s.Credits > 0.01 {
		t.Errorf("credits left: %v", s.Credits)
	}
}
