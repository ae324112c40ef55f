package kernel

import (
	"testing"
	"time"

	"plimsoll/internal/base/vtime"
)

// With a quota of half a core on four cores, 50 ms of CPU time are used within 12.5 ms, and then
// nothing runs until the end of the period.
func TestQuotaStopsAllCores(t *testing.T) {
	var clock vtime.Clock
	cfg := Defaults()
	cfg.CPUQuota = 0.5
	h := NewHost(cfg, &clock, 1)

	var done []vtime.Instant
	for range 150 {
		_, d := h.CPU(0, time.Millisecond)
		done = append(done, d)
	}

	for i, want := range map[int]time.Duration{0: time.Millisecond, 49: 13 * time.Millisecond, 53: 101 * time.Millisecond, 149: 213 * time.Millisecond} {
		if got := time.Duration(done[i]); got < want-2*time.Millisecond || got > want+2*time.Millisecond {
			t.Errorf("request %d was done after %s, want about %s", i, got, want)
		}
	}

	clock.Run(vtime.At(time.Second))
	values := map[string]float64{}
	row := make([]float64, len(h.Metrics()))
	h.Sample(row)

	for i, m := range h.Metrics() {
		values[m.Name] += row[i]
	}

	for name, want := range map[string]float64{
		"container_cpu_usage_seconds_total": 0.150, "container_cpu_cfs_periods_total": 10, "container_cpu_cfs_throttled_periods_total": 2,
		"container_spec_cpu_quota": 50_000, "container_spec_cpu_period": 100_000, "node_cpu_seconds_total": 4,
	} {
		if got := values[name]; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// Time that is booked ahead does not count as used yet, and no counter falls.
func TestQuotaIsUsedAsTimePasses(t *testing.T) {
	var clock vtime.Clock
	cfg := Defaults()
	cfg.CPUQuota = 0.5

	h := NewHost(cfg, &clock, 1)
	for range 1000 {
		h.CPU(0, time.Millisecond)
	}

	row, last := make([]float64, len(h.Metrics())), make([]float64, len(h.Metrics()))
	for second := 1; second <= 3; second++ {
		clock.Run(vtime.At(time.Duration(second) * time.Second))
		h.Sample(row)
		for i, m := range h.Metrics() {
			if row[i] < last[i] {
				t.Errorf("after %d s, %s fell from %v to %v", second, m.Name, last[i], row[i])
			}
			if want := min(0.5*float64(second), 1); m.Name == "container_cpu_usage_seconds_total" && (row[i] < want-1e-9 || row[i] > want+1e-9) {
				t.Errorf("after %d s, %v s of CPU time were used, want %v", second, row[i], want)
			}
		}
		copy(last, row)
	}
}
