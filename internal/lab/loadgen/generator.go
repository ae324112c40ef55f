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

// Bounds of what a run keeps.
const (
	waitingMax    = 1 << 19    // operations that wait for a connection, as simulated; those beyond are refused
	operationsMax = 16_000_000 // acknowledged ones, of 24 bytes
	rememberedMax = 4_000_000  // keys whose writes are remembered
	errorsMax     = 16         // errors that are told apart by their text
)

// One operation in errorsShare may fail; before errorsLeast have there is no telling.
const (
	errorsShare = 100
	errorsLeast = 100
)

// patienceDefault is how long operations under way are waited for at the end: longer than the
// longest stalls that volumes with limits were seen to make.
const patienceDefault = 30 * time.Second

// A Doer performs operations: a lab.Server, or what stands for one.
type Doer interface {
	Do(ctx context.Context, conn int, op *lab.Op) error
}

// A Config says what is asked.
type Config struct {
	Server   Doer
	Workload *workload.Workload
	Seed     random.Seed
	// From and End are the measured time: what begins before From is warm-up, and nothing begins
	// from End on.
	From, End vtime.Instant
	// Patience is how long operations under way are waited for when a Run is over. 0: 30 s.
	Patience time.Duration
	// Remember keeps what was acknowledged, for Known, and lets no two writes of a key be under way
	// at a time.
	Remember bool

	clock clock // nil: the real one
}

// A Generator asks. Run and Result belong to one goroutine; the others may be called any time.
type Generator struct {
	cfg    Config
	clock  clock
	source workload.Source  // of an open loop
	closed *workload.Closed // of a closed one
	next   lab.Op           // the operation of an open loop that comes next
	drawn  bool             // there is one

	turn  sync.Mutex // clients of a closed loop draw in order
	locks [256]sync.Mutex
	seq   atomic.Uint64
	cut   atomic.Bool // whatever fails now fails because the run was ended
	over  atomic.Bool // nothing begins any more

	pauses pauseMeter

	mu    sync.Mutex
	spans []span
	count counts
	known map[uint64]Known
	fatal error
	stop  context.CancelFunc // of the present Run
}

// A span is a Run: the time by the clock at which the workload's time went on, and where it stood.
type span struct {
	wall    time.Time
	clock   vtime.Instant
	at, end vtime.Instant
}

// New makes a load generator that stands at the beginning.
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

// Run asks from where the last Run ended until an instant of the workload's time. Then it calls
// ended, if that is not nil, while operations are under way, and ends these at once; with nil it
// waits for them. It fails where more than one operation in a hundred does, and with the context's
// error when that ends.
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

	if d.cfg.clock == nil { // a test's clock does not stand still with the machine
		d.pauses.start(d.now)
		defer d.pauses.end()
	}
	var workers sync.WaitGroup
	finish := d.start(work, &workers, until)
	d.wait(work, until)
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

// now is the workload's time.
func (d *Generator) now() vtime.Instant {
	s := &d.spans[len(d.spans)-1] // appended to only while nobody asks
	return s.at + d.clock.Now() - s.clock
}

// wait waits for an instant of the workload's time.
func (d *Generator) wait(ctx context.Context, until vtime.Instant) {
	s := &d.spans[len(d.spans)-1]
	d.clock.Wait(ctx, until-s.at+s.clock)
}

// start lets everybody begin, and gives a function to be called at the end.
func (d *Generator) start(ctx context.Context, workers *sync.WaitGroup, until vtime.Instant) (ended func()) {
	if d.closed != nil {
		for client := range d.closed.Clients() {
			workers.Go(func() { d.ask(ctx, client, until) })
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

// lanes are where operations queue: one for all connections, or one each where a key belongs to
// one.
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

// dispatch hands operations over when they are due.
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
		select {
		case lane <- d.next:
		default:
			d.refused(d.next.At)
		}
		d.drawn = false
	}
}

// serve is a connection of an open loop.
func (d *Generator) serve(ctx context.Context, conn int, lane <-chan lab.Op) {
	free := d.now()
	for op := range lane {
		if d.over.Load() || ctx.Err() != nil {
			continue // it waits for ever
		}
		d.late(d.now() - max(op.At, free))
		d.do(ctx, conn, &op)
		free = d.now()
	}
}

// ask is a client of a closed loop.
func (d *Generator) ask(ctx context.Context, client int, until vtime.Instant) {
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

// do performs an operation and counts it.
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
	if d.spans[len(d.spans)-1].end <= now { // as of one that is still waiting
		return
	}
	if len(d.count.operations) >= operationsMax {
		d.end(fmt.Errorf("more than %d operations were acknowledged: run for a shorter time", operationsMax))
		return
	}
	d.count.done(latency.Operation{At: op.At, Took: int64(now - op.At), Write: op.Kind.Writes()}, d.cfg.From)
}

// failed counts an error, and ends the run where there are too many.
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
