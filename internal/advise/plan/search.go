package plan

import (
	"context"
	"slices"
	"sync"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// An outcome is the search's decision about a candidate.
type outcome struct {
	*candidate
	met      bool
	invalid  bool   // the scenario's checks reject it, so it does not count as a layout
	pruned   bool   // rejected by a bound, without a run
	repeated bool   // rejected because of another layout's run ([simulator.ruledOut])
	reason   string // why it was rejected
	// saturated: it would meet the objectives if its machine's processor were not saturated.
	saturated bool
	result    *simulate.Result
	more      []scenario.Set        // assignments in addition to the candidate's
	missed    *simulate.MissedError // not nil: its run ended early because it misses this bound
	problem   error                 // an error that ends the search
}

// An evaluator decides about candidates. The search calls only run concurrently; the other methods
// are cheap.
type evaluator interface {
	// prune rejects a candidate that a bound rules out; nil if none does.
	prune(c *candidate) *outcome
	// ruledOut rejects a candidate that a remembered outcome rules out; nil if none does.
	ruledOut(c *candidate) *outcome
	run(ctx context.Context, c *candidate) *outcome
	// remember records the outcome of a run. The search calls it in its own order.
	remember(o *outcome)
}

// searchResult is the chosen layout and all rejected ones that are preferable to it.
type searchResult struct {
	chosen   *outcome // nil: none met
	rejected []*outcome
	runs     int
	complete bool // the search decided every layout before the chosen one, or all if none is chosen
}

// include substitutes the full run of the current deployment for the outcome that the search
// recorded for it, if any. It returns the outcome that is now in use.
func (s *searchResult) include(present *outcome) *outcome {
	if s.chosen != nil && s.chosen.isPresent() {
		return s.chosen
	}
	if i := slices.IndexFunc(s.rejected, func(o *outcome) bool { return o.isPresent() }); i >= 0 {
		if present.result == nil && present.problem == nil {
			return s.rejected[i] // a new deployment has no run
		}
		full := *present
		full.candidate = s.rejected[i].candidate
		s.rejected[i] = &full
		return &full
	}
	return present
}

// pendingMax bounds the candidates that wait for an earlier one. It exceeds the number of workers by
// far, because most candidates are rejected without a run.
const pendingMax = 256

// search simulates a space's candidates in order of preference and stops at the first that meets the
// objective: no preferable candidate does. It runs one candidate per worker concurrently, but counts
// the outcomes in order, so the answer is the same as with one worker. most bounds the number of runs
// that count.
func search(ctx context.Context, space *Space, e evaluator, workers, most int,
	progress func(runs int, at dollars)) (*searchResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	running := &queue{space: space, evaluator: e, walk: space.walk(), workers: max(workers, 1),
		ended: make(chan *pending, pendingMax)}

	// Speculative runs whose outcomes no longer count must not outlive the search.
	defer func() {
		cancel()
		running.drain()
	}()

	found := &searchResult{}
	for {
		running.fill(ctx, most-found.runs)
		if len(running.pending) == 0 {
			// The queue is empty for one of two reasons: the walk ended, or the next candidate
			// needs a run and the limit is reached. Only in the first case was every layout
			// decided.
			found.complete = running.next == nil
			return found, nil
		}

		first := running.pending[0]
		if !first.ended {
			running.wait()
			continue
		}

		running.pending = running.pending[1:]
		if p := first.outcome.problem; p != nil {
			return nil, ended(ctx, p)
		}

		o := running.count(first)

		// The report needs the current deployment's run in any case, so it does not count towards the
		// limit. Neither does a run that a single worker would have skipped.
		if first.run && !o.repeated && !o.isPresent() {
			found.runs++
			if progress != nil {
				progress(found.runs, o.price)
			}
		}

		switch {
		case o.met:
			found.chosen, found.complete = o, true
			return found, nil
		case !o.invalid:
			found.rejected = append(found.rejected, o)
		}
	}
}

// A queue holds, in order, the started candidates whose outcome has not been counted yet.
type queue struct {
	space     *Space
	evaluator evaluator
	walk      *walk
	workers   int
	next      *candidate // taken from the walk, but needs a run beyond the limit; nil: take the walk's next
	pending   []*pending
	running   int
	ended     chan *pending // receives each run that ends
}

type pending struct {
	*candidate
	run     bool
	ended   bool // the outcome is known
	outcome *outcome
}

// wait waits until any run ends. Its outcome may have to wait for an earlier one, but its worker is free.
func (q *queue) wait() {
	p := <-q.ended
	p.ended = true
	q.running--
}

// fill starts candidates while a worker is free. most is how many runs may still count: it starts no
// run beyond that.
func (q *queue) fill(ctx context.Context, most int) {
	runs := 0
	for _, p := range q.pending {
		if p.run {
			runs++
		}
	}

	for q.running < q.workers && len(q.pending) < pendingMax {
		if q.next == nil {
			if q.next = q.walk.next(); q.next == nil {
				return
			}
		}

		c := q.next
		started := &pending{candidate: c, outcome: q.evaluator.prune(c)}
		if started.outcome == nil {
			started.outcome = q.evaluator.ruledOut(c)
		}

		switch {
		case started.outcome != nil:
			started.ended = true
		// Keep the candidate in q.next: if an earlier outcome rules out a pending run, or this
		// candidate, the search may still decide it without exceeding the limit.
		case runs >= most:
			return
		default:
			started.run = true
			runs++
			q.running++
			go func() {
				started.outcome = q.evaluator.run(ctx, c)
				q.ended <- started
			}()
		}

		q.pending, q.next = append(q.pending, started), nil
	}
}

// count returns the outcome that a single worker would have recorded for a candidate: it would not
// have run one that an earlier outcome rules out. Several workers may run it speculatively before
// that outcome is known.
func (q *queue) count(p *pending) *outcome {
	if !p.run {
		return p.outcome
	}
	if o := q.evaluator.ruledOut(p.candidate); o != nil {
		return o
	}
	q.evaluator.remember(p.outcome)
	return p.outcome
}

// drain waits for the runs in progress.
func (q *queue) drain() {
	for q.running > 0 {
		q.wait()
	}
}

// neighbours returns the layouts that differ from a candidate in a single axis and are preferable to
// it, the most preferable first.
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

			// Ordinals are only assigned when the walk generates the space, so layouts that only
			// the ordinal would distinguish count as equal here.
			if c.ordinal = of.ordinal; c.before(of) < 0 {
				c.ordinal = len(out)
				out = append(out, &c)
			}
		}
	}

	slices.SortFunc(out, (*candidate).before)
	return out
}

// changed returns the number of settings that a choice changes.
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
// change helps or the runs are used up. It is meant for spaces that are too large to search: its
// result is preferable to all of its neighbours, but not proven to be the cheapest.
func descend(ctx context.Context, space *Space, e evaluator, from *outcome, workers,
	most int) (*outcome, error) {
	for runs := 0; runs < most; {
		better := (*outcome)(nil)
		next := space.neighbours(from.candidate)
		for len(next) > 0 && better == nil && runs < most {
			// Run one candidate per worker. The first in order that meets the objective counts, so
			// the answer does not depend on the number of workers.
			var batch []*outcome
			g := sync.WaitGroup{}
			for len(next) > 0 && len(batch) < min(max(workers, 1), most-runs) {
				c := next[0]
				next = next[1:]
				if e.prune(c) != nil || e.ruledOut(c) != nil {
					continue
				}
				o := &outcome{}
				g.Go(func() { *o = *e.run(ctx, c) })
				batch = append(batch, o)
			}

			g.Wait()
			for _, o := range batch {
				// Every run of the batch counts, even those after the first that meets the
				// objective.
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
