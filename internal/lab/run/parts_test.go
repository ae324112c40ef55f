//go:build linux

package run

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/recording"
)

// TestSettings: ratios refer to the scenario's memory, and settings in bytes take precedence.
func TestSettings(t *testing.T) {
	h := scenario.Host{}
	h.Memory, h.DirtyBackgroundRatio, h.DirtyRatio = 10*units.GiB, 0.1, 0.2
	h.DirtyExpire, h.WritebackInterval = units.Duration(30*time.Second), units.Duration(500*time.Millisecond)

	want := map[string]string{
		"vm.dirty_background_bytes": "1073741824", "vm.dirty_bytes": "2147483648",
		"vm.dirty_expire_centisecs": "3000", "vm.dirty_writeback_centisecs": "50",
	}
	if got := settings(&h); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}

	h.DirtyBackground, h.Dirty = 64*units.MiB, 32*units.MiB
	want["vm.dirty_background_bytes"], want["vm.dirty_bytes"] = "16777216", "33554432" // the kernel uses half of the limit
	if got := settings(&h); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCuts: power losses are in order, some time apart, within the measured time, and reproducible.
func TestCuts(t *testing.T) {
	x := &experiment{sc: &scenario.Scenario{Seed: 3}, opt: &Options{PowerLoss: 20}, from: 10e9, end: 70e9}
	cuts := x.cuts()
	if len(cuts) != 20 || !slices.Equal(cuts, x.cuts()) {
		t.Errorf("%v", cuts)
	}

	last := x.from
	for _, c := range cuts {
		if c < last+apart || c >= x.end {
			t.Errorf("%v is %v after the previous one", c, c.Sub(last))
		}
		last = c
	}

	x.end = x.from + vtime.Instant(2*time.Second) // there is room for three
	if cuts := x.cuts(); len(cuts) == 0 || len(cuts) > 4 || !slices.IsSorted(cuts) {
		t.Errorf("%v", cuts)
	}

	x.opt.PowerLoss = 0
	if x.cuts() != nil {
		t.Error("a power loss that was not requested")
	}
}

// TestOwnDevices: only the lab's block devices are recorded, under their volumes' names.
func TestOwnDevices(t *testing.T) {
	m := recording.NewMemory(recording.MemoryOptions{})
	w := &ownDevices{Writer: m, volumes: map[string]string{"loop3": "wal"}, seen: map[string]labels.Labels{}}
	for at := range int64(2) {
		b := &recording.Batch{TimesMs: []int64{1000 * (at + 1)}}
		for _, l := range []labels.Labels{
			labels.FromStrings(labels.MetricName, "node_memory_Dirty_bytes"),
			labels.FromStrings(labels.MetricName, "node_disk_io_now", "device", "loop3"),
			labels.FromStrings(labels.MetricName, "node_disk_io_now", "device", "sda"),
		} {
			b.Columns = append(b.Columns, recording.Column{Labels: l, Values: []float64{float64(at)}})
		}
		if err := w.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}

	for selector, series := range map[string]int{`node_memory_Dirty_bytes`: 1, `node_disk_io_now`: 1, `node_disk_io_now{device="wal"}`: 1} {
		got, err := m.Samples(t.Context(), recording.MustSelector(selector), time.UnixMilli(0), time.UnixMilli(5000))
		if err != nil || len(got) != series || len(got[0].Points) != 2 {
			t.Errorf("%s: %v, %v", selector, got, err)
		}
	}
}

// TestThisMachine: results describe the machine they come from.
func TestThisMachine(t *testing.T) {
	p, err := cpu()
	if err != nil {
		t.Skip(err)
	}

	if p.all <= 0 || p.busy <= 0 || p.busy > p.all {
		t.Errorf("%+v", p)
	}

	if memory() < 1<<20 || kernel() == "Linux" {
		t.Errorf("%d bytes, %s", memory(), kernel())
	}

	if _, err := diskstat("no-such-device"); err == nil {
		t.Error("a missing device has counters")
	}

	a, b := counters{reads: 5, busyTime: 2}, counters{reads: 2, busyTime: 1}
	if got := a.less(b).more(b); got != a {
		t.Errorf("%+v", got)
	}
}
