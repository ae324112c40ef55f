//go:build linux

// Package trace runs a trace: it resolves the target, attaches the eBPF programs, explains each
// slow call once it has ended, and sums up the results.
package trace

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/trace/chain"
	"plimsoll/internal/trace/events"
	"plimsoll/internal/trace/target"
	"plimsoll/internal/trace/tracer"
)

// Options configures a trace.
type Options struct {
	Target target.Choice
	For    time.Duration
	Slower time.Duration
	// Keep collects the events so that they can be saved.
	Keep bool
	// Background reports whether a process, by its command line, does work that no client waits for: its calls
	// are left out of the report. nil: none does.
	Background func(commandLine string) bool
	// Progress is called at least twice a second with the elapsed share of the time, from 0 to 1,
	// and the slow calls so far; it may be nil.
	Progress func(done float64, slow int, waited time.Duration)
	// Each is called for each slow call with the time at which it ended; it may be nil.
	Each func(c *chain.Chain, end time.Time)
	// Started is called once with the attached programs; it may be nil. Tests use it to detach and
	// reattach them and so measure what a trace costs.
	Started func(*tracer.Tracer)
}

// A Result holds the report and, if Options.Keep was set, the events.
type Result struct {
	Report *chain.Report
	Events *events.Batch
	Window *chain.Window
}

const (
	// settle is the delay between a call's end and its explanation, so that all its events have
	// arrived.
	settle = 300 * time.Millisecond
	// refresh is the interval at which the target is checked for new processes and disks.
	refresh = time.Second
)

// A session is a running trace.
type session struct {
	opt    Options
	header events.Header
	probe  *tracer.Tracer
	window *chain.Window
	tally  *chain.Tally
	// rings means that the target uses io_uring, byDevice that calls of all processes are traced.
	rings, byDevice bool

	background map[uint32]bool // what Background said of each process

	notes []string
	keep  events.Batch

	pending    []events.Call
	since      map[uint32]int64 // when each file system was first watched
	early      int              // slow calls that began before that
	foreign    map[uint32]bool  // devices of files on file systems that are not watched
	rescanAll  chan struct{}    // requests an immediate scan of the whole target
	rescanNew  chan struct{}    // requests a scan for new processes
	lastRescan int64            // when a scan was last requested
	known      map[uint32]bool  // processes whose files were scanned; owned by run's goroutine
	groups     map[uint32]bool
}

// Available reports why this kernel or user cannot trace; nil if tracing is possible.
func Available() error { return tracer.Available() }

// Run traces until the time is up or the context is canceled, which is not an error.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := tracer.Available(); err != nil {
		return nil, err
	}

	found, err := target.Find(opt.Target)
	if err != nil {
		return nil, err
	}

	tracing := &session{opt: opt, rings: found.Rings, byDevice: found.ByDevice, notes: found.Notes,
		tally: chain.NewTally(), groups: map[uint32]bool{}, background: map[uint32]bool{},
		since: map[uint32]int64{}, foreign: map[uint32]bool{}, known: map[uint32]bool{},
		rescanAll: make(chan struct{}, 1), rescanNew: make(chan struct{}, 1)}

	tracing.header = events.Header{Target: opt.Target.String(), Folders: found.Folders, Kernel: kernel(),
		Slower: opt.Slower, Disks: found.Disks, Mounts: found.Mounts}
	tracing.window = chain.NewWindow(&tracing.header)
	p, err := tracer.Start(tracer.Config{Slower: opt.Slower, ByDevice: found.ByDevice, All: opt.Keep})
	if err != nil {
		return nil, err
	}

	tracing.probe, tracing.header.Missing = p, p.Missing
	defer func() { _ = p.Close() }() // the kernel does the same when the process exits

	if err := tracing.watch(found); err != nil {
		return nil, err
	}

	if opt.Started != nil {
		opt.Started(p)
	}

	tracing.header.Began, tracing.header.BeganNs = time.Now(), tracer.Clock()

	// Pages dirtied before the trace began have no events, so the current writers are read from
	// /proc.
	tracing.add(&events.Batch{Files: target.Writers(found.Mounts, tracing.header.BeganNs)})
	if err := tracing.run(ctx); err != nil {
		return nil, err
	}

	return tracing.result()
}

func (s *session) watch(f *target.Found) error {
	for _, p := range f.Processes {
		s.known[p] = true
	}

	var disks, systems []uint32
	for _, d := range f.Disks {
		disks = append(disks, d.Dev)
	}

	for _, m := range f.Mounts {
		systems = append(systems, m.Dev)
	}

	if err := s.probe.Watch(f.Processes, disks, systems); err != nil {
		return err
	}

	now := tracer.Clock()
	for _, m := range systems {
		if since, known := s.since[m]; !known || since == unwatched {
			s.since[m] = now
		}
	}

	return nil
}

// unwatched marks a file system that is not watched yet: later than any call.
const unwatched = math.MaxInt64

func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.For)
	defer cancel()
	var mu sync.Mutex
	var gone bool
	var again sync.WaitGroup
	again.Go(func() {
		for s.pause(ctx) {
			found, err := target.FindMore(s.opt.Target, s.known)
			mu.Lock()
			if gone = err != nil; gone {
				cancel() // report what was traced so far
			} else {
				s.extend(found)
			}
			mu.Unlock()
		}
	})

	err := s.probe.Run(ctx, func(b *events.Batch) {
		mu.Lock()
		defer mu.Unlock()
		s.add(b)
		now := tracer.Clock()
		s.explain(now - settle.Nanoseconds())

		// Scanning piggybacks on this wakeup, because waking up costs more than scanning.
		if now-s.lastRescan >= refresh.Nanoseconds() {
			s.lastRescan = now
			request(s.rescanNew)
		}

		if s.opt.Progress != nil {
			n, waited := s.tally.Slow()
			s.opt.Progress(float64(now-s.header.BeganNs)/float64(s.opt.For), n, waited)
		}
	})

	cancel()
	again.Wait()
	if gone {
		s.notes = append(s.notes, s.header.Target+" ended during the trace")
	}

	// No more events will arrive, so the calls that were still settling can be explained now.
	s.header.Lasted = time.Duration(tracer.Clock() - s.header.BeganNs)
	s.explain(1<<63 - 1)
	return err
}

// pause waits until the target should be scanned again; it returns false once the trace is over.
func (s *session) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.rescanNew:
	case <-s.rescanAll:
		// A known process may have opened files on another file system.
		clear(s.known)
	}
	return ctx.Err() == nil
}

// request signals the receiver unless a signal is already pending.
func request(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// extend adds the disks, file systems and processes that a scan found.
func (s *session) extend(f *target.Found) {
	for _, d := range f.Disks {
		if s.header.Disk(d.Dev) == nil {
			s.header.Disks = append(s.header.Disks, d)
		}
	}
	for _, m := range f.Mounts {
		if s.header.Mount(m.Dev) == nil {
			s.header.Mounts = append(s.header.Mounts, m)
		}
	}
	if err := s.watch(f); err != nil {
		s.header.Cut = true
	}
	s.unfound(tracer.Clock())
}

// unfound starts the clock for file systems that a scan of the target did not find. Their calls are
// explained from now on, if their requests are visible.
func (s *session) unfound(now int64) {
	for dev, since := range s.since {
		if since == unwatched {
			s.since[dev] = now
		}
	}
}

// explain explains the calls that ended before a time.
func (s *session) explain(before int64) {
	rest := s.pending[:0]
	for i := range s.pending {
		call := &s.pending[i]
		if call.Exit > before {
			rest = append(rest, *call)
			continue
		}

		if call.Enter < s.since[call.File.Dev] {
			s.early++ // its requests were not traced
			continue
		}

		if s.opt.Keep && !s.header.Cut {
			s.keep.Calls = append(s.keep.Calls, *call)
		}

		// The call is still explained, but the report says that events are missing.
		if !s.window.Whole(call) {
			s.header.Cut = true
		}

		x := s.window.Explain(call)
		if s.header.Elsewhere(x.File) {
			continue
		}

		if s.isBackground(call.PID) {
			s.tally.Leave(&x)
			continue
		}

		if s.tally.Draws(&x) {
			x.Queue = s.window.Queue(call)
		}

		s.tally.Add(x)
		if s.opt.Each != nil {
			s.opt.Each(&x, s.header.Clock(call.Exit))
		}
	}

	s.pending = rest
	if before < 1<<62 {
		s.window.Forget(before)
	}
}

func (s *session) result() (*Result, error) {
	var err error
	if s.header.Totals, err = s.probe.Totals(); err != nil {
		return nil, err
	}

	r := s.tally.Report(&s.header)
	if note := s.ringNote(); note != "" {
		s.notes = append(s.notes, note)
	}
	r.Notes = append(s.notes, r.Notes...)

	if s.early > 0 {
		r.Notes = append(r.Notes,
			fmt.Sprintf("left out %d slow calls that began before their file system was watched: the target had not used it until then",
				s.early))
	}

	return &Result{Report: r, Events: &s.keep, Window: s.window}, nil
}

// ringNote describes the operations submitted through io_uring, if the kernel shows them; "" if
// there were none.
func (s *session) ringNote() string {
	const unseen = "not traced as calls; their requests are, for example as requests ahead of other calls"
	if !s.probe.CountsRings() {
		if s.rings {
			return "it uses io_uring: syncs, writes and reads submitted there are " + unseen
		}
		return ""
	}

	n := &s.header.Totals.Counts
	syncs, writes, reads := n[events.Fsync].Rings+n[events.SyncFileRange].Rings, n[events.Write].Rings,
		n[events.Read].Rings
	if syncs+writes+reads == 0 {
		return ""
	}

	who := "it"
	if s.byDevice {
		who = "programs on this machine"
	}

	return fmt.Sprintf("%s submitted %d syncs, %d writes and %d reads through io_uring: they are %s", who, syncs,
		writes, reads, unseen)
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
