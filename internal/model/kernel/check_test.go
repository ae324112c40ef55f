package kernel

import (
	"math"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

func TestCheck(t *testing.T) {
	good := Defaults()
	if err := good.Check().Err(); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		field   string
		nearest string
		change  func(*Config)
	}{
		{"cores", "1", func(c *Config) { c.Cores = 0 }},
		{"cores", "1024", func(c *Config) { c.Cores = 1 << 20 }},
		{"memory", "64MiB", func(c *Config) { c.Memory = 0 }},
		{"memory", "64TiB", func(c *Config) { c.Memory = 1 << 60 }},
		{"dirty_background_bytes", "8KiB", func(c *Config) { c.DirtyBackground = 1 }},
		{"dirty_background_bytes", "8KiB", func(c *Config) { c.DirtyBackground = -1 }},
		{"dirty_bytes", "16GiB", func(c *Config) { c.Dirty = units.TiB }},
		{"dirty_background_ratio", "1", func(c *Config) { c.DirtyBackgroundRatio = 2 }},
		{"dirty_background_ratio", "0.1", func(c *Config) { c.DirtyBackgroundRatio = units.Ratio(math.NaN()) }},
		{"dirty_ratio", "0.01", func(c *Config) { c.DirtyRatio = 0 }},
		{"dirty_expire", "0s", func(c *Config) { c.DirtyExpire = -1 }},
		{"dirty_expire", "24h0m0s", func(c *Config) { c.DirtyExpire = math.MaxInt64 }},
		{"writeback_interval", "10ms", func(c *Config) { c.WritebackInterval = 1 }},
		{"filesystem", "xfs", func(c *Config) { c.FileSystem = "btrfs" }},
		{"max_request", "4KiB", func(c *Config) { c.MaxRequest = 0 }},
		{"max_request", "128KiB", func(c *Config) { c.MaxRequest = 130 * units.KiB }},
		{"max_request", "16MiB", func(c *Config) { c.MaxRequest = units.GiB }},
	} {
		cfg := Defaults()
		c.change(&cfg)
		l := cfg.Check()
		if len(l) != 1 || l[0].Field != c.field || l[0].Nearest != c.nearest || l[0].Limit == "" || l[0].Source == "" {
			t.Errorf("%s: %+v, nearest should be %s", c.field, l, c.nearest)
		}
	}
}

// A flusher without a timer (vm.dirty_writeback_centisecs = 0) writes nothing because of its age, and
// time still advances.
func TestNoPeriodicWriteback(t *testing.T) {
	cfg := Defaults()
	cfg.WritebackInterval = 0
	if err := cfg.Check().Err(); err != nil {
		t.Fatal(err)
	}

	var clock vtime.Clock
	h := NewHost(cfg, &clock, 1)
	f := h.Create("f", h.Attach("data", slow(t, 0)), units.MiB)
	f.Write(0, PageSize)

	if clock.Pending() != 0 {
		t.Fatalf("%d events wait", clock.Pending())
	}

	clock.Run(vtime.At(time.Hour))
	if f.Dirty() != PageSize {
		t.Error("it was written out")
	}
}
