//go:build linux

// Package trace runs a trace: it finds the target, attaches the eBPF programs, explains each slow
// call as it ends, and adds the calls up.
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
	"plimsoll/internal/trace/probe"
	"plimsoll/internal/trace/target"
)

// Options say what to trace, and for how long.
type Options struct {
	Target target.Choice
	For    time.Duration
	Slower time.Duration
	// Keep collects the events, for a file.
	Keep bool
	// Progress is called at least twice a second with how much of the time is over, from 0 to 1, and
	// the slow calls until now; nil is allowed.
	Progress func(done float64, slow int, waited time.Duration)
	// Each is called with each slow call and when it ended; nil is allowed.
	Each func(c *chain.Chain, end time.Time)
	// Started is called once with the attached programs; nil is allowed. What a trace costs is measured
	// by detaching and attaching them in turn.
	Started func(*probe.Probe)
}

// A Result is a report, and the events if they were to be kept.
type Result struct {
	Report *chain.Report
	Events *events.Batch
	Window *chain.Window
}

const (
	// settle is how long after a call's end it is explained, so that all events have come.
	settle = 300 * time.Millisecond
	// refresh is how often new processes and disks of the target are looked for.
	refresh = time.Second
)

// A session is a trace that runs.
type session struct {
	opt    Options
	header events.Header
	probe  *probe.Probe
	window *chain.Window
	tally  *chain.Tally
	// rings says that the target uses io_uring, byDevice that the targets are all processes.
	rings, byDevice bool

	notes []string
	keep  events.Batch

	pending []events.Call
	since   map[uint32]int64 // when each file system began to be watched
	early   int              // slow calls that began before
	foreign map[uint32]bool  // devices of files that are on no watched file system
	look    chan struct{}    // asks for a look at the whole target at once
	due     chan struct{}    // asks for one at what is new
	looked  int64            // when it was asked for last
	garbage garbage
	known   map[uint32]bool // processes whose files were looked at; of run's goroutine
	groups  map[uint32]bool
}

// Available says why this kernel or this user cannot trace; nil if it can.
func Available() error { return probe.Available() }

// Run traces until the time is over or the context ends, which is no error.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := probe.Available(); err != nil {
		return nil, err
	}

	found, err := target.Find(opt.Target)
	if err != nil {
		return nil, err
	}

	s := &session{opt: opt, rings: found.Rings, byDevice: found.ByDevice, notes: found.Notes,
		tally: chain.NewTally(), groups: map[uint32]bool{},
		since: map[uint32]int64{}, foreign: map[uint32]bool{}, known: map[uint32]bool{},
		look: make(chan struct{}, 1), due: make(chan struct{}, 1)}

	s.header = events.Header{Target: opt.Target.String(), Folders: found.Folders, Kernel: kernel(),
		Slower: opt.Slower, Disks: found.Disks, Mounts: found.Mounts}
	s.window = chain.NewWindow(&s.header)
	p, err := probe.Start(probe.Config{Slower: opt.Slower, ByDevice: found.ByDevice, All: opt.Keep})
	if err != nil {
		return nil, err
	}

	s.probe, s.header.Missing = p, p.Missing
	defer func() { _ = p.Close() }() // the process's end does the same
	defer s.garbage.restore()

	if err := s.watch(found); err != nil {
		return nil, err
	}

	if opt.Started != nil {
		opt.Started(p)
	}

	s.header.Began, s.header.BeganNs = time.Now(), probe.Clock()
	s.take(&events.Batch{Files: target.Writers(found.Mounts, s.header.BeganNs)})
	if err := s.run(ctx); err != nil {
		return nil, err
	}

	return s.result()
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

	now := probe.Clock()
	for _, m := range systems {
		if since, known := s.since[m]; !known || since == unwatched {
			s.since[m] = now
		}
	}

	return nil
}

// unwatched is the time since which a file system is watched, until it is.
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
				cancel() // what was seen until now counts
			} else {
				s.extend(found)
			}
			mu.Unlock()
		}
	})

	err := s.probe.Run(ctx, func(b *events.Batch) {
		mu.Lock()
		defer mu.Unlock()
		s.take(b)
		now := probe.Clock()
		s.explain(now - settle.Nanoseconds())

		if now-s.looked >= refresh.Nanoseconds() {
			s.looked = now
			ask(s.due) // while this process runs anyway: to wake up costs more than to look
			s.garbage.adapt()
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

	s.header.Lasted = time.Duration(probe.Clock() - s.header.BeganNs)
	s.explain(1<<63 - 1)
	return err
}

// pause waits until it is time to look at the target again; false if the trace is over.
func (s *session) pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.due:
	case <-s.look:
		clear(s.known)
	}
	return ctx.Err() == nil
}

// ask asks whoever waits, unless that is done already.
func ask(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// extend takes what has come since the last look.
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
	s.unfound(probe.Clock())
}

// unfound has what a look at the target did not find explained from now on, as far as its requests are seen.
func (s *session) unfound(now int64) {
	for dev, since := range s.since {
		if since == unwatched {
			s.since[dev] = now
		}
	}
}

// take adds events to the window.
func (s *session) take(b *events.Batch) {
	for i := range b.Requests {
		s.group(b.Requests[i].Task, b)
	}

	for i := range b.Calls {
		s.group(b.Calls[i].Task, b)
	}

	for i := range b.Handles {
		s.group(b.Handles[i].Task, b)
	}

	for i := range b.Waits {
		s.group(b.Waits[i].Waker, b) // it may have held a lock
	}

	for _, f := range b.Files[:len(b.Files):len(b.Files)] {
		if f.Dirtied && f.Group == "" {
			s.group(f.Task, b)
		}
	}

	s.below(b)
	s.window.Add(b)

	for i := range b.Calls {
		s.strange(b.Calls[i].File.Dev)
	}

	s.pending = append(s.pending, b.Calls...)
	if !s.opt.Keep || s.header.Cut {
		return
	}

	if s.keep.Len()+b.Len() > events.EventsMax {
		s.header.Cut = true
		return
	}

	kept := *b
	kept.Calls = nil // they are kept as they are explained
	s.keep.Append(&kept)
}

// below replaces an overlay's files by those that they are on the file system below: requests and
// commits are there. Their names stay the overlay's.
func (s *session) below(b *events.Batch) {
	for i := range b.Files {
		f := &b.Files[i]
		if m := s.header.Mount(f.ID.Dev); m != nil && m.Below != 0 {
			f.Path, f.ID.Dev = m.Name(f.Names), m.Below
		}
	}
	for i := range b.Calls {
		if m := s.header.Mount(b.Calls[i].File.Dev); m != nil && m.Below != 0 {
			b.Calls[i].File.Dev = m.Below
		}
	}
}

// strange asks for a look at the target if a call was on a file system that is not known.
func (s *session) strange(dev uint32) {
	if dev == 0 || s.foreign[dev] || s.header.Mount(dev) != nil || len(s.foreign) >= groupsMax {
		return
	}
	s.foreign[dev], s.since[dev] = true, unwatched
	ask(s.look)
}

// group adds the name and the cgroup of a process that was not seen before.
func (s *session) group(t events.Task, b *events.Batch) {
	if t.PID == 0 || s.groups[t.PID] || len(s.groups) >= groupsMax {
		return
	}
	s.groups[t.PID] = true
	first := events.Task{PID: t.PID, TID: t.PID, Comm: target.Name(t.PID)}
	if g := target.Group(t.PID); g != "" || first.Comm != "" {
		b.Files = append(b.Files, events.File{Task: first, Group: g})
	}
}

// groupsMax bounds the processes whose cgroups are looked up.
const groupsMax = 10_000

// explain explains the calls that ended before a time.
func (s *session) explain(before int64) {
	rest := s.pending[:0]
	for i := range s.pending {
		c := &s.pending[i]
		if c.Exit > before {
			rest = append(rest, *c)
			continue
		}

		if c.Enter < s.since[c.File.Dev] {
			s.early++ // its requests were not seen
			continue
		}

		if s.opt.Keep && !s.header.Cut {
			s.keep.Calls = append(s.keep.Calls, *c)
		}

		if !s.window.Whole(c) {
			s.header.Cut = true
		}

		x := s.window.Explain(c)
		if s.header.Elsewhere(x.File) {
			continue
		}

		if s.tally.Draws(&x) {
			x.Queue = s.window.Queue(c)
		}

		s.tally.Add(x)
		if s.opt.Each != nil {
			s.opt.Each(&x, s.header.Clock(c.Exit))
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
	r.Notes = s.notes
	if note := s.ringNote(); note != "" {
		r.Notes = append(r.Notes, note)
	}

	if s.early > 0 {
		r.Notes = append(r.Notes,
			fmt.Sprintf("%d slow calls are left out: they were on a file system that the target had not used before, and began before it was watched",
				s.early))
	}

	return &Result{Report: r, Events: &s.keep, Window: s.window}, nil
}

// ringNote says what was handed over to io_uring, as far as the kernel shows it; "" if nothing was.
func (s *session) ringNote() string {
	const unseen = "not seen as calls; their requests are seen, as in front of other calls"
	if !s.probe.CountsRings() {
		if s.rings {
			return "it uses io_uring: syncs, writes and reads that it hands over there are " + unseen
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

	return fmt.Sprintf("%s handed %d syncs, %d writes and %d reads over to io_uring: they are %s", who, syncs,
		writes, reads, unseen)
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
