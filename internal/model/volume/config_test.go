package volume_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// An impossible volume is refused, with what is wrong and what would be legal.
func TestConfigRefuses(t *testing.T) {
	for want, change := range map[string]func(*volume.Config){
		`volume "data": sustained IOPS of -5.00/s: 0, which is no limit, or from`: func(c *volume.Config) { c.Sustained.IOPS = -5 },
		`write-only IOPS of ?`: func(c *volume.Config) { c.WriteOnly.IOPS = units.Frequency(math.NaN()) },
		`read-only throughput of 10.0 B/s: 0, which is no limit, or from 1.00 kB/s`: func(c *volume.Config) { c.ReadOnly.Throughput = 10 },
		`a size of -1 bytes`:     func(c *volume.Config) { c.Size = -1 },
		`operations of -1 bytes`: func(c *volume.Config) { c.Operation = -1 },
		`2000000 queue slots: from 0, which is unlimited, to 1048576`: func(c *volume.Config) { c.Slots = 2_000_000 },
		`a slack of`:            func(c *volume.Config) { c.Slack = units.Duration(48 * time.Hour) },
		`operations of no size`: func(c *volume.Config) { c.Operation = 0 },
		`nothing to burst over`: func(c *volume.Config) { c.Sustained.IOPS = 0; c.Burst = &volume.Burst{Capacity: 1} },
		`burst credits refill by 7/s: by the sustained limit, 3000/s`: func(c *volume.Config) { c.Burst = &volume.Burst{Capacity: 1, Refill: 7} },
		`a bucket of 0 burst credits`:                                 func(c *volume.Config) { c.Burst = &volume.Burst{} },
		`9 burst credits at the start`:                                func(c *volume.Config) { c.Burst = &volume.Burst{Capacity: 8, Initial: 9} },
		`burst throughput of`:                                         func(c *volume.Config) { c.Burst = &volume.Burst{At: volume.Rate{Throughput: -1}} },
		`bad episodes every`:                                          func(c *volume.Config) { c.Episodes = &volume.Episodes{} },
		`bad episodes that last from`:                                 func(c *volume.Config) { e := volume.PlanetScaleEpisodes; e.Lasts[0] = e.Lasts[1] + 1; c.Episodes = &e },
		`bad episodes with latencies`:                                 func(c *volume.Config) { e := volume.PlanetScaleEpisodes; e.Latency[0] = -1; c.Episodes = &e },
	} {
		cfg := ssd
		change(&cfg)
		if _, err := volume.New(cfg, 1, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}

	for want, cfg := range map[string]volume.InstanceConfig{
		`instance "x": baseline IOPS of`:                        {Name: "x", Baseline: volume.Rate{IOPS: -1}},
		`maximum throughput of -1`:                              {Maximum: volume.Rate{Throughput: -1}},
		`maximum IOPS of 50.0/s: at least the baseline's 100/s`: {Baseline: volume.Rate{IOPS: 100}, Maximum: volume.Rate{IOPS: 50}},
		`maximum throughput of 50.0 kB/s: at least`:             {Maximum: volume.Rate{Throughput: 50_000}},
		`a burst of`: {BurstFor: 1},
	} {
		if _, err := volume.NewInstance(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}

	if _, err := volume.NewStripe(units.KiB); err == nil || !strings.Contains(err.Error(), "a stripe of 0 volumes: from 1 to 128") {
		t.Errorf("a stripe of nothing: %v", err)
	}

	if _, err := volume.StripeOf(200, units.KiB, ssd, 1, nil); err == nil || !strings.Contains(err.Error(), `volume "data": a stripe of 200 volumes`) {
		t.Errorf("a stripe of 200: %v", err)
	}

	if _, err := volume.StripeOf(2, 511, ssd, 1, nil); err == nil || !strings.Contains(err.Error(), "a stripe unit of 511 bytes: from 512B") {
		t.Errorf("a stripe unit under a sector: %v", err)
	}
}

// Requests that no block layer submits are reported.
func TestRequestCheck(t *testing.T) {
	for want, r := range map[string]volume.Request{
		"unknown operation 3":            {Op: 3},
		"write of 0 bytes at 0":          {Op: volume.Write},
		"read of 4096 bytes at -1":       {Op: volume.Read, Offset: -1, Length: 4096},
		"goes over the end of":           {Op: volume.Write, Offset: units.GiB - 4096, Length: 8192},
		"flush of 5 bytes at 1073741820": {Op: volume.Flush, Offset: units.GiB - 4, Length: 5},
	} {
		if err := r.Check(units.GiB); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", r, err, want)
		}
	}
	for _, r := range []volume.Request{{Op: volume.Flush}, {Op: volume.Write, Offset: units.GiB - 4096, Length: 4096}} {
		if err := r.Check(units.GiB); err != nil {
			t.Error(err)
		}
	}
}
