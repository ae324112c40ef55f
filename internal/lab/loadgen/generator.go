//go:build linux

package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/base/random"
	"plimsoll/internal/base/vtime"
	"plimsoll/internal/lab"
	"plimsoll/internal/model/workload"
)

// Limits on what a run keeps.
const (
	// operations waiting for a connection, as in the simulation; any more are refused
	waitingMax    = 1 << 19
	operationsMax = 16_000_000 // acknowledged operations, 24 bytes each
	rememberedMax = 4_000_000  // keys whose writes are remembered
	errorsMax     = 16         // distinct error texts
)

// One operation in errorsShare may fail. The share is checked once errorsLeast have failed.
const (
	errorsShare = 100
	errorsLeast = 100
)

// patienceDefault is how long a run waits at its end for operations in flight: longer than the
// longest stalls observed on volumes with limits.
const patienceDefault = 30 * time.Second

// A Doer performs operations: a lab.Server, or a substitute for one.
type Doer interface {
	Do(ctx context.Context, conn int, op *lab.Op) error
}

// A Config describes the load.
type Config struct {
	Server   Doer
	Workload *workload.Workload
	Seed     random.Seed
	// From and End bound the measured time: operations due before From are warm-up, and none begins
	// at or after End.
	From, End vtime.Instant
	// Patience is how long a Run waits at its end for operations in flight; 0: 30 s.
	Patience time.Duration
	// Remember keeps the acknowledged writes, for Known. No two writes of a key are then in flight
	// concurrently.
	Remember bool

	clock clock // nil: the real clock
}

// A Generator sends the load. Run and Result must be called from one goroutine; the other methods
// may be called at any time.
type Generator struct {
	cfg    Config
	clock  clock
	source workload.Source  // for an open loop
	closed *workload.Closed // for a closed loop
	next   lab.Op           // the next operation of an open loop
	drawn  bool             // next is set

	turn  sync.Mutex // makes clients of a closed loop draw operations in order
	locks [256]sync.Mutex
	seq   atomic.Uint64
	cut   atomic.Bool // the run is over, so failures are expected
	over  atomic.Bool // no more operations begin

	pauses pauseMeter

	mu    sync.Mutex
	spans []span
	count counts
	known map[uint64]Known
	fatal error
	stop  context.CancelFunc // cancels the current Run
}

// A span is one Run: when it began by each clock, and the workload time that it covers.
type span struct {
	wall    time.Time
	clock   vtime.Instant
	at, end vtime.Instant
}

// New creates a load generator at the beginning of workload time.
func New(cfg Config) *Generator {
	d := &Generator{cfg: cfg, clock: cfg.clock, known: map[uint64]Known{}}
	if d.clock == nil {
		d.clock = monotonic{time.Now()}
	}
	if d.cfg.Patience == 0 {
		d.cfg.Patience = patienceDefault
	}
	if cfg.Workload.IsClosed() {
		d.closed = cfg.Workload.Closed(cfg.Seed)
	} else {
		d.source = cfg.Workload.Open(cfg.Seed)
	}
	return d
}

// Run continues where the last Run ended, up to an instant of workload time. If ended is not nil,
// Run then calls it while operations are in flight, and aborts them; otherwise it waits for them.
// It fails if more than one operation in a hundred does, and with the context's error if the
// context ends.
func (d *Generator) Run(ctx context.Context, until vtime.Instant, ended func() error) error {
	until = min(until, d.cfg.End)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	d.cut.Store(false)
	d.over.Store(false)
	d.mu.Lock()
	from := vtime.Instant(0)

	if n := len(d.spans); n > 0 {
		from = d.spans[n-1].end
	}

	d.spans = append(d.spans, span{wall: time.Now(), clock: d.clock.Now(), at: from, end: until})
	d.stop = cancel
	d.mu.Unlock()

	if d.cfg.clock == nil { // a test's clock is not affected by pauses of the machine
		d.pauses.start(d.now)
		defer d.pauses.end()
	}

	var workers sync.WaitGroup
	finish := d.start(work, &workers, until)
	d.wait(work, until)

	// From here on, failures are caused by the power loss or the end of the run.
	d.cut.Store(true)

	var err error
	if ended != nil && ctx.Err() == nil && d.err() == nil {
		err = ended()
		cancel()
	}

	d.over.Store(true)
	finish()
	patience := time.AfterFunc(d.cfg.Patience, cancel)
	workers.Wait()
	patience.Stop()

	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case d.err() != nil:
		return d.err()
	}

	return err
}

func (d *Generator) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fatal
}

// now returns the current workload time.
func (d *Generator) now() vtime.Instant {
	s := &d.spans[len(d.spans)-1] // appended to only between Runs
	return s.at + d.clock.Now() - s.clock
}

// wait waits for an instant of workload time.
func (d *Generator) wait(ctx context.Context, until vtime.Instant) {
	s := &d.spans[len(d.spans)-1]
	d.clock.Wait(ctx, until-s.at+s.clock)
}

// start starts all workers and returns a function to call at the end.
func (d *Generator) start(ctx context.Context, workers *sync.WaitGroup, until vtime.Instant) (ended func()) {
	if d.closed != nil {
		for client := range d.closed.Clients() {
			workers.Go(func() { d.client(ctx, client, until) })
		}
		return func() {}
	}

	lanes := d.lanes()
	for conn := range d.cfg.Workload.Connections() {
		workers.Go(func() { d.serve(ctx, conn, lanes[conn%len(lanes)]) })
	}

	dispatched := make(chan struct{})
	go func() {
		defer close(dispatched)
		d.clock.Punctual()
		d.dispatch(ctx, lanes, until)
	}()

	return func() {
		<-dispatched
		for _, l := range lanes {
			close(l)
		}
	}
}

// lanes returns the queues: one for all connections, or, with Remember, one for each, so that all
// writes of a key use the same connection.
func (d *Generator) lanes() []chan lab.Op {
	n := 1
	if d.cfg.Remember {
		n = d.cfg.Workload.Connections()
	}
	out := make([]chan lab.Op, n)
	for i := range out {
		out[i] = make(chan lab.Op, max(waitingMax/n, 1))
	}
	return out
}

// dispatch hands operations to the lanes when they are due.
func (d *Generator) dispatch(ctx context.Context, lanes []chan lab.Op, until vtime.Instant) {
	for {
		if !d.drawn {
			if d.drawn = d.source.Next(&d.next.Op); !d.drawn {
				return
			}
		}

		if d.next.At >= until {
			return
		}

		d.wait(ctx, d.next.At)
		if ctx.Err() != nil {
			return
		}

		lane := lanes[d.next.Key%uint64(len(lanes))]
		if d.next.Kind.Writes() {
			d.next.Seq = d.seq.Add(1)
		}

		d.asked(d.next.At)

		// The dispatcher must never block, or it would delay all later operations.
		select {
		case lane <- d.next:
		default:
			d.refused(d.next.At)
		}

		d.drawn = false
	}
}

// serve runs a connection of an open loop.
func (d *Generator) serve(ctx context.Context, conn int, lane <-chan lab.Op) {
	free := d.now()
	for op := range lane {
		if d.over.Load() || ctx.Err() != nil {
			continue // it counts as still waiting
		}
		d.late(d.now() - max(op.At, free))
		d.do(ctx, conn, &op)
		free = d.now()
	}
}

// client runs a client of a closed loop.
func (d *Generator) client(ctx context.Context, client int, until vtime.Instant) {
	var op lab.Op
	for ctx.Err() == nil && !d.over.Load() {
		d.turn.Lock()
		ok := d.closed.Begin(client, d.now(), &op.Op)
		d.turn.Unlock()

		if !ok || op.At >= until {
			return
		}

		d.wait(ctx, op.At)
		if ctx.Err() != nil {
			return
		}

		d.asked(op.At)
		if !op.Kind.Writes() {
			d.do(ctx, client, &op)
			continue
		}

		if d.cfg.Remember {
			// Serializes the writes of a key, so that their sequence numbers match their order on
			// the server.
			lock := &d.locks[op.Key%uint64(len(d.locks))]
			lock.Lock()
			op.Seq = d.seq.Add(1)
			d.do(ctx, client, &op)
			lock.Unlock()
			continue
		}

		op.Seq = d.seq.Add(1)
		d.do(ctx, client, &op)
	}
}

// do executes an operation and counts it.
func (d *Generator) do(ctx context.Context, conn int, op *lab.Op) {
	remember := d.cfg.Remember && op.Kind.Writes()
	if remember {
		d.issued(op)
	}

	err := d.cfg.Server.Do(ctx, conn, op)
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()

	if err != nil {
		if !d.cut.Load() && ctx.Err() == nil {
			d.failed(err)
		}
		return
	}

	if remember {
		if k, ok := d.known[op.Key]; ok {
			k.Acknowledged = op.Seq
			d.known[op.Key] = k
		}
	}

	if d.spans[len(d.spans)-1].end <= now { // counts as still waiting
		return
	}

	if len(d.count.operations) >= operationsMax {
		d.end(fmt.Errorf("more than %d operations were acknowledged: run for a shorter time", operationsMax))
		return
	}

	d.count.done(latency.Operation{At: op.At, Took: int64(now - op.At), Write: op.Kind.Writes()}, d.cfg.From)
}

// failed counts an error and ends the run if there are too many.
func (d *Generator) failed(err error) {
	if d.count.fail(err); d.count.failed >= errorsLeast && d.count.failing() {
		d.end(d.count.failure())
	}
}

// end ends the run with an error.
func (d *Generator) end(err error) {
	if d.fatal == nil {
		d.fatal = err
		d.stop()
	}
}
