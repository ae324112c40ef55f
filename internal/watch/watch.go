// Package watch diagnoses live sources all the time: what diagnose tells of an incident afterwards, it tells while
// the incident goes on, and it has recorded what was before.
//
// Its one idea is that watching must cost nothing that the watched would notice. So nothing here waits for the disk
// that is watched, and all work has a price that bounds how often it is done:
//
//   - Samples go into a window in memory, of the metrics that rules read, and are judged there. What is older than the window is forgotten.
//   - A ring on disk, if there is one, is written beside it from a queue. A disk that is full or stalls makes the ring lose
//     samples, never the window; it is said once, and the ring goes on when it can.
//   - Every two seconds it is looked whether clients wait right now ([diagnose.Felt]: a handful of signals). Every half minute, and
//     soon after a stall begins, the whole pack judges the window. Either is done more seldom when it takes long, so that it
//     takes a bounded part of one core ([costShare]).
//
// What is told are changes, not states: a finding appears, grows worse or better, ends ([Tracker]); a stall begins and ends. States
// are told to who asks: a page, a report as JSON, metrics ([Watch.Handler]).
//
// Time is the samples': the newest sample is now. A clock that is set back while one watches changes nothing.
package watch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The defaults of [Options].
const (
	// WindowDefault is fifteen checkpoints of MongoDB, three of PostgreSQL.
	WindowDefault = 15 * time.Minute
	EveryDefault  = 30 * time.Second
)

const (
	// feltEvery is how often it is looked whether clients wait.
	feltEvery = 2 * time.Second
	// feltMax is how seldom it is looked at most.
	feltMax = 6 * time.Second
	// afterBegin is how long after the beginning of a stall it is diagnosed: some seconds of it tell more than its first one.
	afterBegin = 6 * time.Second
	// costShare is how many times the CPU that a diagnosis took is to pass before the next one: half a percent of a core. feltShare is the
	// same of looking whether clients wait, half of that.
	costShare = 200
	feltShare = 400
	// silentAfter is how long a source gives no sample before it is said, in periods and at least.
	silentPeriods = 5
	silentAfter   = 10 * time.Second
	// unjudgedAfter is how long there is nothing that rules could judge before it is said.
	unjudgedAfter = time.Minute
)

// OneCore lets this process run on one core at a time, for what it does beside a database is not to be felt, and one is plenty; it also wakes
// fewer threads. The function it gives takes that back. An environment that sets GOMAXPROCS decides itself.
func OneCore() (back func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

// An Input is a live source and how to read it.
type Input struct {
	Source  source.Source
	Options source.Options
}

// Options say how to watch.
type Options struct {
	// Pack is what is judged by.
	Pack *rules.Pack
	// Window is the stretch of time that is diagnosed, up to now; 0 means [WindowDefault].
	Window time.Duration
	// Every is the time between two diagnoses; 0 means [EveryDefault].
	Every time.Duration
	// Ring, if not nil, keeps what is sampled. Who made it closes it, after Run.
	Ring Ring
	// Push, if not nil, takes the same, such as a receiver of remote write. Who made it closes it, after Run.
	Push recording.Writer
	// Changes takes what is found, Log what happens to the watching itself; nil means nowhere.
	Changes, Log *slog.Logger
	// Program names what serves the page: "plimsoll 1.0.0".
	Program string
	// Version is the program's, as the metrics tell it.
	Version string
	// Location is the time zone of the page; nil means UTC.
	Location *time.Location
	// CPU tells how much CPU this process has used so far, by which the work is bounded; nil asks the kernel.
	CPU func() time.Duration
}

// A Ring is a recording that bounds itself: a [recording.Disk] with Keep and KeepBytes.
type Ring interface {
	recording.Writer
	// Bytes is the size of its files.
	Bytes() (int64, error)
}

// A Watch is one run of watching. It is made by [New].
type Watch struct {
	opt     Options
	feeds   []*feed
	ring    *queue // nil without one
	push    *queue // the same
	tracker *Tracker
	stalls  *stalls
	pages   pages

	mu    sync.Mutex
	state state
}

// state is what is known now, for those who ask.
type state struct {
	report    *diagnose.Report
	at        time.Time // of the window's newest sample at the last diagnosis
	began     time.Time
	diagnoses int64
	failed    int64
	cost      time.Duration // CPU of all diagnoses
	states    []State
	stallsNow stallState
	ringBytes int64
}

// New prepares to watch. Nothing is read before Run.
func New(inputs []Input, opt Options) *Watch {
	if opt.Window <= 0 {
		opt.Window = WindowDefault
	}
	if opt.Every <= 0 {
		opt.Every = EveryDefault
	}
	if opt.CPU == nil {
		opt.CPU = processCPU()
	}
	nowhere := slog.New(slog.DiscardHandler)
	if opt.Changes == nil {
		opt.Changes = nowhere
	}
	if opt.Log == nil {
		opt.Log = nowhere
	}
	w := &Watch{opt: opt, tracker: NewTracker(), stalls: &stalls{}}
	var outs []*queue
	if opt.Ring != nil {
		w.ring = newQueue(opt.Ring, ringWords, opt.Log)
		outs = append(outs, w.ring)
	}
	if opt.Push != nil {
		w.push = newQueue(opt.Push, pushWords, opt.Log)
		outs = append(outs, w.push)
	}
	for _, in := range inputs {
		w.feeds = append(w.feeds, newFeed(in, outs, opt.Pack, opt.Log))
	}
	return w
}

// Run watches until the context ends, which is no error: sources come and go, and so does the disk.
func (w *Watch) Run(ctx context.Context) error {
	w.mu.Lock()
	w.state.began = time.Now()
	w.mu.Unlock()
	var reading sync.WaitGroup
	for _, f := range w.feeds {
		reading.Go(func() { f.run(ctx) })
	}
	if w.ring != nil {
		reading.Go(func() { w.measureRing(ctx) })
	}
	w.loop(ctx)
	reading.Wait()
	for _, q := range []*queue{w.ring, w.push} {
		if q != nil {
			q.close()
		}
	}
	return nil
}

// schedule is when what is due next.
type schedule struct {
	diagnosis time.Time
	unjudged  bool // it has been said that there is nothing to judge
}

// loop looks and judges, one after the other.
func (w *Watch) loop(ctx context.Context) {
	begin := time.Now()
	s := schedule{diagnosis: begin.Add(min(w.opt.Every, EveryDefault))}
	pause := feltEvery
	for sleep(ctx, pause) {
		now := time.Now()
		w.silences(now)
		took := w.feel(ctx, &s, now)
		pause = min(max(feltEvery, feltShare*took), feltMax)
		if now.Before(s.diagnosis) {
			continue
		}
		took, err := w.diagnose(ctx)
		s.diagnosis = time.Now().Add(max(w.opt.Every, costShare*took))
		w.unjudged(&s, begin, err)
	}
}

// unjudged says once why there is no diagnosis yet.
func (w *Watch) unjudged(s *schedule, begin time.Time, err error) {
	switch {
	case err == nil:
		s.unjudged = false
	case errors.Is(err, context.Canceled), s.unjudged, time.Since(begin) < unjudgedAfter:
	default:
		s.unjudged = true
		w.opt.Log.Warn("nothing can be diagnosed yet", "error", err)
	}
}

// readers are the windows, moved up to now; zero times if there is no sample at all.
func (w *Watch) readers() (in []recording.Reader, from, to time.Time) {
	for _, f := range w.feeds {
		if last := f.last(); last.After(to) {
			to = last
		}
	}
	if to.IsZero() {
		return nil, to, to
	}
	from = to.Add(-w.opt.Window)
	for _, f := range w.feeds {
		in = append(in, f.move(from))
	}
	return in, from, to
}

// detailSlots is how finely the page's charts are drawn.
const detailSlots = 900

// diagnose judges the window and tells what changed. It gives the CPU that took.
func (w *Watch) diagnose(ctx context.Context) (took time.Duration, err error) {
	in, from, to := w.readers()
	w.mu.Lock()
	same := to.Equal(w.state.at)
	w.mu.Unlock()
	if same {
		return 0, nil // no sample since
	}
	began := w.opt.CPU()
	r, err := diagnose.Run(ctx, in, diagnose.Options{Pack: w.opt.Pack, From: from, To: to, Slots: detailSlots})
	took = w.opt.CPU() - began
	if err != nil {
		w.mu.Lock()
		w.state.failed++
		w.mu.Unlock()
		return took, err
	}
	changes := w.tracker.Observe(to, r.Findings)
	w.mu.Lock()
	s := &w.state
	s.report, s.at = r, to
	s.cost += took
	s.diagnoses++
	s.states = w.tracker.States()
	w.mu.Unlock()
	for _, c := range changes {
		w.tell(ctx, c)
	}
	return took, nil
}

// processCPU is the CPU that this process uses; where the system does not tell, the time that passes.
func processCPU() func() time.Duration {
	if _, ok := ProcessCost(); !ok {
		begin := time.Now()
		return func() time.Duration { return time.Since(begin) }
	}
	return func() time.Duration {
		c, _ := ProcessCost()
		return c.CPU
	}
}

// sleep waits; false if the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
