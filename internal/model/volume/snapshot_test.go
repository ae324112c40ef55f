package volume_test

import (
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// made returns a volume from a snapshot without other limits and without latency.
func made(rate units.Throughput) volume.Volume {
	return volume.MustNew(volume.Config{Name: "data", Initialization: &volume.Initialization{
		Rate: rate, OnDemand: 100 * units.MiBps, Takes: units.Duration(50 * time.Millisecond),
	}}, 1, nil)
}

// The first access to a block takes as long as its fetch; the next does not wait.
func TestFirstTouch(t *testing.T) {
	v := made(0)
	read := volume.Request{Op: volume.Read, Offset: 10 * units.GiB, Length: 4 * units.KiB}
	c := v.Submit(0, read)
	if c.Held != volume.FirstTouch || c.Done != vtime.At(50*time.Millisecond) {
		t.Fatalf("first access: held by %v, done at %v", c.Held, c.Done.Seconds())
	}

	at := vtime.At(20 * time.Millisecond)
	if c := v.Submit(at, read); c.Done != vtime.At(50*time.Millisecond) {
		t.Errorf("access while it is fetched: done at %v", c.Done.Seconds())
	}

	at = vtime.At(time.Second)
	if c := v.Submit(at, read); c.Done != at || c.Held != volume.Unlimited {
		t.Errorf("second access: held by %v, done after %v", c.Held, c.Done.Sub(at))
	}

	if held := v.State(at).HeldBy[volume.FirstTouch]; held != units.Duration(80*time.Millisecond) {
		t.Errorf("held for %v in all", held)
	}
}

// All blocks together are fetched no faster than the limit, however many are requested concurrently.
func TestFirstTouchThroughput(t *testing.T) {
	v := made(0)
	last := vtime.Instant(0)
	const blocks = 2000 // 1,000 MiB
	for b := range units.Size(blocks) {
		last = max(last, v.Submit(0, volume.Request{Op: volume.Read, Offset: b * volume.SnapshotBlock, Length: 4096}).Done)
	}
	if s := last.Seconds(); s < 9.9 || s > 10.2 {
		t.Errorf("%d blocks at 100 MiB/s took %.2f s", blocks, s)
	}
}

// With a rate, the volume is fetched in the background from its start on; blocks that are accessed
// earlier are fetched on access.
func TestInitializationRate(t *testing.T) {
	v := made(200 * units.MiBps)
	at := vtime.At(10 * time.Second) // 2,000 MiB are fetched
	for offset, want := range map[units.Size]time.Duration{
		0: 0, 1990 * units.MiB: 0, 2000*units.MiB + 9*units.MiB: 47500 * time.Microsecond, 100 * units.GiB: 50 * time.Millisecond,
	} {
		got := v.Submit(at, volume.Request{Op: volume.Write, Offset: offset, Length: 4096}).Done.Sub(at)
		if slack := got - want; slack < -time.Microsecond || slack > 10*time.Millisecond {
			t.Errorf("at %s: took %v, want %v", offset.Exact(), got, want)
		}
	}
}
