package simulate

import (
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/model/database"
	"plimsoll/internal/model/workload"
)

// A queued operation of an open loop waited for a connection. The fields are the time when it got one,
// and what the operation that held the connection before had waited for.
type queued struct {
	at     vtime.Instant
	behind database.Waits
}

// A driver gives the engine its operations and learns when they are done.
//
// An operation is identified by its intended start, which is unique: if two would start in the same
// nanosecond, the second starts in the next.
type driver struct {
	clock  *vtime.Clock
	engine database.Model
	meter  *meter
	end    vtime.Instant // no operation starts from then on

	// An open loop: the next arrival, the operations that wait for a connection, and when those
	// that waited got one.
	source      workload.Source
	arrivals    *vtime.Line
	next        workload.Op
	last        vtime.Instant
	connections int
	inside      int // operations in the engine
	queue       ring
	waited      map[vtime.Instant]queued
	scratch     queued
	dispatching bool

	// A closed loop: what each client sends next, and which client an operation belongs to.
	closed *workload.Closed
	turns  []workload.Op
	client map[vtime.Instant]int32
}

func newDriver(w *workload.Workload, s *system, m *meter, source workload.Source, closed *workload.Closed,
	end vtime.Instant) *driver {
	d := &driver{clock: &s.clock, engine: s.engine, meter: m, end: end, last: -1}
	if closed != nil {
		d.closed, d.turns = closed, make([]workload.Op, closed.Clients())
		d.client = make(map[vtime.Instant]int32, closed.Clients())
		return d
	}
	d.source, d.connections = source, w.Connections()
	d.arrivals = s.clock.Line(d)
	d.waited = make(map[vtime.Instant]queued)
	return d
}

// start schedules the first operations.
func (d *driver) start() {
	if d.closed == nil {
		d.schedule()
		return
	}
	for client := range d.closed.Clients() {
		d.begin(client)
	}
}

// schedule takes the next operation of an open loop.
func (d *driver) schedule() {
	if !d.source.Next(&d.next) {
		return
	}
	// The intended start identifies an operation, so it must be unique.
	d.next.At = max(d.next.At, d.last+1)
	d.last = d.next.At
	if d.next.At < d.end {
		d.arrivals.At(d.next.At, 0)
	}
}

// Fire handles an arrival of an open loop.
func (d *driver) Fire(vtime.Instant, uint64) {
	op := d.next
	d.schedule()
	if d.meter.arrived(&op); d.inside < d.connections {
		d.inside++
		d.engine.Do(op)
		return
	}
	if !d.queue.push(op) {
		d.meter.refuse(&op)
	}
}

// Done is called by the engine when an operation is acknowledged.
func (d *driver) Done(now vtime.Instant, op *workload.Op, w *database.Waits) {
	if d.closed != nil {
		client, ok := d.client[op.At]
		if !ok {
			return // an engine acknowledges once; its own tests ensure that
		}
		delete(d.client, op.At)
		d.meter.done(now, op, w, nil, false)
		d.begin(int(client))
		return
	}

	var q *queued

	// Copied to scratch rather than allocated: this runs once per operation.
	if len(d.waited) > 0 {
		if x, ok := d.waited[op.At]; ok {
			delete(d.waited, op.At)
			q = &d.scratch
			*q = x
		}
	}

	d.meter.done(now, op, w, q, d.queue.n > 0)

	// done has just computed this operation's causes, which dispatch hands to the next one.
	d.inside--
	d.dispatch(now)
}

// dispatch gives free connections to waiting operations. An engine may acknowledge within Do; the
// outer call then continues.
func (d *driver) dispatch(now vtime.Instant) {
	if d.dispatching || d.queue.n == 0 {
		return
	}

	d.dispatching = true
	for d.inside < d.connections {
		op, ok := d.queue.pop()
		if !ok {
			break
		}
		// The connection was freed by the operation measured last, so its causes explain this wait.
		d.waited[op.At] = queued{now, d.meter.causes}
		d.inside++
		d.engine.Do(op)
	}

	d.dispatching = false
}

// begin starts a client's next operation in a closed loop. It uses an event, so that an operation
// never starts within another one's acknowledgement.
func (d *driver) begin(client int) {
	op := &d.turns[client]
	if !d.closed.Begin(client, d.clock.Now(), op) || op.At >= d.end {
		return
	}
	for {
		// Two clients may start in the same nanosecond. The second moves on to a free one.
		if _, taken := d.client[op.At]; !taken {
			break
		}
		op.At++
	}
	d.client[op.At] = int32(client)
	d.clock.At(op.At, (*turn)(d), uint64(client))
}

// turn returns a client's next operation in a closed loop.
type turn driver

// Fire sends a client's operation.
func (t *turn) Fire(_ vtime.Instant, client uint64) {
	d := (*driver)(t)
	op := d.turns[client]
	d.meter.arrived(&op)
	d.engine.Do(op)
}

// A ring is a queue of bounded length.
type ring struct {
	ops  []workload.Op
	head int
	n    int
}

func (r *ring) push(op workload.Op) bool {
	if r.n == waitingMax {
		return false
	}
	if r.n == len(r.ops) {
		// The length stays a power of two, so that indexes can be masked.
		grown := make([]workload.Op, max(2*len(r.ops), 1024))
		for i := range r.n {
			grown[i] = r.ops[(r.head+i)&(len(r.ops)-1)]
		}
		r.ops, r.head = grown, 0
	}
	r.ops[(r.head+r.n)&(len(r.ops)-1)] = op
	r.n++
	return true
}

func (r *ring) pop() (workload.Op, bool) {
	if r.n == 0 {
		return workload.Op{}, false
	}
	op := r.ops[r.head]
	r.head = (r.head + 1) & (len(r.ops) - 1)
	r.n--
	return op, true
}
