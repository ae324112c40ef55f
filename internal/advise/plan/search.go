package plan

import (
	"context"
	"slices"
	"sync"

	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
)

// An outcome is what became of a candidate.
type outcome struct {
	*candidate
	met      bool
	invalid  bool   // the scenario's checks refuse it, so it is not a layout
	pruned   bool   // rejected by a bound, without a run
	repeated bool   // rejected because of another layout's run ([simulator.ruledOut])
	reason   string // why it was rejected
	// saturated: only its machine's processor keeps it from meeting the objectives.
	saturated bool
	result    *simulate.Result
	more      []scenario.Set        // assignments in addition to the candidate's
	missed    *simulate.MissedError // not nil: its run ended because it misses this
	problem   error                 // no answer is possible: the search ends
}

// An evaluator decides about candidates. Only run is called concurrently; the rest costs little.
type evaluator interface {
	// prune rejects what a bound rules out.
	prune(c *candidate) *outcome
	// ruledOut rejects what an outcome that was remembered rules out.
	ruledOut(c *candidate) *outcome
	run(ctx context.Context, c *candidate) *outcome
	// remember is called for the outcomes of runs, in the order of the search.
	remember(o *outcome)
}

// searchResult is the chosen layout with everything that is preferred to it.
type searchResult struct {
	chosen   *outcome // nil: none met
	rejected []*outcome
	runs     int
	complete bool // every layout before the chosen one, or all, were decided
}

// include puts the outcome of the present deployment's whole run in the place of its own, if the search
// came to it, and returns the one in place.
func (s *searchResult) include(present *outcome) *outcome {
	if s.chosen != nil && s.chosen.isPresent() {
		return s.chosen
	}
	if i := slices.IndexFunc(s.rejected, func(o *outcome) bool { return o.isPresent() }); i >= 0 {
		full := *present
		full.candidate = s.rejected[i].candidate
		s.rejected[i] = &full
		return &full
	}
	return present
}

// pendingMax is how many candidates may wait for an earlier one; most of them are rejected without a
// run.
const pendingMax = 256

// search simulates a space's candidates in the order of preference and ends at the first that meets
// the objective, which is the most preferred of all that do. It runs as many as there are workers
// concurrently, but their outcomes count in order, so the answer is that of one worker. most bounds
// the runs whose outcomes count.
func search(ctx context.Context, space *Space, e evaluator, workers, most int,
	progress func(runs int, at dollars)) (*searchResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	q := &queue{space: space, evaluator: e, walk: space.walk(), workers: max(workers, 1),
		freed: make(chan struct{}, pendingMax)}

	// Runs that were started and do not count must not outlive the search.
	defer func() {
		cancel()
		q.drain()
	}()

	s := &searchResult{}
	for {
		for len(q.freed) > 0 {
			<-q.freed
			q.running--
		}

		q.fill(ctx, most-s.runs)
		if len(q.pending) == 0 {
			s.complete = q.next == nil
			return s, nil
		}

		first := q.pending[0]
		select {
		case <-q.freed: // its outcome waits for an earlier one, but the worker need not
			q.running--
			continue
		case first.outcome = <-first.done:
			q.pending = q.pending[1:]
		}

		if p := first.outcome.problem; p != nil {
			return nil, ended(ctx, p)
		}

		o := q.count(first)

		// The present deployment's run is needed in any case.
		if first.run && !o.repeated && !o.isPresent() {
			s.runs++
			if progress != nil {
				progress(s.runs, o.price)
			}
		}

		switch {
		case o.met:
			s.chosen, s.complete = o, true
			return s, nil
		case !o.invalid:
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
	next      *candidate // needs a run that may be one too many; nil: take the next of the walk
	pending   []*pending
	running   int
	freed     chan struct{} // receives once for each run that ends
}

type pending struct {
	*candidate
	run     bool
	done    chan *outcome
	outcome *outcome
}

// fill starts candidates while a worker is free and no more runs are pending than may count.
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
		p := &pending{candidate: c, done: make(chan *outcome, 1)}
		o := q.evaluator.prune(c)
		if o == nil {
			o = q.evaluator.ruledOut(c)
		}

		switch {
		case o != nil:
			p.done <- o
		case runs >= most:
			return
		default:
			p.run = true
			runs++
			q.running++
			go func() {
				o := q.evaluator.run(ctx, c)
				q.freed <- struct{}{} // first, so that a worker is known to be free once its outcome counts
				p.done <- o
			}()
		}

		q.pending, q.next = append(q.pending, p), nil
	}
}

// count returns the outcome of a candidate as a single worker would have it: that does not run what an
// earlier outcome rules out.
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
	for ; q.running > 0; q.running-- {
		<-q.freed
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
func descend(ctx context.Context, space *Space, e evaluator, from *outcome, workers,
	most int) (*outcome, error) {
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
				if e.prune(c) != nil || e.ruledOut(c) != nil {
					continue
				}
				o := &outcome{}
				g.Go(func() { *o = *e.run(ctx, c) })
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
