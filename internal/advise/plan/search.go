package plan

import (
	"context"
	"errors"
	"slices"
	"sync"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// An outcome is the result for a candidate.
type outcome struct {
	*candidate
	met      bool
	passed   bool   // false: the scenario's checks refuse it, so it is not a layout
	pruned   bool   // rejected without a run
	repeated bool   // also rejected without a run, because another layout's was the same
	reason   string // why it was rejected
	// saturated: only its machine's processor keeps it from meeting the objectives.
	saturated bool
	result    *simulate.Result
	more      []scenario.Set        // assignments beside the candidate's
	missed    *simulate.MissedError // not nil: its run was ended because it misses this
	twin      *twin                 // of a rejected run: what makes others repeat it
	problem   error                 // no answer is possible: the search ends
}

// An evaluator determines what a candidate does. prune is called first, for one candidate at a
// time, and costs little; run is called concurrently. counts is called for the outcomes of runs, in
// the order of the search. It reports whether a search with one worker would have made this run
// too, or whether prune would have known by then that it repeats another. hopeful says whether a
// candidate that is being run is likely to meet the objective, so that what comes after it is
// better left until that is known.
type evaluator interface {
	prune(c *candidate) *outcome
	run(ctx context.Context, c *candidate) *outcome
	counts(o *outcome) bool
	hopeful(c *candidate) bool
}

// A searched is the result of a search.
type searched struct {
	chosen   *outcome // nil: none met
	rejected []*outcome
	runs     int
	complete bool // every layout before the chosen one, or all, were decided
}

// aheadMax is how many candidates may wait for an earlier one; most of them are rejected without a
// run.
const aheadMax = 256

// search goes through a space in the order of preference and ends at the first layout that meets
// the objective, which is the most preferred of all that do. It runs as many candidates
// concurrently as there are workers; their outcomes count in order, so that the answer is that of
// one worker. most bounds the runs whose outcomes count.
func search(ctx context.Context, space *Space, e evaluator, workers, most int, tell func(runs int, at dollars)) (*searched, error) {
	ctx, cancel := context.WithCancel(ctx)
	q := &queue{space: space, evaluator: e, walk: space.walk(), workers: max(workers, 1), overloaded: map[string]string{}}
	// Wait for runs that were started and do not count: they must not outlive the search.
	defer func() {
		cancel()
		q.drain()
	}()
	s := &searched{}
	for {
		q.fill(ctx, most-s.runs)
		if len(q.pending) == 0 {
			s.complete = q.next == nil
			return s, nil
		}
		o, run := q.pop()
		if o.problem != nil {
			if errors.Is(o.problem, context.Canceled) && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, o.problem
		}
		why, overloaded := q.overloaded[space.machine(o.choice)]
		switch {
		case o.passed || o.pruned:
		case overloaded: // as with one worker, which does not run it
			o = &outcome{candidate: o.candidate, repeated: true, reason: why}
		case !run:
		case e.counts(o):
			s.runs++
			if tell != nil {
				tell(s.runs, o.price)
			}
		default: // as if prune had rejected it
			o.repeated, o.result = true, nil
		}
		if o.saturated && !o.repeated {
			q.overloaded[space.machine(o.choice)] = o.reason
		}
		switch {
		case o.met:
			s.chosen, s.complete = o, true
			return s, nil
		case !o.passed:
			s.rejected = append(s.rejected, o)
		}
	}
}

// A queue holds, in order, the candidates that were started and whose outcome does not count yet.
type queue struct {
	space     *Space
	evaluator evaluator
	walk      *walk
	workers   int
	// comes next, but needs a run that may be one too many; nil: take the next of the walk
	next    *candidate
	pending []pending
	running int
	// overloaded are machines whose processor is saturated by the load, with the reason: other
	// volumes do not change that.
	overloaded map[string]string
}

type pending struct {
	*candidate
	done chan *outcome
	run  bool
}

// fill starts candidates while a worker is free and no more runs are in progress than may count.
func (q *queue) fill(ctx context.Context, most int) {
	for q.running < q.workers && len(q.pending) < aheadMax && !q.hopeful() {
		if q.next == nil {
			if q.next = q.walk.next(); q.next == nil {
				return
			}
		}
		c := q.next
		p := pending{candidate: c, done: make(chan *outcome, 1)}
		o := q.evaluator.prune(c)
		if why, overloaded := q.overloaded[q.space.machine(c.choice)]; o == nil && overloaded {
			o = &outcome{candidate: c, repeated: true, reason: why}
		}
		switch {
		case o != nil:
			p.done <- o
		case q.running >= most:
			return
		default:
			p.run = true
			q.running++
			go func() { p.done <- q.evaluator.run(ctx, c) }()
		}
		q.pending, q.next = append(q.pending, p), nil
	}
}

// hopeful reports whether a candidate that runs is likely to be the last.
func (q *queue) hopeful() bool {
	return slices.ContainsFunc(q.pending, func(p pending) bool { return p.run && q.evaluator.hopeful(p.candidate) })
}

// pop waits for the first outcome and reports whether it was run.
func (q *queue) pop() (o *outcome, run bool) {
	p := q.pending[0]
	q.pending = q.pending[1:]
	if p.run {
		q.running--
	}
	return <-p.done, p.run
}

// drain waits for the runs in progress.
func (q *queue) drain() {
	for len(q.pending) > 0 {
		q.pop()
	}
}

// neighbours returns the layouts that differ in a single axis and are preferred, the most preferred
// first.
func (s *Space) neighbours(of *candidate) []*candidate {
	var out []*candidate
	for i := range s.axes {
		for k := range s.axes[i].options {
			if k == of.choice[i] {
				continue
			}
			choice := slices.Clone(of.choice)
			choice[i] = k
			if s.axes[i].setting && s.changed(choice) > s.atOnce {
				continue
			}
			c := s.candidate(choice, choice, s.price(choice))
			// The grid's order is only defined for whole spaces, so layouts that it alone
			// distinguishes count as equal here.
			if c.ordinal = of.ordinal; c.before(of) < 0 {
				c.ordinal = len(out)
				out = append(out, &c)
			}
		}
	}
	slices.SortFunc(out, (*candidate).before)
	return out
}

// changed is how many settings a choice changes.
func (s *Space) changed(choice []int) int {
	n := 0
	for i, k := range choice {
		if s.axes[i].setting && k > 0 {
			n++
		}
	}
	return n
}

// descend makes a layout that meets the objective cheaper, one axis at a time, until no single
// change helps or the runs are used up. It is for spaces that are too large to search: the result
// is better than its neighbours, but not proven to be the cheapest.
func descend(ctx context.Context, space *Space, e evaluator, from *outcome, workers, most int) (*outcome, error) {
	for runs := 0; runs < most; {
		better := (*outcome)(nil)
		next := space.neighbours(from.candidate)
		for len(next) > 0 && better == nil && runs < most {
			// As many concurrently as there are workers: the first that meets counts, so the answer
			// is that of one.
			var batch []*outcome
			g := sync.WaitGroup{}
			for len(next) > 0 && len(batch) < min(max(workers, 1), most-runs) {
				c := next[0]
				next = next[1:]
				o := e.prune(c)
				switch {
				case o == nil:
					o = &outcome{}
					g.Go(func() { *o = *e.run(ctx, c) })
				case !o.repeated:
					continue
				}
				batch = append(batch, o)
			}
			g.Wait()
			for _, o := range batch {
				if o.problem != nil {
					return nil, o.problem
				}
				if runs++; o.met && better == nil {
					better = o
				}
			}
		}
		if better == nil {
			return from, nil
		}
		from = better
	}
	return from, nil
}
