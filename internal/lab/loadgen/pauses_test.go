//go:build linux

package loadgen

import (
	"testing"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

const ms = vtime.Instant(time.Millisecond)

// An operation is set aside if pauses, on any CPU, make up half of its latency. A stall of seconds
// is not set aside just because some pauses fall into it.
func TestAside(t *testing.T) {
	m := pauseMeter{all: []pause{{10 * ms, 14 * ms}, {12 * ms, 16 * ms}, {50 * ms, 52 * ms}}}
	ops := []latency.Operation{
		{At: 9 * ms, Took: int64(8 * ms)},     // 6 of 8 ms
		{At: 15 * ms, Took: int64(2 * ms)},    // 1 of 2
		{At: 15 * ms, Took: int64(3 * ms)},    // 1 of 3
		{At: 17 * ms, Took: int64(1 * ms)},    // none
		{At: 1 * ms, Took: int64(2000 * ms)},  // 8 of 2,000
		{At: 51 * ms, Took: int64(1*ms) + 10}, // all but 10 ns
		{At: 10 * ms},                         // it took no time
	}

	got := m.apply(ops, 15*ms)
	for i, want := range []bool{true, true, false, false, false, true, false} {
		if ops[i].Aside != want {
			t.Errorf("operation %d: set aside is %v", i, ops[i].Aside)
		}
	}

	if want := (Pauses{Count: 1, Total: units.Duration(2 * ms), Longest: units.Duration(2 * ms), Aside: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The meter stops on request, and its threads use the given clock.
func TestPauseMeterEnds(t *testing.T) {
	var m pauseMeter
	began := time.Now()
	m.start(func() vtime.Instant { return vtime.Instant(time.Since(began)) })
	time.Sleep(20 * time.Millisecond)
	m.end()
	for _, p := range m.all {
		if p.to-p.from < vtime.Instant(pauseLeast) || p.from < 0 {
			t.Errorf("%+v is not a pause", p)
		}
	}
}
