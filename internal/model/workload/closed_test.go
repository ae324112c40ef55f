package workload

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// drive runs a closed loop against a system that takes a given time for a client's operation, for at
// most a given number of operations.
func drive(c *Closed, takes func(client int, at vtime.Instant) time.Duration, most int, each func(client int, op *Op)) {
	var clock vtime.Clock
	var op Op
	var ask vtime.HandlerFunc
	ask = func(now vtime.Instant, client uint64) {
		if most--; most < 0 || !c.Begin(int(client), now, &op) {
			return
		}
		each(int(client), &op)
		clock.At(op.At.Add(takes(int(client), op.At)), ask, client)
	}
	for client := range c.Clients() {
		clock.At(0, ask, uint64(client))
	}
	clock.Run(vtime.At(time.Hour))
}

func closedSpec(a *Arrivals, d units.Duration) Spec {
	return Spec{Arrivals: a, Mix: &Mix{Read: 1}, Keys: &Keys{Count: 10}, Document: &Document{Size: 8192}, Duration: d}
}

// N clients of a system that takes 10 ms do N x 100 operations per second, minus their pauses.
func TestClosedLoop(t *testing.T) {
	const never = math.MaxInt
	for _, tt := range []struct {
		name     string
		arrivals Arrivals
		want     int
	}{
		{"5 clients", Arrivals{Clients: 5}, 5000},
		{"pauses of 10 ms", Arrivals{Clients: 5, Think: 10 * second / 1000}, 2500},
		{"limited to 150 a second", Arrivals{Clients: 50, Rate: rate(150)}, 1500},
		{"limited to more than it does", Arrivals{Clients: 5, Rate: rate(1000)}, 5000},
		{"steps", Arrivals{Steps: []Step{{Clients: 1, For: 5 * second}, {Clients: 10, For: 5 * second}}}, 5500},
		{"fewer clients later", Arrivals{Steps: []Step{{Clients: 10, For: 5 * second}, {Clients: 1, For: 5 * second}}}, 5500},
	} {
		c := resolved(t, closedSpec(&tt.arrivals, 10*second)).Closed(1)
		n := 0
		busy := map[int]vtime.Instant{}
		drive(c, func(int, vtime.Instant) time.Duration { return 10 * time.Millisecond }, never, func(client int, op *Op) {
			n++
			if op.At < busy[client] || op.At >= vtime.At(10*time.Second) {
				t.Fatalf("%s: client %d asks at %v, while it waits for its answer or after the end", tt.name, client, op.At)
			}
			busy[client] = op.At.Add(10 * time.Millisecond)
		})

		if n != tt.want {
			t.Errorf("%s: %d operations in 10 s, want %d", tt.name, n, tt.want)
		}
	}
}

// During a stall of 5 s, each client sends one request: a closed loop hides the rest. Afterwards it
// makes up for what waited in the channel, and no more.
func TestClosedLoopHidesAStall(t *testing.T) {
	c := resolved(t, closedSpec(&Arrivals{Clients: 10, Rate: rate(100)}, 20*second)).Closed(1)
	perSecond := make([]int, 20)
	drive(c, func(_ int, at vtime.Instant) time.Duration {
		if at >= vtime.At(5*time.Second) && at < vtime.At(10*time.Second) {
			return vtime.At(10 * time.Second).Sub(at)
		}
		return time.Millisecond
	}, math.MaxInt, func(_ int, op *Op) { perSecond[int(op.At.Seconds())]++ })
	for s, want := range []int{100, 100, 100, 100, 100, 10, 0, 0, 0, 0, 110, 100} {
		if got := perSecond[s]; got < want-1 || got > want+1 {
			t.Errorf("second %d: %d operations, want %d", s, got, want)
		}
	}
}

// The rate limit applies to any run, however long the system takes: the allowed number of operations,
// plus one channel's worth.
func TestClosedLoopRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clients := rapid.IntRange(1, 20).Draw(rt, "clients")
		limit := rapid.IntRange(1, 2000).Draw(rt, "rate")
		times := rapid.SliceOfN(rapid.IntRange(0, 300), 1, 20).Draw(rt, "milliseconds")
		c := resolved(t, closedSpec(&Arrivals{Clients: clients, Rate: rate(units.Frequency(limit))}, 5*second)).Closed(1)
		n, i := 0, 0
		drive(c, func(int, vtime.Instant) time.Duration {
			i++
			return time.Duration(times[i%len(times)]) * time.Millisecond
		}, 100_000, func(int, *Op) { n++ })
		if most := 5*limit + clients + 1; n > most {
			rt.Errorf("%d operations in 5 s, at most %d may be", n, most)
		}
	})
}
