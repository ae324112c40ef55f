package plan

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/volume"
)

// boosts are the runs of the present deployment with the most IOPS of one volume each. They come
// after the search, except for the data's: it begins beside the present deployment if the search
// waits for that and a worker is idle. It is nearly always needed, whatever is chosen, and what it
// comes to does not depend on when it began. A log's IOPS mostly decide nothing, so that its run
// would repeat the deployment's.
type boosts struct {
	p    *planner
	ctx  context.Context
	now  *decision // whether the present deployment meets the objectives
	all  []*boost
	idle sync.WaitGroup
}

type boost struct {
	job
	begun atomic.Bool
	done  chan struct{} // closed when its outcome is known

	asked, same bool // whether it was examined that it repeats the present deployment's run, and does
}

func (p *planner) boosts(ctx context.Context, now *decision) *boosts {
	b := &boosts{p: p, ctx: ctx, now: now}
	for _, j := range p.mostIOPS() {
		b.all = append(b.all, &boost{job: *j, done: make(chan struct{})})
	}
	return b
}

// early begins the data's if a worker is idle.
func (b *boosts) early() {
	i := slices.IndexFunc(b.all, func(x *boost) bool { return within(x.more[0].Path, "volumes.data") })
	if i < 0 || b.p.opt.workers() < 2 || b.p.opt.unbounded {
		return
	}
	if !b.p.sim.slots.tryIdle() {
		return
	}
	b.idle.Go(func() {
		defer b.p.sim.slots.give()
		if x := b.all[i]; x.begun.CompareAndSwap(false, true) {
			defer close(x.done)
			x.placed = true
			b.simulate(x)
		}
	})
}

// work does the run of one, or waits for it if it has begun.
func (b *boosts) work(x *boost) error {
	if x.begun.CompareAndSwap(false, true) {
		defer close(x.done)
		b.simulate(x)
	} else {
		<-x.done
	}
	return x.outcome.problem
}

// simulate does the run of one, unless that would repeat the present deployment's. It ends as soon
// as it is certain to miss an objective, if the present deployment misses one too.
func (b *boosts) simulate(x *boost) {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	var missed *simulate.MissedError
	x.missed = func(m *simulate.MissedError) (goesOn bool) {
		if missed == nil { // whether it comes to another depends on how quick others are
			missed = m
		}
		return !b.decided() || b.now.met
	}
	x.progress = func(_, _ time.Duration) {
		if b.decided() && (missed != nil && !b.now.met || b.repeats(x)) {
			cancel()
		}
	}
	if !b.decided() || !b.repeats(x) {
		x.outcome = b.p.sim.toEnd(ctx, &x.job)
	}
	select {
	case <-b.now.made:
	case <-b.ctx.Done():
		x.outcome = &outcome{candidate: x.candidate, problem: b.ctx.Err()}
		return
	}
	switch {
	case b.repeats(x):
		same := *b.now.outcome
		same.more = x.more
		x.outcome = &same
	case missed != nil && !b.now.met:
		x.outcome = &outcome{candidate: x.candidate, reason: missedText(missed), missed: missed, more: x.more}
	}
}

// decided reports whether it is known that the present deployment meets the objectives, or not.
func (b *boosts) decided() bool {
	select {
	case <-b.now.made:
		return true
	default:
		return false
	}
}

// repeats reports whether one leaves the present deployment's run unchanged, given the limits that
// mattered in it.
func (b *boosts) repeats(x *boost) bool {
	if x.asked {
		return x.same
	}
	mattered := [][volume.Limits]bool(nil)
	switch now := b.now.outcome; {
	case now.missed != nil:
		mattered = now.missed.Mattered
	case now.result != nil:
		mattered = now.result.Mattered
	}
	x.asked, x.same = true, b.p.repeats(x.candidate, mattered, x.more)
	return x.same
}

// repeats reports whether assignments leave the present deployment's run unchanged, given the
// limits that mattered in it.
func (p *planner) repeats(now *candidate, mattered [][volume.Limits]bool, more []scenario.Set) bool {
	sets := p.space.sets(now.choice)
	was, err1 := p.now.With(sets...)
	is, err2 := p.now.With(append(sets, more...)...)
	if err1 != nil || err2 != nil {
		return false
	}
	a, b := twinOf(p.space, now, was), twinOf(p.space, now, is)
	if a == nil || b == nil || a.key != b.key || len(mattered) != len(a.limits) {
		return false
	}
	a.mattered = mattered
	return !p.opt.unbounded && a.repeats(b)
}
