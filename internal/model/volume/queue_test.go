package volume

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// gp3 is the baseline of the volume that most examples rent.
var gp3 = Config{
	Name:      "gp3",
	Sustained: Rate{3000, 125 * units.MiBps},
	Operation: 256 * units.KiB,
	Merge:     true,
}

// A closed loop of 32 requests of 4 KiB at 3,000 IOPS gives fio's figures: 3,000 per second, and by
// Little's law each takes 32/3000 s (measured on an emulated volume: 2,996 and 10.55 ms).
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

// The bucket's fill is the current one, although a backlog's requests are charged in advance.
func TestCreditsDuringABacklog(t *testing.T) {
	cfg := gp3
	cfg.Sustained.IOPS = 300
	cfg.Burst = &Burst{At: Rate{IOPS: 3000}, Capacity: 54_000, Initial: 27_000} // half full, for 10 s

	q := MustNew(cfg, 1, nil)
	for i := range units.Size(60_000) {
		q.Submit(0, Request{Write, 2 * i * units.MiB, 4096})
	}

	for _, c := range []struct {
		at   time.Duration
		want float64
	}{{0, .5}, {2 * time.Second, .4}, {8 * time.Second, .1}, {10 * time.Second, 0}, {50 * time.Second, 0}, {110 * time.Second, 0}, {110*time.Second + 18*time.Second, .1}} {
		if got := float64(q.State(vtime.At(c.at)).Credits); got < c.want-.001 || got > c.want+.001 {
			t.Errorf("after %v the bucket is filled to %.4f, want %.3f", c.at, got, c.want)
		}
	}
}

// Reads do not queue behind writes if each direction has its own limit, but they do if both share one.
func TestDirections(t *testing.T) {
	for _, c := range []struct {
		cfg    Config
		behind bool
	}{
		{Config{ReadOnly: Rate{IOPS: 1000}, WriteOnly: Rate{IOPS: 1000}}, false},
		{Config{Sustained: Rate{IOPS: 1000}}, true},
	} {
		q := MustNew(c.cfg, 1, nil)
		for range 1000 {
			q.Submit(0, Request{Write, 0, 4096})
		}
		if issued := q.Submit(0, Request{Read, 0, 4096}).Issued; (issued > 0) != c.behind {
			t.Errorf("%+v: a read behind a second of writes is issued at %v", c.cfg, issued.Seconds())
		}
	}
	// A flush is not a write of data: it waits for no limit, unless it is charged.
	for _, charged := range []bool{false, true} {
		q := MustNew(Config{Sustained: Rate{IOPS: 1000}, FlushIsOperation: charged}, 1, nil)
		for range 1000 {
			q.Submit(0, Request{Write, 0, 4096})
		}
		if issued := q.Submit(0, Request{Op: Flush}).Issued; (issued > 0) != charged {
			t.Errorf("a flush that is charged %v is issued at %v", charged, issued.Seconds())
		}
	}
}
