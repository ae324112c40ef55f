package volume

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// BenchmarkSubmit measures one simulated I/O of 4 to 16 KiB at 90 % of the limits that bind.
func BenchmarkSubmit(b *testing.B) {
	latency, err := NewLatency(Quantile{0, 300_000}, Quantile{0.5, 600_000}, Quantile{0.99, 1_500_000}, Quantile{1, 5_000_000})
	if err != nil {
		b.Fatal(err)
	}

	base := gp3
	base.Latency = [Ops]Latency{latency, latency, {}}
	gp2, slotted, ill := base, base, base
	gp2.Sustained = Rate{300, 128 * units.MiBps}
	gp2.Burst = &Burst{At: Rate{IOPS: 3000}, Capacity: 5.4e6, Initial: 5.4e6}
	slotted.Slots = 1023
	ill.Episodes = &Episodes{Every: units.Duration(time.Hour), Lasts: [2]units.Duration{60e9, 600e9}, Latency: [2]units.Duration{200e6, 500e6}}
	instance := func() *Instance {
		i, err := NewInstance(InstanceConfig{Baseline: Rate{6000, 143_750_000}, Maximum: Rate{40000, 1_250_000_000}})
		if err != nil {
			b.Fatal(err)
		}
		return i
	}

	stripe := func(n int) Volume {
		s, err := StripeOf(n, 64*units.KiB, base, 1, nil)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}

	for _, c := range []struct {
		name    string
		volume  Volume
		apart   time.Duration
		stretch units.Size
	}{
		{"gp3", MustNew(base, 1, nil), 370 * time.Microsecond, 0},
		{"gp2", MustNew(gp2, 1, nil), 370 * time.Microsecond, 0},
		{"episodes", MustNew(ill, 1, nil), 370 * time.Microsecond, 0},
		{"slots", MustNew(slotted, 1, nil), 370 * time.Microsecond, 0},
		{"slots-full", MustNew(slotted, 1, nil), 0, 0},
		{"instance", MustNew(base, 1, instance()), 370 * time.Microsecond, 0},
		{"instance-backlog", MustNew(Config{Sustained: Rate{IOPS: 16000}}, 1, instance()), 62 * time.Microsecond, 0},
		{"stripe-4", stripe(4), 92 * time.Microsecond, 0},
		{"stripe-4-split", stripe(4), 370 * time.Microsecond, 256 * units.KiB},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var now vtime.Instant
			for i := range b.N {
				u := units.Size(i)
				c.volume.Submit(now, Request{Op(i & 1), u * 7919 % (1 << 20) * 4096, (1+u&3)*4*units.KiB + c.stretch})
				now = now.Add(c.apart)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M-IO/s")
		})
	}
}
