package volume_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/volume"
)

// An arrival is a request and its time of submission.
type arrival struct {
	now vtime.Instant
	r   volume.Request
}

// arrivals draws a load: bursts and pauses, reads and writes of up to four operations at random
// places.
func arrivals(t *rapid.T, n int) []arrival {
	pause := rapid.IntRange(0, 5_000_000).Draw(t, "pause")
	out := make([]arrival, n)
	var now vtime.Instant
	for i := range out {
		if rapid.Bool().Draw(t, "pauses") {
			now += vtime.Instant(rapid.IntRange(0, pause).Draw(t, "ns"))
		}
		out[i] = arrival{now, volume.Request{
			Op:     volume.Op(rapid.IntRange(0, 1).Draw(t, "op")),
			Offset: units.Size(i) * units.GiB, // nothing merges
			Length: units.Size(rapid.IntRange(1, 1<<20).Draw(t, "length")),
		}}
	}
	return out
}

func rates(t *rapid.T) volume.Rate {
	return volume.Rate{
		IOPS:       units.Frequency(rapid.IntRange(100, 100_000).Draw(t, "IOPS")),
		Throughput: units.Throughput(rapid.IntRange(1_000_000, 1_000_000_000).Draw(t, "throughput")),
	}
}

// A reference applies the same limits in rational numbers, one operation after another: a queue in front of
// two leaky buckets, without regard for speed.
type reference struct {
	rate  volume.Rate
	slack int64
	paid  [2]*big.Rat // nanoseconds up to which each limit is paid for
}

func newReference(rate volume.Rate, slack units.Duration) *reference {
	return &reference{rate, int64(slack), [2]*big.Rat{new(big.Rat), new(big.Rat)}}
}

func (f *reference) submit(now vtime.Instant, length units.Size) vtime.Instant {
	at := new(big.Rat).SetInt64(int64(now))
	for done := units.Size(0); done < length; done += ssd.Operation {
		costs := [2]*big.Rat{
			big.NewRat(1e9, int64(f.rate.IOPS)),
			big.NewRat(1e9*int64(min(ssd.Operation, length-done)), int64(f.rate.Throughput)),
		}

		for _, paid := range f.paid {
			if ready := new(big.Rat).Sub(paid, new(big.Rat).SetInt64(f.slack)); ready.Cmp(at) > 0 {
				at = ready
			}
		}

		for i := range costs {
			if f.paid[i].Cmp(at) < 0 {
				f.paid[i].Set(at)
			}
			f.paid[i].Add(f.paid[i], costs[i])
		}
	}

	ceiling := new(big.Int).Add(at.Num(), new(big.Int).Sub(at.Denom(), big.NewInt(1)))
	return vtime.Instant(ceiling.Div(ceiling, at.Denom()).Int64())
}

// Each request is issued when the reference issues it, to the nanosecond: no faster than the limits, no
// slower, and a large request exactly like the operations it consists of.
func TestIssuedExactlyAtTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := volume.Config{Name: "v", Sustained: rates(t), Operation: ssd.Operation}
		q := volume.MustNew(cfg, 1, nil)
		reference := newReference(cfg.Sustained, 0)
		for i, a := range arrivals(t, 60) {
			got, want := q.Submit(a.now, a.r).Issued, reference.submit(a.now, a.r.Length)
			// Each wait is a whole number of nanoseconds; the reference's may be fractional. A meter gets
			// back what it has waited too long: a slack of a nanosecond.
			if off := got - want; off < -2 || off > vtime.Instant(i+2) {
				t.Fatalf("request %d, %s at %d: issued at %d, want %d", i, a.r.Length, a.now, got, want)
			}
		}
	})
}

// This holds with slack too, as long as no request consists of several operations.
func TestSlack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := volume.Config{Name: "v", Sustained: rates(t), Operation: ssd.Operation}
		cfg.Slack = units.Duration(rapid.IntRange(0, 1_000_000_000).Draw(t, "slack"))
		q := volume.MustNew(cfg, 1, nil)
		reference := newReference(cfg.Sustained, cfg.Slack)
		for i, a := range arrivals(t, 60) {
			a.r.Length = min(a.r.Length, ssd.Operation)
			got, want := q.Submit(a.now, a.r).Issued, reference.submit(a.now, a.r.Length)
			if off := got - want; off < -2 || off > vtime.Instant(i+2) {
				t.Fatalf("request %d, %s at %d: issued at %d, want %d", i, a.r.Length, a.now, got, want)
			}
		}
	})
}

// 3,000 per second are 10,800,000 per hour: no rounding adds up.
func TestAnHourAtTheLimit(t *testing.T) {
	q := volume.MustNew(volume.Config{Sustained: volume.Rate{IOPS: 3000}}, 1, nil)
	var c volume.Completion
	for range 1_080_001 {
		c = q.Submit(0, volume.Request{Op: volume.Write, Length: 4096})
	}
	if off := c.Issued - vtime.At(6*time.Minute); off < 0 || off > 1 {
		t.Errorf("operation 1,080,001 is issued %d ns after 6 minutes", off)
	}
}

// A stripe of one volume behaves exactly as that one.
func TestStripeOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := ssd
		cfg.Slots = rapid.IntRange(0, 4).Draw(t, "slots")
		one := volume.MustNew(cfg, 7, nil)

		stripe, err := volume.NewStripe(units.Size(rapid.IntRange(512, 1<<20).Draw(t, "unit")), volume.MustNew(cfg, 7, nil))
		if err != nil {
			t.Fatal(err)
		}

		var now vtime.Instant
		for i, a := range arrivals(t, 60) {
			if i%3 == 0 {
				a.r.Offset = 0 // some continue where one ended
			}
			if i%7 == 0 {
				a.r = volume.Request{Op: volume.Flush}
			}
			now = a.now
			if c, s := one.Submit(a.now, a.r), stripe.Submit(a.now, a.r); c != s {
				t.Fatalf("request %d, %+v: %+v, by the stripe %+v", i, a.r, c, s)
			}
		}

		if c, s := one.State(now), stripe.State(now); c != s {
			t.Fatalf("state %+v, of the stripe %+v", c, s)
		}
	})
}

// However a request is placed on a stripe, all its bytes are written once, and requests that are
// sequential on the stripe are charged like sequential requests on a volume.
func TestStripeConservesBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		unit := units.Size(rapid.IntRange(512, 100_000).Draw(t, "unit"))
		seen := map[units.Size]bool{}

		members := make([]volume.Volume, n)
		for i := range members {
			members[i] = &recorder{Volume: volume.MustNew(volume.Config{}, 1, nil), place: func(at units.Size) units.Size {
				return (at/unit*units.Size(n)+units.Size(i))*unit + at%unit
			}, seen: seen}
		}

		s, err := volume.NewStripe(unit, members...)
		if err != nil {
			t.Fatal(err)
		}

		r := volume.Request{
			Op:     volume.Write,
			Offset: units.Size(rapid.IntRange(0, 1<<20).Draw(t, "offset")), Length: units.Size(rapid.IntRange(1, 1<<14).Draw(t, "length")),
		}

		s.Submit(0, r)
		for at := r.Offset; at < r.Offset+r.Length; at++ {
			if !seen[at] {
				t.Fatalf("byte %d of %+v was not written", at, r)
			}
		}

		if len(seen) != int(r.Length) {
			t.Fatalf("%d bytes of %d were written", len(seen), r.Length)
		}
	})
}

// A recorder notes which bytes of a stripe are written to one of its members.
type recorder struct {
	volume.Volume
	place func(units.Size) units.Size
	seen  map[units.Size]bool
}

func (m *recorder) Submit(now vtime.Instant, r volume.Request) volume.Completion {
	for at := r.Offset; at < r.Offset+r.Length; at++ {
		m.seen[m.place(at)] = true
	}
	return m.Volume.Submit(now, r)
}

// The accounting examples in Amazon's user guide.
func TestAccounting(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		length units.Size
		random bool
		merge  bool
		want   int64
	}{
		{"8 sequential of 32 KiB", 8, 32 * units.KiB, false, true, 1},
		{"8 random of 32 KiB", 8, 32 * units.KiB, true, true, 8},
		{"1 of 1,024 KiB", 1, units.MiB, false, true, 4},
		{"1 of 1,024 KiB, nothing merges", 1, units.MiB, false, false, 4},
		{"8 sequential of 32 KiB, nothing merges", 8, 32 * units.KiB, false, false, 8},
		{"3 sequential of 384 KiB", 3, 384 * units.KiB, false, true, 5},
		{"1 of a byte over an operation", 1, 256*units.KiB + 1, false, true, 2},
	} {
		cfg := ssd
		cfg.Merge = c.merge
		q := volume.MustNew(cfg, 1, nil)

		var got int64
		for i := range units.Size(c.n) {
			r := volume.Request{Op: volume.Write, Offset: i * c.length, Length: c.length}
			if c.random {
				r.Offset *= 2
			}
			got += q.Submit(0, r).Operations
		}

		if got != c.want {
			t.Errorf("%s: %d operations, want %d", c.name, got, c.want)
		}
	}

	// In succession, each waiting for the last, they are sequential too, but nothing is left to merge
	// with.
	q := volume.MustNew(ssd, 1, nil)
	var now vtime.Instant
	for i := range units.Size(8) {
		now = q.Submit(now, volume.Request{Op: volume.Write, Offset: i * 4096, Length: 4096}).Done + 1
	}

	if n := q.State(now).Operations; n != 8 {
		t.Errorf("8 sequential writes one after another: %d operations, want 8", n)
	}
}

// However a sequential run is cut into concurrent requests, it is charged the same.
func TestMergingConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := volume.MustNew(ssd, 1, nil)
		var end units.Size

		var operations int64
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			length := units.Size(rapid.IntRange(1, 600_000).Draw(t, "length"))
			operations += q.Submit(0, volume.Request{Op: volume.Write, Offset: end, Length: length}).Operations
			end += length
		}

		if want := int64((end + ssd.Operation - 1) / ssd.Operation); operations != want {
			t.Fatalf("%d bytes in order are %d operations, want %d", end, operations, want)
		}

		if s := q.State(0); s.Bytes != int64(end) {
			t.Fatalf("%d bytes charged of %d", s.Bytes, end)
		}
	})
}

// There are never more requests in flight than slots, and a submitter waits no longer than until one is
// free.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := ssd
		cfg.Slots = rapid.IntRange(1, 9).Draw(t, "slots")
		q := volume.MustNew(cfg, rapidSeed(t), nil)

		var inFlight []vtime.Instant
		for i, a := range arrivals(t, 80) {
			c := q.Submit(a.now, a.r)
			want := a.now
			if len(inFlight) == cfg.Slots {
				want = max(want, slices.Min(inFlight))
			}

			if c.Admitted != want {
				t.Fatalf("request %d at %d is admitted at %d, want %d", i, a.now, c.Admitted, want)
			}

			if c.Admitted > a.now && c.Held == volume.Unlimited {
				t.Fatalf("request %d waited for nothing", i)
			}

			if len(inFlight) == cfg.Slots {
				i := slices.Index(inFlight, slices.Min(inFlight))
				inFlight = slices.Delete(inFlight, i, i+1)
			}

			inFlight = append(inFlight, c.Done)
		}
	})
}
