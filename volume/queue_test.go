package volume

import (
	"slices"
	"testing"
	"time"

	"plimsoll/units"
	"plimsoll/vtime"
)

// gp3 is the baseline of the volume that most examples rent.
var gp3 = Config{
	Name:      "gp3",
	Sustained: Rate{3000, 125 * units.MiBps},
	Operation: 256 * units.KiB,
	Merge:     true,
}

// A closed loop of 32 requests of 4 KiB on 3,000 IOPS is fio's measurement of it: 3,000 a
// second, and by Little's law each takes 32/3000 s (measured on an emulated volume: 2,996 and 10.55 ms).
func TestClosedLoop(t *testing.T) {
	cfg := gp3
	cfg.Latency[Read] = Constant(units.Duration(600 * time.Microsecond))
	q := MustNew(cfg, 1, nil)
	var offset units.Size
	submit := func(now vtime.Instant) vtime.Instant {
		offset += units.MiB
		return q.Submit(now, Request{Read, offset, 4 * units.KiB}).Done
	}
	var inFlight []vtime.Instant
	for range 32 {
		inFlight = append(inFlight, submit(0))
	}
	var took []time.Duration
	for inFlight[0] < vtime.At(10*time.Second) {
		now := inFlight[0]
		done := submit(now)
		took = append(took, done.Sub(now))
		inFlight = append(inFlight[1:], done)
	}
	slices.Sort(took)
	p50 := took[len(took)/2]
	t.Logf("%d in 10 s, p50 %v, p99 %v", len(took), p50, took[len(took)*99/100])
	if n := len(took); n < 29_990 || n > 30_010 {
		t.Errorf("%d requests in 10 s, want 30,000", n)
	}
	if want := 32 * time.Second / 3000; (p50 - want).Abs() > 10*time.Microsecond {
		t.Errorf("p50 %v, want %v", p50, want)
	}
}
