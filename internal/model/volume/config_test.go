package volume_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// An impossible volume is refused, with what is wrong and which values are valid.
func TestConfigRefuses(t *testing.T) {
	for want, change := range map[string]func(*volume.Config){
		`volume "data": sustained IOPS -5.00/s out of range: want 0 (no limit), or`: func(c *volume.Config) { c.Sustained.IOPS = -5 },
		`write-only IOPS ?`: func(c *volume.Config) { c.WriteOnly.IOPS = units.Frequency(math.NaN()) },
		`read-only throughput 10.0 B/s out of range: want 0 (no limit), or 1.00 kB/s`: func(c *volume.Config) { c.ReadOnly.Throughput = 10 },
		`size of -1 bytes`:                                   func(c *volume.Config) { c.Size = -1 },
		`operation size of -1 bytes`:                         func(c *volume.Config) { c.Operation = -1 },
		`2000000 queue slots: want 0 (unlimited) to 1048576`: func(c *volume.Config) { c.Slots = 2_000_000 },
		`slack`:                         func(c *volume.Config) { c.Slack = units.Duration(48 * time.Hour) },
		`merge needs an operation size`: func(c *volume.Config) { c.Operation = 0 },
		`need a sustained limit`:        func(c *volume.Config) { c.Sustained.IOPS = 0; c.Burst = &volume.Burst{Capacity: 1} },
		`bucket of 0 burst credits`:     func(c *volume.Config) { c.Burst = &volume.Burst{} },
		`9 burst credits at the start`:  func(c *volume.Config) { c.Burst = &volume.Burst{Capacity: 8, Initial: 9} },
		`burst throughput`:              func(c *volume.Config) { c.Burst = &volume.Burst{At: volume.Rate{Throughput: -1}} },
		`bad episodes every`:            func(c *volume.Config) { c.Episodes = &volume.Episodes{} },
		`bad episodes that last from`:   func(c *volume.Config) { e := volume.PlanetScaleEpisodes; e.Lasts[0] = e.Lasts[1] + 1; c.Episodes = &e },
		`bad episodes with latencies`:   func(c *volume.Config) { e := volume.PlanetScaleEpisodes; e.Latency[0] = -1; c.Episodes = &e },
	} {
		cfg := ssd
		change(&cfg)
		if _, err := volume.New(cfg, 1, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}

	for want, cfg := range map[string]volume.InstanceConfig{
		`instance "x": baseline IOPS`:                             {Name: "x", Baseline: volume.Rate{IOPS: -1}},
		`maximum throughput -1`:                                   {Maximum: volume.Rate{Throughput: -1}},
		`maximum IOPS 50.0/s: want at least the baseline's 100/s`: {Baseline: volume.Rate{IOPS: 100}, Maximum: volume.Rate{IOPS: 50}},
		`maximum throughput 50.0 kB/s: want at least`:             {Maximum: volume.Rate{Throughput: 50_000}},
	} {
		if _, err := volume.NewInstance(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}

	if _, err := volume.NewStripe(units.KiB); err == nil || !strings.Contains(err.Error(), "stripe of 0 volumes: want 1 to 128") {
		t.Errorf("a stripe of nothing: %v", err)
	}

	if _, err := volume.StripeOf(200, units.KiB, ssd, 1, nil); err == nil || !strings.Contains(err.Error(), `volume "data": stripe of 200 volumes`) {
		t.Errorf("a stripe of 200: %v", err)
	}

	if _, err := volume.StripeOf(2, 511, ssd, 1, nil); err == nil || !strings.Contains(err.Error(), "stripe unit of 511 bytes: want 512B") {
		t.Errorf("a stripe unit under a sector: %v", err)
	}
}

// Requests that no block layer submits are reported.
func TestRequestCheck(t *testing.T) {
	for want, r := range map[string]volume.Request{
		"unknown operation 3":            {Op: 3},
		"write of 0 bytes at 0":          {Op: volume.Write},
		"read of 4096 bytes at -1":       {Op: volume.Read, Offset: -1, Length: 4096},
		"is beyond the end of":           {Op: volume.Write, Offset: units.GiB - 4096, Length: 8192},
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
