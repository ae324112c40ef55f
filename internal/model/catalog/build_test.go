package catalog

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/volume/volumetest"
)

// Every product passes the general tests of volumes, and keeps its own limits.
func TestConformance(t *testing.T) {
	m6i, err := Embedded().Instance("m6i.xlarge")
	if err != nil {
		t.Fatal(err)
	}

	i4i, err := Embedded().Instance("i4i.xlarge")
	if err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		order string
		on    *InstanceType
	}{
		"gp3":                   {"{type: gp3, size: 100GiB}", nil},
		"gp3, provisioned":      {"{type: gp3, size: 100GiB, iops: 16000, throughput: 1000MiB/s}", nil},
		"gp2":                   {"{type: gp2, size: 100GiB}", nil},
		"gp2, large":            {"{type: gp2, size: 5334GiB}", nil},
		"io1":                   {"{type: io1, size: 1TiB, iops: 40000}", nil},
		"io2":                   {"{type: io2, size: 100GiB, iops: 64000}", nil},
		"st1":                   {"{type: st1, size: 1TiB}", nil},
		"sc1":                   {"{type: sc1, size: 1TiB}", nil},
		"hyperdisk-balanced":    {"{type: hyperdisk-balanced, size: 100GiB}", nil},
		"hyperdisk-balanced-ha": {"{type: hyperdisk-balanced-ha, size: 100GiB}", nil},
		"hyperdisk-extreme":     {"{type: hyperdisk-extreme, size: 100GiB, iops: 10000}", nil},
		"hyperdisk-throughput":  {"{type: hyperdisk-throughput, size: 2TiB, throughput: 100MiB/s}", nil},
		"hyperdisk-ml":          {"{type: hyperdisk-ml, size: 100GiB, throughput: 400MiB/s}", nil},
		"pd-ssd":                {"{type: pd-ssd, size: 100GiB}", nil},
		"pd-balanced":           {"{type: pd-balanced, size: 100GiB}", nil},
		"premium-v2":            {"{type: premium-v2, size: 100GiB}", nil},
		"ultra":                 {"{type: ultra, size: 100GiB, iops: 50000, throughput: 1000MB/s}", nil},
		"premium-ssd":           {"{type: premium-ssd, size: 128GiB}", nil},
		"nvme":                  {"{type: nvme}", nil},
		"nvme, measured":        {"{type: nvme}", i4i},
		"custom":                {"{type: custom, iops: 500, throughput: 20MB/s, operation: 256KiB, merge: true, latency: {write: {min: 1ms, p50: 2ms, max: 9ms}}}", nil},
		// Of 4, over which an operation spreads evenly: the suite counts a request when its last part is
		// issued.
		"gp3, stripe":       {"{type: gp3, size: 100GiB, stripe: 4}", nil},
		"gp3, episodes":     {"{type: gp3, size: 100GiB, queue_slots: 1048576, episodes: {every: 10s}}", nil},
		"gp3 on m6i.xlarge": {"{type: gp3, size: 100GiB}", m6i},
	} {
		t.Run(name, func(t *testing.T) {
			o := order(t, c.order)
			cfg, err := o.Config("data", c.on)
			if err != nil {
				t.Fatal(err)
			}

			n := o.Members()
			want := volumetest.Expectations{Limits: cfg.Sustained, Operation: cfg.Operation, Members: n, Slack: cfg.Slack}
			if b := cfg.Burst; b != nil {
				want.Limits.IOPS = max(want.Limits.IOPS, b.At.IOPS)
				want.Limits.Throughput = max(want.Limits.Throughput, b.At.Throughput)
			}

			want.Limits.IOPS *= units.Frequency(n)
			want.Limits.Throughput *= units.Throughput(n)
			if c.on != nil && o.Type != "nvme" {
				want.Slack += units.Duration(time.Millisecond)
			}

			// The suite measures throughput with the longest operations. Whichever limit is lower then
			// binds, and only that one can be reached.
			carries := float64(max(want.Operation, 1))
			if want.Operation == 0 {
				carries = float64(256 * units.KiB)
			}

			if byIOPS := units.Throughput(float64(float64(want.Limits.IOPS) * carries)); byIOPS > 0 && byIOPS < want.Limits.Throughput {
				want.Limits.Throughput = byIOPS
			}

			fresh := func(t testing.TB) volume.Volume {
				t.Helper()
				at := Attachment{Type: c.on}
				if c.on != nil {
					shared, err := volume.NewInstance(c.on.Config())
					if err != nil {
						t.Fatal(err)
					}
					at.Shared = shared
				}

				v, err := o.Build("data", 1, at)
				if err != nil {
					t.Fatal(err)
				}

				return v
			}

			volumetest.Run(t, fresh, want)
		})
	}
}

// passes counts the requests of a length that are issued in a time.
func passes(t *testing.T, o *Order, at Attachment, op volume.Op, length units.Size, within time.Duration) float64 {
	t.Helper()
	v, err := o.Build("data", 1, at)
	if err != nil {
		t.Fatal(err)
	}
	end := vtime.At(within)
	n := 0
	for place := units.Size(0); ; place += 2 * units.GiB {
		if v.Submit(0, volume.Request{Op: op, Offset: place % units.TiB, Length: length}).Issued >= end {
			return float64(n) / within.Seconds()
		}
		n++
	}
}

// A local disk has the measured limits, separate for reads and writes, and does not use the
// instance's EBS limits.
func TestLocalDisks(t *testing.T) {
	on, err := Embedded().Instance("i4i.4xlarge")
	if err != nil {
		t.Fatal(err)
	}

	shared, err := volume.NewInstance(volume.InstanceConfig{Baseline: volume.Rate{IOPS: 10, Throughput: units.MiBps}})
	if err != nil {
		t.Fatal(err)
	}

	o := order(t, "{type: nvme}")
	for op, want := range map[volume.Op]float64{volume.Read: 385_400, volume.Write: 240_628} {
		if got := passes(t, o, Attachment{Type: on, Shared: shared}, op, 4096, 100*time.Millisecond); math.Abs(got-want) > want/1000 {
			t.Errorf("%.0f %ss a second, want %v", got, op, want)
		}
	}

	// The totals of a family that was measured as a whole are divided: by 6 disks for i8g.24xlarge.
	big, err := Embedded().Instance("i8g.24xlarge")
	if err != nil {
		t.Fatal(err)
	}

	if got := big.Disk.Read.IOPS; got != 443_739 {
		t.Errorf("a disk of i8g.24xlarge reads %v a second, want 2,662,435 / 6", float64(got))
	}

	for text, field := range map[string]string{
		"{type: nvme, stripe: 7}":              "stripe",
		"{type: nvme, size: 4TB}":              "size",
		"{type: pd-ssd, size: 1TiB}":           "type",
		"{type: gp3, size: 1TiB, stripe: 100}": "stripe",
	} {
		if l := order(t, text).CheckOn(big); len(l) != 1 || l[0].Field != field {
			t.Errorf("%s on i8g.24xlarge: %v, want a problem of %s", text, l, field)
		}
	}

	m6i, err := Embedded().Instance("m6i.xlarge")
	if err != nil {
		t.Fatal(err)
	}

	if _, err := o.Build("data", 1, Attachment{Type: m6i}); err == nil {
		t.Error("m6i.xlarge has local disks")
	}
}

// The published case of stripes: one gp3 of 16,000 IOPS delivers 125 MiB/s of 8 KiB blocks; five of
// them are limited by r5n.8xlarge's 30,000.
func TestInstanceCap(t *testing.T) {
	on, err := Embedded().Instance("r5n.8xlarge")
	if err != nil {
		t.Fatal(err)
	}

	for text, want := range map[string]float64{
		"{type: gp3, size: 1000GiB, iops: 16000, throughput: 1000MiB/s}":            16_000,
		"{type: gp3, size: 1000GiB, iops: 16000, throughput: 1000MiB/s, stripe: 5}": 30_000,
	} {
		shared, err := volume.NewInstance(on.Config())
		if err != nil {
			t.Fatal(err)
		}
		if got := passes(t, order(t, text), Attachment{Type: on, Shared: shared}, volume.Read, 8192, time.Second); math.Abs(got-want) > want/100 {
			t.Errorf("%s: %.0f reads a second, want %v", text, got, want)
		}
	}
}

func TestLatencyOrders(t *testing.T) {
	plain, err := order(t, "{type: gp3, size: 1TiB}").Config("data", nil)
	if err != nil {
		t.Fatal(err)
	}

	for text, want := range map[string]units.Duration{
		"{type: gp3, size: 1TiB, latency: {scale: 200%}}":                               2 * plain.Latency[volume.Write].Mean(),
		"{type: gp3, size: 1TiB, latency: {write: {p50: 3ms}}}":                         units.Duration(3 * time.Millisecond),
		"{type: custom, latency: {like: gp3}}":                                          plain.Latency[volume.Write].Mean(),
		"{type: gp3, size: 1TiB, latency: {like: gp2, write: {min: 1ms, max: 3000us}}}": units.Duration(2 * time.Millisecond),
	} {
		cfg, err := order(t, text).Config("data", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Latency[volume.Write].Mean(); (got - want).Std().Abs() > time.Microsecond {
			t.Errorf("%s: writes take %v, want %v", text, got.Std(), want.Std())
		}
	}
}
