package plan

import (
	"context"
	"slices"
	"sync"

	"plimsoll/internal/model/scenario"
)

// earlyRuns are runs on idle workers that are certain to be needed, for bounds that are not known
// yet: those of the second and third layout that more money buys, while the first of them runs.
type earlyRuns struct {
	first chan struct{} // closed when that one has begun: it is more urgent
	once  sync.Once
	runs  []*earlyRun
}

type earlyRun struct {
	aheadRun

	mu    sync.Mutex
	taken bool // it is too late to begin
}

// early prepares them; nil if there are no workers for them.
func (p *planner) early(ctx context.Context, candidates []*candidate) *earlyRuns {
	if p.opt.workers() < 2 || p.opt.unbounded {
		return nil
	}
	all := &earlyRuns{first: make(chan struct{})}
	for _, c := range candidates {
		ctx, cancel := context.WithCancel(ctx)
		r := &earlyRun{aheadRun: aheadRun{cancel: cancel, done: make(chan struct{})}}
		r.job = job{candidate: c, later: r.bounds.Load}
		all.runs = append(all.runs, r)
		p.ahead.all.Go(func() {
			defer close(r.done)
			defer cancel()
			select {
			case <-all.first:
			case <-ctx.Done():
				return
			}
			if p.sim.slots.takeIdle(ctx) != nil {
				return
			}
			defer p.sim.slots.give()
			if r.begin() {
				r.job.outcome = p.sim.toEnd(ctx, &r.job)
			}
		})
	}
	return all
}

// begin lets them begin.
func (all *earlyRuns) begin() {
	if all != nil {
		all.once.Do(func() { close(all.first) })
	}
}

// begin reports whether the run is not too late.
func (r *earlyRun) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = !r.taken
	return r.begun
}

// take returns the run of a layout if it has begun, and tells it its bounds.
func (all *earlyRuns) take(c *candidate, bounds []scenario.Bound) *aheadRun {
	if all == nil {
		return nil
	}
	i := slices.IndexFunc(all.runs, func(r *earlyRun) bool { return slices.Equal(r.job.candidate.choice, c.choice) })
	if i < 0 {
		return nil
	}
	r := all.runs[i]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken = true; !r.begun {
		r.cancel()
		return nil
	}
	if bounds != nil {
		r.bounds.Store(&bounds)
	}
	return &r.aheadRun
}

// giveUp ends those that nobody waits for any more.
func (all *earlyRuns) giveUp() {
	if all == nil {
		return
	}
	for _, r := range all.runs {
		r.cancel()
	}
}
