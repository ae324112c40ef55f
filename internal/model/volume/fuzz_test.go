package volume_test

import (
	"encoding/binary"
	"math"
	"testing"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// FuzzSubmit submits arbitrary requests at arbitrary instants to a volume with every feature: no panic,
// instants in order, counters that do not shrink.
func FuzzSubmit(f *testing.F) {
	entry := func(op byte, offset, length, now int64) []byte {
		b := binary.LittleEndian.AppendUint64([]byte{op}, uint64(offset))
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(length)), uint64(now))
	}

	f.Add(entry(1, 0, 4096, 0))
	f.Add(append(entry(1, math.MaxInt64, math.MaxInt64, math.MaxInt64), entry(0, math.MinInt64, math.MinInt64, 0)...))
	f.Add(append(entry(2, 0, 0, 1e9), entry(200, 5, 1<<50, 1e18)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := ssd
		cfg.Sustained.IOPS = 300
		cfg.Burst = &volume.Burst{At: volume.Rate{IOPS: 3000}, Capacity: 1000, Initial: 500}
		cfg.Slots, cfg.Slack, cfg.FlushIsOperation = 3, 1e6, len(data)%2 == 0
		cfg.Episodes = &volume.PlanetScaleEpisodes
		on := instance(t, volume.InstanceConfig{
			Baseline: volume.Rate{IOPS: 100, Throughput: 1e8}, Maximum: volume.Rate{IOPS: 1000, Throughput: 2e8},
		})
		v := striped(t, 2, cfg, on)
		var now vtime.Instant

		var operations int64
		for n := 0; len(data) >= 25 && n < 50; n++ {
			r := volume.Request{
				Op:     volume.Op(data[0]),
				Offset: units.Size(binary.LittleEndian.Uint64(data[1:])),
				Length: units.Size(binary.LittleEndian.Uint64(data[9:])),
			}

			at := vtime.Instant(binary.LittleEndian.Uint64(data[17:]))
			data = data[25:]
			c := v.Submit(at, r)

			now = max(now, at)
			if c.Admitted < now || c.Issued < c.Admitted || c.Done < c.Issued || c.Operations < 0 || c.Held >= volume.Limits {
				t.Fatalf("%+v at %d: %+v", r, at, c)
			}

			s := v.State(now)
			if s.Operations < operations || s.Credits < 0 || s.Credits > 1 {
				t.Fatalf("%+v at %d: %+v", r, at, s)
			}

			operations = s.Operations
		}
	})
}
