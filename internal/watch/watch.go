// Package watch diagnoses live sources continuously. It reports during an incident what diagnose
// reports afterwards, and it has already recorded what happened before.
//
// The watched database must not be affected by the watching. So nothing here waits for the watched
// disk, and the cost of each task limits how often it runs:
//
//   - Samples of the metrics that rules read go into a window in memory, and are judged there.
//     Samples older than the window are dropped.
//   - A ring on disk, if there is one, is written from a queue. If the disk is full or stalls, the
//     ring loses samples, but the window never does; this is logged once, and the ring resumes when
//     it can.
//   - Every two seconds the watch checks whether clients are waiting ([diagnose.Felt]: a handful of
//     signals). Every half minute, and soon after a stall begins, the whole pack judges the window.
//     Both happen less often if they take long, so that they use a bounded share of one core
//     ([costShare]).
//
// The log reports changes, not states: a finding appears, gets worse, improves or ends ([Tracker]);
// a stall begins and ends. States are available on request: a page, a report as JSON, metrics
// ([Watch.Handler]). They distinguish what holds for the window from what holds now. A mark
// ([Watch.Mark]) records that something was changed.
//
// Time is taken from the samples: the newest sample is now. Setting the clock back during a watch
// has no effect.
package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/identity"
	"plimsoll/internal/record/recording"
)

const (
	// feltEvery is how often the watch checks whether clients are waiting.
	feltEvery = 2 * time.Second
	// feltMax is the longest interval between these checks.
	feltMax = 6 * time.Second
	// afterBegin is the delay between the beginning of a stall and its diagnosis: several seconds
	// of it show more than the first.
	afterBegin = 6 * time.Second
	// costShare is the pause before the next diagnosis, as a multiple of the last one's CPU time:
	// half a percent of a core. feltShare is the same for the check whether clients are waiting, at
	// half the cost.
	costShare = 200
	feltShare = 400
	// A source is reported as silent if it delivers no samples for silentPeriods of its periods,
	// and at least for silentAfter.
	silentPeriods = 5
	silentAfter   = 10 * time.Second
	// unjudgedAfter is how long nothing can be judged before this is reported.
	unjudgedAfter = time.Minute
)

// A Watch is one run of watching. Create one with [New].
type Watch struct {
	opt     Options
	feeds   []*feed
	ring    *queue // nil without one
	push    *queue // the same
	pages   pages
	tracing *Tracing // nil if not requested
	traces  *feed    // the traces' measurements; nil like tracing

	databases []*database

	mu      sync.Mutex
	state   state
	checked bool  // whether the options' check is done
	unfit   error // its result
}

// state is the current state, for requests.
type state struct {
	report    *diagnose.Report
	at        time.Time // newest sample of the window at the last diagnosis
	diagnoses int64
	failed    int64
	cost      time.Duration // CPU time of all diagnoses
	states    []State
	stallsNow []stallState // of each server
	ringBytes int64
	marks     []recording.Mark
	marked    bool // marks were set since the last diagnosis
	markSpan  time.Time
	markCount int
}

// New prepares a watch. Nothing is read before Run.
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

	watch := &Watch{opt: opt}
	var outs []*queue
	if opt.Ring != nil {
		watch.ring = newQueue(opt.Ring, ringWords, opt.Log)
		outs = append(outs, watch.ring)
	}

	if opt.Push != nil {
		watch.push = newQueue(opt.Push, pushWords, opt.Log)
		outs = append(outs, watch.push)
	}

	for _, in := range inputs {
		watch.feeds = append(watch.feeds, newFeed(in, outs, opt.Pack, opt.Log))
	}

	if opt.Tracing.Tracer != nil {
		watch.traces = newFeed(Input{Source: tracedSource{}}, outs, opt.Pack, opt.Log)
		opt.Tracing.Report = func(level slog.Level, message string, err error) {
			if err != nil {
				opt.Log.Log(context.Background(), level, message, "error", err)
				return
			}
			opt.Log.Log(context.Background(), level, message)
		}
		watch.tracing = NewTracing(opt.Tracing, watch.traces)
	}

	return watch
}

// Run watches until the context ends, which is not an error. Failures of sources and of the disk do
// not end it.
func (w *Watch) Run(ctx context.Context) error {
	var reading sync.WaitGroup
	for _, f := range w.feeds {
		reading.Go(func() { f.run(ctx) })
	}

	if w.ring != nil {
		reading.Go(func() { w.measureRing(ctx) })
		reading.Go(func() { w.readMarks(ctx) })
	}

	w.loop(ctx)
	reading.Wait()
	w.tracing.Wait()

	// Only after all writers have stopped, so that their last samples are included.
	for _, q := range []*queue{w.ring, w.push} {
		if q != nil {
			q.close()
		}
	}

	return nil
}

// schedule holds the time of the next diagnosis.
type schedule struct {
	diagnosis time.Time
	unjudged  bool // it has been logged that nothing can be judged
}

// loop alternates between checks and diagnoses.
func (w *Watch) loop(ctx context.Context) {
	begin := time.Now()
	s := schedule{diagnosis: begin.Add(min(w.opt.Every, EveryDefault))}

	pause := feltEvery
	for sleep(ctx, pause) {
		now := time.Now()
		w.silences(now)
		took := w.checkStalls(ctx, &s, now)
		// On a slow machine, check less often rather than use more CPU time.
		pause = min(max(feltEvery, feltShare*took), feltMax)
		if now.Before(s.diagnosis) && !w.justMarked() && !w.tracing.Fresh() {
			continue
		}
		took, err := w.diagnose(ctx)
		s.diagnosis = time.Now().Add(max(w.opt.Every, costShare*took))
		w.unjudged(&s, begin, err)
	}
}

// unjudged logs once why there is no diagnosis yet.
func (w *Watch) unjudged(s *schedule, begin time.Time, err error) {
	switch {
	case err == nil:
		s.unjudged = false
	case errors.Is(err, context.Canceled), s.unjudged, time.Since(begin) < unjudgedAfter:
	default:
		s.unjudged = true
		w.opt.Log.Warn("cannot diagnose anything yet", "error", err)
	}
}

// readers returns the windows, moved up to now; zero times if there are no samples at all.
func (w *Watch) readers() (in []recording.Reader, from, to time.Time) {
	for _, f := range w.feeds {
		if last := f.last(); last.After(to) {
			to = last
		}
	}

	if to.IsZero() {
		return nil, to, to
	}

	// All windows end with the newest sample of any source, so that they cover the same time.
	from = to.Add(-w.opt.Window)
	for _, f := range w.feeds {
		in = append(in, f.move(from))
	}

	if w.traces != nil && w.traces.last().After(from) {
		in = append(in, w.traces.move(from))
	}

	return in, from, to
}

// Lay puts the window of the last report's server on a grid, as the next diagnosis would judge it.
// The error is [diagnose.ErrNothing] while there are too few samples.
func (w *Watch) Lay(ctx context.Context) (*rules.Case, error) {
	in, from, to := w.readers()
	if in == nil {
		return nil, diagnose.ErrNothing
	}

	if err := w.check(ctx, in); err != nil {
		return nil, err
	}

	opt := diagnose.Options{Pack: w.opt.Pack}
	parts, err := diagnose.Servers(ctx, in, opt)
	if err != nil {
		return nil, err
	}

	if len(parts) > 0 {
		// Keep showing the same server as the last report, not whichever comes first.
		shown := parts[0]
		if r := w.Report(); r != nil && r.Server != nil {
			if i := slices.IndexFunc(parts, func(p identity.Part) bool { return p.Name == r.Server.Name }); i >= 0 {
				shown = parts[i]
			}
		}
		in = shown.Readers
	}

	opt.From, opt.To = from, to
	return diagnose.Lay(ctx, in, opt)
}

// check calls the options' check once each source has samples, and returns its result.
func (w *Watch) check(ctx context.Context, in []recording.Reader) error {
	// A source without samples may still deliver the device that an option names.
	if w.opt.Check == nil || slices.ContainsFunc(w.feeds, func(f *feed) bool { return f.last().IsZero() }) {
		return nil
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.checked {
		return w.unfit
	}

	err := w.opt.Check(ctx, in)
	if ctx.Err() != nil {
		return ctx.Err() // the check was interrupted, so it does not count
	}

	if w.checked, w.unfit = true, err; err != nil {
		next := ""
		if h, ok := err.(interface{ Hint() string }); ok {
			next = h.Hint()
		}
		w.opt.Log.Error("an option does not match any source", "error", err, "hint", next)
	}

	return w.unfit
}

// detailSlots is the resolution of the page's charts.
const detailSlots = 900

// diagnose judges the window and reports changes. It returns the CPU time used.
func (w *Watch) diagnose(ctx context.Context) (took time.Duration, err error) {
	in, from, to := w.readers()
	w.mu.Lock()

	// Judging the same samples again would give the same result.
	same := to.Equal(w.state.at)
	w.mu.Unlock()

	if same {
		return 0, nil // no new samples
	}

	_ = w.check(ctx, in) // it logs its error, and the diagnosis continues without the option
	began := w.opt.CPU()
	err = w.divide(ctx, in)
	var r *diagnose.Report
	var changes []Change

	if err == nil {
		r, changes, err = w.judge(ctx,
			diagnose.Options{Pack: w.opt.Pack, From: from, To: to, Slots: detailSlots, Marks: w.Marks(),
				Known: w.opt.Known})
	}

	took = w.opt.CPU() - began
	if err != nil {
		w.mu.Lock()
		w.state.failed++
		w.mu.Unlock()
		return took, err
	}

	w.mu.Lock()
	s := &w.state
	s.report, s.at = r, to
	s.cost += took
	s.diagnoses++
	s.states = w.tracked()
	w.mu.Unlock()

	for _, c := range changes {
		w.logChange(ctx, c)
	}

	return took, nil
}

// processCPU returns a function for the CPU time of this process, or wall-clock time if the system
// does not report it.
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

// sleep waits; it returns false if the context ended.
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
