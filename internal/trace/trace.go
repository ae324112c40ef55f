//go:build linux

// Package trace runs a trace: it finds the target, attaches the eBPF programs, explains each slow
// call as it ends, and adds the calls up.
package trace

import (
	"context"
	"strings"
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
	// Progress is called several times a second with how much of the time is over, from 0 to 1, and
	// the slow calls until now; nil is allowed.
	Progress func(done float64, slow int, waited time.Duration)
	// Each is called with each slow call and when it ended; nil is allowed.
	Each func(c *chain.Chain, end time.Time)
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
	prefix string
	notes  []string
	keep   events.Batch

	pending []events.Call
	groups  map[uint32]bool
	other   int // slow calls on other folders of the same file system
}

// Run traces until the time is over or the context ends, which is no error.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := probe.Available(); err != nil {
		return nil, err
	}
	found, err := target.Find(opt.Target)
	if err != nil {
		return nil, err
	}
	s := &session{opt: opt, prefix: found.Prefix, notes: found.Notes, tally: chain.NewTally(), groups: map[uint32]bool{}}
	s.header = events.Header{Target: opt.Target.String(), Kernel: kernel(), Slower: opt.Slower, Disks: found.Disks, Mounts: found.Mounts}
	s.window = chain.NewWindow(&s.header)
	p, err := probe.Start(probe.Config{Slower: opt.Slower, ByDevice: found.ByDevice})
	if err != nil {
		return nil, err
	}
	s.probe, s.header.Missing = p, p.Missing
	defer func() { _ = p.Close() }() // the process's end does the same
	if err := s.watch(found); err != nil {
		return nil, err
	}
	s.header.Began, s.header.BeganNs = time.Now(), probe.Clock()
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s.result()
}

func (s *session) watch(f *target.Found) error {
	var disks, systems []uint32
	for _, d := range f.Disks {
		disks = append(disks, d.Dev)
	}
	for _, m := range f.Mounts {
		systems = append(systems, m.Dev)
	}
	return s.probe.Watch(f.Processes, disks, systems)
}

func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.For)
	defer cancel()
	var mu sync.Mutex
	var gone bool
	var again sync.WaitGroup
	again.Go(func() {
		tick := time.NewTicker(refresh)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			found, err := target.Find(s.opt.Target)
			mu.Lock()
			gone = err != nil
			if err == nil {
				s.extend(found)
			}
			mu.Unlock()
			if gone {
				cancel() // what was seen until now counts
			}
		}
	})
	err := s.probe.Run(ctx, func(b *events.Batch) {
		mu.Lock()
		defer mu.Unlock()
		s.take(b)
		now := probe.Clock()
		s.explain(now - settle.Nanoseconds())
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
}

// take adds events to the window.
func (s *session) take(b *events.Batch) {
	for i := range b.Files {
		f := &b.Files[i]
		if !s.groups[f.PID] && len(s.groups) < groupsMax {
			s.groups[f.PID] = true
			f.Group = target.Group(f.PID)
		}
	}
	s.window.Add(b)
	s.pending = append(s.pending, b.Calls...)
	if !s.opt.Keep || s.header.Cut {
		return
	}
	if s.keep.Len()+b.Len() > events.EventsMax {
		s.header.Cut = true
		return
	}
	s.keep.Append(b)
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
		x := s.window.Explain(c)
		if s.prefix != "" && x.File != "" && !strings.HasPrefix(x.File, s.prefix+"/") {
			s.other++
			continue
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
	if s.window.Cut {
		s.header.Cut = true
	}
	return &Result{Report: r, Events: &s.keep, Window: s.window}, nil
}

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
