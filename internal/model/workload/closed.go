package workload

import (
	"time"

	"plimsoll/internal/base/vtime"
)

// Closed is a closed loop: clients that each wait for an answer before they send the next request.
// It is for benchmarks that work this way. While the system stalls they send hardly anything, so
// their latencies say nothing about what users would have felt: reports say that the loop was
// closed.
//
// The caller calls [Closed.Begin] once for each client at the start, and again for a client
// whenever its operation is done.
type Closed struct {
	what    *operations
	crowd   []crowd
	clients int
	think   time.Duration
	// minimum distance between the operations of all clients by the limit of their rate; 0 means
	// none
	distance time.Duration
	token    vtime.Instant // when the limit allows the next
	end      vtime.Instant
	begun    []bool
}

// A crowd is the number of clients until some time.
type crowd struct {
	until   vtime.Instant
	clients int
}

// Clients returns the largest number of concurrent clients; they are numbered from 0.
func (c *Closed) Clients() int { return c.clients }

// Begin writes the next operation of a client that has been free since now into op. op.At is when
// it starts, now or later: after the client's pause, when the limit of the rate allows it, or when
// a later step has that many clients. false means that the client has nothing more to do. Calls
// come in the order of now.
func (c *Closed) Begin(client int, now vtime.Instant, op *Op) bool {
	at := now
	// A client does not think before its first request.
	if c.begun[client] {
		at = at.Add(c.think)
	}
	c.begun[client] = true
	for _, step := range c.crowd {
		if at < step.until && client < step.clients {
			return c.start(at, op)
		}
		at = max(at, step.until)
	}
	return false
}

func (c *Closed) start(at vtime.Instant, op *Op) bool {
	if c.distance > 0 {
		// Requests wait in a channel with a place for each client (as in etcdctl's check perf), so
		// at most that many are made up for after a stall.
		c.token = max(c.token, at.Add(-c.distance*time.Duration(c.clients)))
		at = max(at, c.token)
		c.token = c.token.Add(c.distance)
	}
	if at >= c.end {
		return false
	}
	c.what.fill(op, at)
	return true
}
