package vtime

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Events fire in the order of their instants and, at the same instant, in the order of scheduling,
// no matter what else is scheduled in the meantime and whether an event waits in a line.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Clock
		type fired struct {
			at  Instant
			arg uint64
		}

		var got, want []fired
		var n uint64
		var h HandlerFunc

		// Within a span of the clock, over a few of them, and beyond the last.
		unit := rapid.SampledFrom([]int{1, 1 << 12, 1 << (spanBits + 3), 1 << (spanBits + 9)}).Draw(t, "unit")
		later := HandlerFunc(func(now Instant, arg uint64) { h(now, arg) }) // h is not known yet
		lines := []*Line{c.Line(later), c.Line(later)}
		schedule := func(at Instant) {
			n++
			want = append(want, fired{max(at, c.Now()), n})
			if i := rapid.IntRange(0, 3).Draw(t, "line"); i < len(lines) {
				lines[i].At(at, n)
				return
			}
			c.At(at, h, n)
		}

		h = func(now Instant, arg uint64) {
			got = append(got, fired{now, arg})
			if now != c.Now() {
				t.Fatalf("handled at %d, clock at %d", now, c.Now())
			}

			if arg%5 == 0 {
				if pending := c.Pending(); pending != len(want)-len(got) {
					t.Fatalf("%d pending, want %d", pending, len(want)-len(got))
				}
			}

			for range arg % 3 {
				if n < 300 {
					schedule(now + Instant(rapid.IntRange(-5, 20).Draw(t, "later")*unit))
				}
			}
		}

		for _, at := range rapid.SliceOfN(rapid.IntRange(0, 50), 1, 200).Draw(t, "at") {
			schedule(Instant(at * unit))
		}

		half := Instant(25 * unit)
		c.Run(half)
		if c.Now() != half || (c.Pending() > 0 && c.Next() <= half) {
			t.Fatalf("at %d, next %d", c.Now(), c.Next())
		}

		c.Run(Never)
		slices.SortStableFunc(want, func(a, b fired) int { return cmp.Compare(a.at, b.at) })
		if !slices.Equal(got, want) {
			t.Fatalf("fired %v, want %v", got, want)
		}
	})
}

// A clock with few pending events stays small, however many fire before the next span.
func TestRoomOfFiredEventsIsUsedAgain(t *testing.T) {
	var c Clock
	c.At(At(time.Hour), HandlerFunc(func(Instant, uint64) {}), 0)
	c.Next() // opens the span of the event an hour ahead
	left := 100_000
	var h HandlerFunc
	h = func(now Instant, _ uint64) {
		if left--; left > 0 {
			c.At(now+2, h, 0)
		}
	}

	c.At(0, h, 0)
	c.At(1, h, 0) // one of the two is always pending
	c.Run(At(time.Second))

	if left > 0 || cap(c.sorted) > 8*sortedMost {
		t.Errorf("%d left; room for %d events, for two that are pending", left, cap(c.sorted))
	}
}

func TestNeverStaysNever(t *testing.T) {
	if Never.Add(time.Second) != Never || Instant(5).Add(-3) != 2 {
		t.Error("instants overflow")
	}
}

type chain struct{ c *Clock }

func (h chain) Fire(now Instant, arg uint64) { h.c.At(now+Instant(arg), h, arg) }

// BenchmarkEvent handles one event and schedules the next, with 100 pending and one due every 20 us.
func BenchmarkEvent(b *testing.B) {
	var c Clock
	for i := range uint64(100) {
		c.At(Instant(i*20_000), chain{&c}, 1_900_000+i*i%7*40_000)
	}
	b.ResetTimer()
	for range b.N {
		c.Run(c.Next())
	}
}

type queueing struct{ l *Line }

func (h queueing) Fire(now Instant, arg uint64) { h.l.At(now+2_000_000, arg) }

// BenchmarkLine is the same for an event that waits in a line.
func BenchmarkLine(b *testing.B) {
	var c Clock
	h := &queueing{}
	h.l = c.Line(h)
	for i := range uint64(100) {
		h.l.At(Instant(i*20_000), i)
	}
	b.ResetTimer()
	for range b.N {
		c.Run(c.Next())
	}
}
