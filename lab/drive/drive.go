package drive

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"plimsoll/lab"
	"plimsoll/random"
	"plimsoll/units"
	"plimsoll/vtime"
	"plimsoll/workload"
)

// Bounds. An operation that is remembered takes 24 bytes.
const (
	waitingMax    = 1 << 19 // operations that wait for a connection; those beyond are refused
	operationsMax = 50_000_000
	errorsShown   = 5
	errorsShare   = 100 // one in so many operations may fail
	errorsLeast   = 100
)

// A Doer performs operations: a lab.Server, or what stands for one.
type Doer interface {
	Do(ctx context.Context, conn int, op *lab.Op) error
}

// A Config says what is asked.
type Config struct {
	Server   Doer
	Workload *workload.Workload
	Seed     random.Seed
	// For is how long operations are asked; those under way are then waited for, but not longer than Patience.
	For      time.Duration
	Patience time.Duration // 0: 30 s
	// Remember keeps what was acknowledged, for Acknowledged.
	Remember bool
	// Progress, if not nil, is called each second with what was done so far and the p99 in that second.
	Progress func(at time.Duration, done int64, p99 time.Duration)
}

// An Operation is one that was acknowledged.
type Operation struct {
	At      vtime.Instant // its intended start, since the run's beginning
	Latency time.Duration // from there
	Write   bool
}

// A Result is what came of it.
type Result struct {
	Began      time.Time
	Operations []Operation // in the order of their acknowledgement, more or less
	Asked      []vtime.Instant
	Refused    int64
	Failed     int64
	Errors     map[string]int64 // by text, the first few
	// How late the dispatcher handed operations over, in an open loop.
	DispatchP50, DispatchP99, DispatchMax units.Duration
	// Keys are what is known of each key that was written; of Config.Remember.
	Keys map[uint64]Known
}

// Known is what is known of a key's writes.
type Known struct{ Acknowledged, Issued uint64 } // Seq; 0: none

// A run is one of Run's.
type run struct {
	cfg    Config
	began  time.Time
	mu     sync.Mutex
	out    Result
	hdr    *hdrhistogram.Histogram // dispatch, us
	second *hdrhistogram.Histogram // latencies of the running second, us
	done   int64
	fatal  error
	cancel context.CancelFunc
	seq    atomic.Uint64
	left   atomic.Int64 // handed over and not answered
}

// Run asks until the time is over, or the context ends, which is no error: the result then is of what there was.
// It fails where more than one operation in a hundred does.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{cfg: cfg, cancel: cancel, hdr: hdrhistogram.New(1, 60_000_000, 2), second: hdrhistogram.New(1, 3_600_000_000, 2)}
	r.out.Errors, r.out.Keys = map[string]int64{}, map[uint64]Known{}
	r.began = time.Now()
	r.out.Began = r.began
	stop := r.tell()
	if cfg.Workload.IsClosed() {
		r.closed(work)
	} else {
		r.open(work)
	}
	stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.DispatchP50 = units.Duration(r.hdr.ValueAtQuantile(50)) * 1000
	r.out.DispatchP99 = units.Duration(r.hdr.ValueAtQuantile(99)) * 1000
	r.out.DispatchMax = units.Duration(r.hdr.Max()) * 1000
	return &r.out, r.fatal
}

// now is the instant since the run's beginning.
func (r *run) now() vtime.Instant { return vtime.Instant(time.Since(r.began)) }

// open hands operations over when they are due.
func (r *run) open(ctx context.Context) {
	conns := r.cfg.Workload.Connections()
	lanes := r.lanes(conns)
	var workers sync.WaitGroup
	for c := range conns {
		lane := lanes[c%len(lanes)]
		workers.Go(func() {
			for op := range lane {
				r.do(ctx, c, &op)
				r.left.Add(-1)
			}
		})
	}
	r.dispatch(ctx, lanes)
	for _, l := range lanes {
		close(l)
	}
	// What is under way is waited for, for a while.
	patience := time.AfterFunc(r.cfg.Patience, r.cancel)
	workers.Wait()
	patience.Stop()
}

// lanes are where operations queue: one for all connections, or one each where a key belongs to one.
func (r *run) lanes(conns int) []chan lab.Op {
	n := 1
	if r.cfg.Remember {
		n = conns
	}
	out := make([]chan lab.Op, n)
	for i := range out {
		out[i] = make(chan lab.Op, max(waitingMax/n, 1))
	}
	return out
}

func (r *run) dispatch(ctx context.Context, lanes []chan lab.Op) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // by default timers are 50 us late
	source := r.cfg.Workload.Open(r.cfg.Seed)
	end := vtime.At(r.cfg.For)
	var op lab.Op
	for source.Next(&op.Op) && op.At < end && ctx.Err() == nil {
		late := r.sleep(ctx, op.At)
		if ctx.Err() != nil {
			return
		}
		lane := lanes[0]
		if len(lanes) > 1 {
			lane = lanes[op.Key%uint64(len(lanes))]
		}
		if op.Kind.Writes() {
			op.Seq = r.seq.Add(1)
		}
		r.mu.Lock()
		r.out.Asked = append(r.out.Asked, op.At)
		_ = r.hdr.RecordValue(min(int64(late/time.Microsecond), 60_000_000)) // in range
		r.mu.Unlock()
		r.left.Add(1)
		select {
		case lane <- op:
		default:
			r.left.Add(-1)
			r.mu.Lock()
			r.out.Refused++
			r.mu.Unlock()
		}
	}
}

// sleep waits until an instant of the run, and tells by how much it is over. It looks at the context now and then.
func (r *run) sleep(ctx context.Context, until vtime.Instant) (late time.Duration) {
	const step = 100 * time.Millisecond
	for {
		left := until.Sub(r.now())
		if left <= 0 || ctx.Err() != nil {
			return max(-left, 0)
		}
		ts := unix.NsecToTimespec(int64(min(left, step)))
		_ = unix.Nanosleep(&ts, nil) // interrupted: the loop looks again
	}
}

// closed lets each client ask again when it has its answer.
func (r *run) closed(ctx context.Context) {
	loop := r.cfg.Workload.Closed(r.cfg.Seed)
	end := vtime.At(r.cfg.For)
	ctx, cancel := context.WithTimeout(ctx, r.cfg.For+r.cfg.Patience)
	defer cancel()
	var turn sync.Mutex // clients draw in order
	var workers sync.WaitGroup
	for c := range loop.Clients() {
		workers.Go(func() {
			var op lab.Op
			for ctx.Err() == nil {
				turn.Lock()
				ok := loop.Begin(c, r.now(), &op.Op)
				turn.Unlock()
				if !ok || op.At >= end {
					return
				}
				if wait := op.At.Sub(r.now()); wait > 0 {
					select {
					case <-ctx.Done():
						return
					case <-time.After(wait):
					}
				}
				if op.Kind.Writes() {
					op.Seq = r.seq.Add(1)
				}
				r.mu.Lock()
				r.out.Asked = append(r.out.Asked, op.At)
				r.mu.Unlock()
				r.do(ctx, c, &op)
			}
		})
	}
	workers.Wait()
}

// do performs an operation and counts it.
func (r *run) do(ctx context.Context, conn int, op *lab.Op) {
	if ctx.Err() != nil {
		return
	}
	if r.cfg.Remember && op.Kind.Writes() {
		r.mu.Lock()
		k := r.out.Keys[op.Key]
		k.Issued = op.Seq
		r.out.Keys[op.Key] = k
		r.mu.Unlock()
	}
	err := r.cfg.Server.Do(ctx, conn, op)
	took := r.now().Sub(op.At)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			r.failed(err)
		}
		return
	}
	r.done++
	if len(r.out.Operations) >= operationsMax {
		r.fatal = fmt.Errorf("more than %d operations: run for a shorter time", operationsMax)
		r.cancel()
		return
	}
	r.out.Operations = append(r.out.Operations, Operation{op.At, took, op.Kind.Writes()})
	_ = r.second.RecordValue(min(int64(took/time.Microsecond), 3_600_000_000)) // in range
	if r.cfg.Remember && op.Kind.Writes() {
		k := r.out.Keys[op.Key]
		k.Acknowledged = op.Seq
		r.out.Keys[op.Key] = k
	}
}

// failed counts an error, and ends the run where there are too many.
func (r *run) failed(err error) {
	r.out.Failed++
	text := err.Error()
	if _, ok := r.out.Errors[text]; ok || len(r.out.Errors) < errorsShown {
		r.out.Errors[text]++
	}
	if r.out.Failed >= errorsLeast && r.out.Failed*errorsShare > r.done && r.fatal == nil {
		r.fatal = fmt.Errorf("%d of %d operations failed: %w", r.out.Failed, r.done+r.out.Failed, err)
		r.cancel()
	}
}

// tell reports progress each second until it is stopped.
func (r *run) tell() (stop func()) {
	if r.cfg.Progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
			}
			r.mu.Lock()
			n, p99 := r.done, time.Duration(r.second.ValueAtQuantile(99))*time.Microsecond
			r.second.Reset()
			r.mu.Unlock()
			r.cfg.Progress(time.Since(r.began), n, p99)
		}
	})
	return func() { close(done); wg.Wait() }
}
