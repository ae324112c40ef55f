package plan

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/model/scenario"
)

// An ahead runs on idle workers what is needed if a layout whose run has come far meets the
// objectives: the first of the layouts that more money buys then. If it does not, the run is given
// up. What is needed is the same with and without it, and so is the plan.
type ahead struct {
	p   *planner
	ctx context.Context // of all its runs
	all sync.WaitGroup

	mu     sync.Mutex
	now    *aheadRun // nil: none
	closed bool
}

// An aheadRun is one run ahead, for a layout that may be chosen.
type aheadRun struct {
	from   *candidate
	cancel context.CancelFunc

	begun bool // it has a worker
	job   job
	// bounds are what it must keep to be of interest, once they are known.
	bounds atomic.Pointer[[]scenario.Bound]
	done   chan struct{}
}

// of runs ahead for a layout, unless it does so for one that is preferred, whose run it would give
// up.
func (a *ahead) of(from *candidate) {
	if a == nil || a.p.opt.workers() < 2 || a.p.opt.unbounded {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.now != nil && from.before(a.now.from) >= 0 {
		return
	}
	a.giveUp()
	ctx, cancel := context.WithCancel(a.ctx)
	r := &aheadRun{from: from, cancel: cancel, done: make(chan struct{})}
	a.now = r
	a.all.Go(func() {
		defer close(r.done)
		defer cancel()
		a.run(ctx, r)
	})
}

// promising is how much of the measured time must have passed for a layout to be likely to meet the
// objectives: most of those that miss them are certain to miss before.
const promising = 0.25

// watch returns the progress of a layout's run as an option of it.
func (a *ahead) watch(from *candidate, sc *scenario.Scenario) func(done, total time.Duration) {
	if a == nil {
		return nil
	}
	enough := sc.Run.Warmup.Std() + time.Duration(promising*float64(sc.Run.Duration))
	return func(done, _ time.Duration) {
		if done >= enough {
			a.of(from)
		}
	}
}

func (a *ahead) run(ctx context.Context, r *aheadRun) {
	s := a.p.sim
	if s.slots.takeIdle(ctx) != nil {
		return
	}
	defer s.slots.give()
	next := a.p.alternatives(r.from)
	if len(next) == 0 {
		return
	}
	a.mu.Lock()
	r.begun = true
	r.job = job{candidate: next[0], later: r.bounds.Load}
	a.mu.Unlock()
	r.job.outcome = s.toEnd(ctx, &r.job)
}

// missed gives up the run for a layout that misses the objectives.
func (a *ahead) missed(from *candidate) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now != nil && a.now.from == from {
		a.giveUp()
	}
}

func (a *ahead) giveUp() {
	if a.now != nil {
		a.now.cancel()
		a.now = nil
	}
}

// take returns the run of a layout if it has begun, and tells it its bounds. No run begins after
// that.
func (a *ahead) take(c *candidate, bounds []scenario.Bound) *aheadRun {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	r := a.now
	if r == nil || !r.begun || !slices.Equal(r.job.candidate.choice, c.choice) {
		a.giveUp()
		return nil
	}
	a.now = nil
	if bounds != nil {
		r.bounds.Store(&bounds)
	}
	return r
}

// wait returns the outcome of a run.
func (r *aheadRun) wait(ctx context.Context) *outcome {
	select {
	case <-r.done:
		return r.job.outcome
	case <-ctx.Done():
		return &outcome{candidate: r.job.candidate, problem: ctx.Err()}
	}
}

// hope notes that a layout may well meet the objectives. Idle workers run ahead for it, and not what
// comes after it in the search.
func (s *simulator) hope(c *candidate) {
	s.mu.Lock()
	s.hopes[c] = true
	s.mu.Unlock()
	s.ahead.of(c)
}

// despair notes that one misses them.
func (s *simulator) despair(c *candidate) {
	s.mu.Lock()
	delete(s.hopes, c)
	s.mu.Unlock()
	s.ahead.missed(c)
}

// hopeful reports whether a layout that is running may well meet the objectives.
func (s *simulator) hopeful(c *candidate) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hopes[c]
}
