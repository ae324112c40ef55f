package volume_test

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
	"plimsoll/internal/model/volume/volumetest"
)

var ssd = volume.Config{
	Name:      "data",
	Sustained: volume.Rate{IOPS: 3000, Throughput: 125 * units.MiBps},
	Operation: 256 * units.KiB,
	Merge:     true,
	Latency:   [volume.Ops]volume.Latency{volume.GP3.Latency(), volume.GP3.Latency(), {}},
}

func TestConformance(t *testing.T) {
	change := func(f func(*volume.Config)) volume.Config { c := ssd; f(&c); return c }
	plain := volumetest.Expectations{Limits: ssd.Sustained, Operation: ssd.Operation}
	for name, c := range map[string]struct {
		cfg  volume.Config
		want volumetest.Expectations
	}{
		"gp3":       {ssd, plain},
		"no limits": {volume.Config{}, volumetest.Expectations{}},
		"gp2": {change(func(c *volume.Config) {
			c.Sustained = volume.Rate{IOPS: 300, Throughput: 128 * units.MiBps}
			c.Burst = &volume.Burst{At: volume.Rate{IOPS: 3000}, Capacity: 5.4e6, Initial: 5.4e6}
		}), volumetest.Expectations{Limits: volume.Rate{IOPS: 3000, Throughput: 128 * units.MiBps}, Operation: ssd.Operation}},
		"gp2 without credits": {change(func(c *volume.Config) {
			c.Sustained = volume.Rate{IOPS: 300, Throughput: 60 * units.MiBps}
			c.Burst = &volume.Burst{At: volume.Rate{IOPS: 3000}, Capacity: 5.4e6}
		}), volumetest.Expectations{Limits: volume.Rate{IOPS: 300, Throughput: 60 * units.MiBps}, Operation: ssd.Operation}},
		"st1": {volume.Config{
			Sustained: volume.Rate{IOPS: 40},
			Burst:     &volume.Burst{At: volume.Rate{IOPS: 250}, Capacity: 1 << 20, Initial: 1 << 20},
			Operation: units.MiB, Merge: true, Latency: [volume.Ops]volume.Latency{volume.HDD.Latency(), volume.HDD.Latency(), {}},
		}, volumetest.Expectations{Limits: volume.Rate{IOPS: 250, Throughput: 250 * units.MiBps}, Operation: units.MiB}},
		"slots": {change(func(c *volume.Config) { c.Slots = 64 }),
			volumetest.Expectations{Limits: ssd.Sustained, Operation: ssd.Operation, Slots: 64}},
		"slack": {change(func(c *volume.Config) { c.Slack = units.Duration(time.Second) }),
			volumetest.Expectations{Limits: ssd.Sustained, Operation: ssd.Operation, Slack: units.Duration(time.Second)}},
		"episodes": {change(func(c *volume.Config) {
			e := volume.PlanetScaleEpisodes
			e.Every = units.Duration(10 * time.Second)
			c.Episodes = &e
		}), plain},
		"from a snapshot": {change(func(c *volume.Config) {
			c.Initialization = &volume.Initialization{OnDemand: 135 * units.MBps, Takes: units.Duration(60 * time.Millisecond)}
		}), volumetest.Expectations{Operation: ssd.Operation}},
		"from a snapshot at a rate": {change(func(c *volume.Config) {
			c.Initialization = &volume.Initialization{Rate: 300 * units.MiBps, OnDemand: 135 * units.MBps, Takes: units.Duration(60 * time.Millisecond)}
		}), volumetest.Expectations{Operation: ssd.Operation}},
		"flushes charged": {change(func(c *volume.Config) { c.FlushIsOperation = true }), plain},
		"one direction":   {volume.Config{ReadOnly: volume.Rate{IOPS: 1000}, WriteOnly: volume.Rate{Throughput: units.MiBps}}, volumetest.Expectations{}},
	} {
		t.Run(name, func(t *testing.T) {
			volumetest.Run(t, func(testing.TB) volume.Volume { return volume.MustNew(c.cfg, 1, nil) }, c.want)
		})
	}

	t.Run("stripe of 4", func(t *testing.T) {
		want := volumetest.Expectations{
			Limits: volume.Rate{IOPS: 4 * ssd.Sustained.IOPS, Throughput: 4 * ssd.Sustained.Throughput}, Operation: ssd.Operation, Members: 4,
		}
		volumetest.Run(t, func(testing.TB) volume.Volume { return striped(t, 4, ssd, nil) }, want)
	})

	small := volume.InstanceConfig{Name: "small", Baseline: volume.Rate{IOPS: 1000, Throughput: 30 * units.MiBps}}
	capped := volumetest.Expectations{Limits: small.Baseline, Operation: ssd.Operation, Slack: units.Duration(time.Millisecond)}
	t.Run("instance", func(t *testing.T) {
		volumetest.Run(t, func(testing.TB) volume.Volume { return volume.MustNew(ssd, 1, instance(t, small)) }, capped)
	})
	t.Run("instance at its maximum", func(t *testing.T) {
		burst := small
		burst.Baseline, burst.Maximum = volume.Rate{IOPS: 500, Throughput: 10 * units.MiBps}, small.Baseline
		volumetest.Run(t, func(testing.TB) volume.Volume { return volume.MustNew(ssd, 1, instance(t, burst)) }, capped)
	})

	t.Run("stripe of 4 on an instance", func(t *testing.T) {
		want := capped
		want.Members = 4
		volumetest.Run(t, func(testing.TB) volume.Volume { return striped(t, 4, ssd, instance(t, small)) }, want)
	})
}

func instance(t testing.TB, cfg volume.InstanceConfig) *volume.Instance {
	t.Helper()
	i, err := volume.NewInstance(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func striped(t testing.TB, n int, cfg volume.Config, on *volume.Instance) *volume.Stripe {
	t.Helper()
	s, err := volume.StripeOf(n, 64*units.KiB, cfg, 1, on)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
