// Package volumetest is a conformance suite for volumes: a test runs it on a volume that it makes.
//
// The engines and the simulator rely on no more than this: instants come in order, nothing is
// faster than the limits, nothing idles while something waits, the accounts add up, the same seed
// gives the same answers, and no request causes a panic.
package volumetest

import (
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// Expectations are a volume's specified limits.
type Expectations struct {
	// Limits hold from the start, when burst buckets are at their initial level, for at least
	// 20,000 operations. A limit of 0 is not checked.
	Limits volume.Rate
	// Operation is how many bytes one operation carries; 0 means any length.
	Operation units.Size
	// Members is the number of volumes it is made of; 0 means one. Each lets one request pass
	// immediately, and work spreads over them only evenly on average.
	Members int
	// Slack is the amount that may pass immediately after idling, as time at the limits: that of
	// volume.Config, or a millisecond on an instance.
	Slack units.Duration
	// Slots says that a submitter may have to wait once this many requests are in flight. Then the
	// limits need not be reached.
	Slots int
}

// Run checks a volume. fresh returns a new one to which nothing was submitted, always the same, with a
// separate instance if it has one.
func Run(t *testing.T, fresh func(testing.TB) volume.Volume, want Expectations) {
	t.Helper()
	t.Run("answers in order", func(t *testing.T) { inOrder(t, fresh(t)) })
	t.Run("same seed, same answers", func(t *testing.T) { deterministic(t, fresh(t), fresh(t)) })
	t.Run("accounts add up", func(t *testing.T) { addsUp(t, fresh(t)) })
	t.Run("takes any request", func(t *testing.T) { takesAnything(t, fresh(t)) })
	t.Run("time does not go back", func(t *testing.T) { forward(t, fresh(t), fresh(t)) })
	t.Run("flushes after what was done", func(t *testing.T) { flushes(t, fresh(t)) })

	if want.Operation > 0 {
		t.Run("splits", func(t *testing.T) { splits(t, fresh(t), want) })
	}

	if want.Limits.IOPS > 0 {
		t.Run("IOPS", func(t *testing.T) {
			limited(t, fresh(t), want, 4*units.KiB, float64(want.Limits.IOPS), 1)
		})
	}

	if want.Limits.Throughput > 0 {
		length := want.Operation
		if length == 0 {
			length = 256 * units.KiB
		}
		t.Run("throughput", func(t *testing.T) {
			limited(t, fresh(t), want, length, float64(want.Limits.Throughput), float64(length))
		})
	}
}

// A load is the requests of an application: reads and writes of many lengths, mostly random, some
// sequential, some flushes, in bursts and with pauses.
type load struct {
	s   *random.Stream
	now vtime.Instant
	end units.Size
}

func newLoad(seed random.Seed) *load { return &load{s: seed.Stream("volumetest")} }

func (l *load) next() (vtime.Instant, volume.Request) {
	if l.s.Below(4) == 0 {
		l.now = l.now.Add(time.Duration(l.s.Below(uint64(2 * time.Millisecond))))
	}

	r := volume.Request{Op: volume.Write, Offset: units.Size(l.s.Below(1<<20)) * 4096,
		Length: units.Size(1+l.s.Below(128)) * 4096}
	switch l.s.Below(10) {
	case 0:
		return l.now, volume.Request{Op: volume.Flush}
	case 1, 2, 3:
		r.Op = volume.Read
	case 4, 5:
		r.Offset = l.end
	}

	l.end = r.Offset + r.Length
	return l.now, r
}

func inOrder(t *testing.T, v volume.Volume) {
	l := newLoad(1)
	for i := range 5000 {
		now, r := l.next()
		c := v.Submit(now, r)
		if c.Admitted < now || c.Issued < c.Admitted || c.Done < c.Issued {
			t.Fatalf("request %d, %+v at %d: admitted %d, issued %d, done %d", i, r, now, c.Admitted, c.Issued, c.Done)
		}
		if c.Admitted > now {
			l.now = c.Admitted // its submitter was blocked that long
		}
		if c.Held >= volume.Limits || (c.Held == volume.Unlimited && c.Issued > now) {
			t.Fatalf("request %d, %+v: issued %v after it was submitted, held by %v", i, r, c.Issued.Sub(now), c.Held)
		}
	}
}

func deterministic(t *testing.T, a, b volume.Volume) {
	l := newLoad(2)
	for i := range 5000 {
		now, r := l.next()
		ca := a.Submit(now, r)
		a.State(now) // reading the state changes nothing
		if cb := b.Submit(now, r); ca != cb {
			t.Fatalf("request %d, %+v at %d: %+v and %+v", i, r, now, ca, cb)
		}
	}
	if sa, sb := a.State(l.now), b.State(l.now); sa != sb {
		t.Fatalf("states %+v and %+v", sa, sb)
	}
}

func addsUp(t *testing.T, v volume.Volume) {
	l := newLoad(3)
	var submitted [volume.Ops]int64

	var operations, bytes int64
	for range 5000 {
		now, r := l.next()
		operations += v.Submit(now, r).Operations
		bytes += int64(r.Length)
		submitted[r.Op]++
	}

	s := v.State(l.now)
	if s.Submitted != submitted || s.Operations != operations || s.Bytes != bytes {
		t.Errorf("state reports %v requests, %d operations, %d bytes; there were %v, %d, %d",
			s.Submitted, s.Operations, s.Bytes, submitted, operations, bytes)
	}

	if s.HeldBy[volume.Unlimited] != 0 || slices.Min(s.HeldBy[:]) < 0 {
		t.Errorf("waits of %v", s.HeldBy)
	}

	if s.Credits < 0 || s.Credits > 1 {
		t.Errorf("a bucket filled to %v", s.Credits)
	}
}

func takesAnything(t *testing.T, v volume.Volume) {
	var now vtime.Instant
	for _, length := range []units.Size{0, 1, -1, 4095, 1 << 30, 1 << 40, math.MaxInt64, math.MinInt64} {
		for _, offset := range []units.Size{0, -1, 1 << 60, math.MaxInt64, math.MinInt64} {
			for op := range volume.Op(volume.Ops + 1) {
				c := v.Submit(now, volume.Request{Op: op, Offset: offset, Length: length})
				if c.Admitted < now || c.Issued < c.Admitted || c.Done < c.Issued || c.Operations < 0 {
					t.Fatalf("%v of %d at %d: %+v", uint8(op), int64(length), int64(offset), c)
				}
				now = now.Add(time.Second)
			}
		}
	}

	for _, now := range []vtime.Instant{vtime.Never - 1, vtime.Never} {
		if c := v.Submit(now, volume.Request{Op: volume.Write, Length: 4096}); c.Done < now {
			t.Fatalf("at %d: done at %d", now, c.Done)
		}
	}
}

// forward checks that an instant before the last one counts as the last one.
func forward(t *testing.T, a, b volume.Volume) {
	at := vtime.At(time.Second)
	r := volume.Request{Op: volume.Write, Length: 4096}
	a.Submit(at, r)
	b.Submit(at, r)
	if early, late := a.Submit(0, r), b.Submit(at, r); early != late {
		t.Errorf("%+v at an instant before the last, %+v at the last", early, late)
	}
}

func flushes(t *testing.T, v volume.Volume) {
	var now vtime.Instant
	for range 1000 {
		now = v.Submit(now, volume.Request{Op: volume.Write, Length: 4096}).Done
		done := v.Submit(now, volume.Request{Op: volume.Flush}).Done
		if done < now {
			t.Fatalf("a flush is done at %d, the write before it at %d", done, now)
		}
		now = done
	}
}

// splits checks that a request is charged for as many operations as it needs, plus at most one per
// member or for misalignment.
func splits(t *testing.T, v volume.Volume, want Expectations) {
	var now vtime.Instant
	for _, n := range []units.Size{1, 2, 3, 4, 16} {
		now = now.Add(time.Hour)
		c := v.Submit(now, volume.Request{Op: volume.Write, Offset: units.Size(now), Length: n * want.Operation})
		if c.Operations < int64(n) || c.Operations > int64(n)+int64(max(want.Members, 1))-1 {
			t.Errorf("a write of %d times the maximum size of an operation was charged as %d operations", n, c.Operations)
		}
	}
}

// limited submits a backlog of requests at random places and checks that they are issued no faster
// than perSecond, with each counted by its size, and no slower.
func limited(t *testing.T, v volume.Volume, want Expectations, length units.Size, perSecond, each float64) {
	const requests = 20_000
	s := random.Seed(4).Stream("volumetest")
	issued := make([]vtime.Instant, requests)

	var now vtime.Instant
	for i := range issued {
		r := volume.Request{Op: volume.Op(i % 2), Offset: units.Size(s.Below(1<<24)) * 2 * length, Length: length}
		c := v.Submit(now, r)
		now = c.Admitted
		issued[i] = c.Issued
	}

	slices.Sort(issued)
	members := float64(max(want.Members, 1))

	// What passes immediately: one request per member, the slack, and rounding to nanoseconds.
	depth := members*each + float64(perSecond*want.Slack.Std().Seconds()) + each/1000
	var level float64
	for i, at := range issued {
		if i > 0 {
			level = max(0, level-float64(perSecond*at.Sub(issued[i-1]).Seconds()))
		}
		if level += each; level > depth {
			t.Fatalf("request %d of %s is issued at %.6f s: %.1f over the limit of %v a second, at most %.1f pass immediately",
				i, length, at.Seconds(), level, perSecond, depth)
		}
	}

	took, ideal := issued[requests-1].Seconds(), (requests-1)*each/perSecond-want.Slack.Std().Seconds()
	spread := 0.001
	if members > 1 {
		spread = 0.05
	}

	t.Logf("%d requests of %s in %.3f s: %.1f a second of %.1f", requests, length, took,
		requests*each/took, perSecond)
	if want.Slots == 0 && took > ideal*(1+spread)+want.Slack.Std().Seconds()+.001 {
		t.Errorf("the last of %d requests of %s is issued at %.3f s, at the limit at %.3f", requests, length,
			took, ideal)
	}
}
