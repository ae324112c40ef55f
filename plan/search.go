package plan

import (
	"context"
	"errors"
	"slices"
	"sync"

	"plimsoll/simulate"
)

// An outcome is what became of a candidate.
type outcome struct {
	*candidate
	met      bool
	passed   bool   // the scenario's checks refuse it: it is no layout
	pruned   bool   // rejected without a run
	repeated bool   // rejected without a run as well, since another layout\'s was the same
	reason   string // why it was rejected
	result   *simulate.Result
	more     []set                 // assignments beside the candidate's
	missed   *simulate.MissedError // not nil: its run was ended since it misses this
	problem  error                 // nothing can be said: the search ends
}

// An evaluator tells what a candidate does. prune is asked first, of one candidate at a time, and costs nothing; run is asked of
// several at once. What prune says is repeated counts as a run: whether one was made depends on which were at once.
type evaluator interface {
	prune(c *candidate) *outcome
	run(ctx context.Context, c *candidate) *outcome
}

// A searched is what a search came to.
type searched struct {
	chosen   *outcome // nil: none met
	rejected []*outcome
	runs     int
	complete bool // every layout before the chosen one, or all, were decided
}

// search goes through a space in the order of preference and ends at the first layout that meets the objective, which is therefore the
// most preferred of all that do. workers candidates are run at once; their outcomes count in order, so that the answer is that of one
// worker. most bounds the runs whose outcomes count.
func search(ctx context.Context, space *Space, e evaluator, workers, most int, tell func(runs int, at dollars)) (*searched, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type pending struct {
		done      chan *outcome
		run, runs bool // it counts as a run, and is one
	}
	var queue []pending
	// What was started and does not count is waited for: it must not outlive the search.
	defer func() {
		cancel()
		for _, p := range queue {
			<-p.done
		}
	}()
	s, w := &searched{}, space.walk()
	running, started, exhausted := 0, 0, false
	for {
		for !exhausted && running < max(workers, 1) {
			c := w.next()
			if c == nil {
				exhausted = true
				break
			}
			p := pending{done: make(chan *outcome, 1)}
			o := e.prune(c)
			p.run = o == nil || o.repeated
			switch {
			case !p.run:
				p.done <- o
			case started == most:
				exhausted = true
				p.done <- nil
			case o != nil:
				started++
				p.done <- o
			default:
				p.runs = true
				started++
				running++
				go func() { p.done <- e.run(ctx, c) }()
			}
			queue = append(queue, p)
		}
		if len(queue) == 0 {
			s.complete = true
			return s, nil
		}
		p := queue[0]
		o := <-p.done
		queue = queue[1:]
		if p.runs {
			running--
		}
		switch {
		case o == nil: // the bound on runs
			return s, nil
		case o.problem != nil:
			if errors.Is(o.problem, context.Canceled) && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, o.problem
		}
		if p.run && !o.passed {
			s.runs++
			if tell != nil {
				tell(s.runs, o.price)
			}
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

// neighbours are the layouts that differ from one in a single axis and are preferred to it, the most preferred first.
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
			// The grid's order is of whole spaces: here what it alone would tell apart is equal, and no better.
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

// descend makes a layout that meets the objective cheaper, one axis at a time, until no single change does or most runs are made. It
// is for spaces too large to be searched: what it finds is the best of its neighbours, which is no proof that it is the cheapest.
func descend(ctx context.Context, space *Space, e evaluator, from *outcome, workers, most int) (*outcome, error) {
	for runs := 0; runs < most; {
		better := (*outcome)(nil)
		next := space.neighbours(from.candidate)
		for len(next) > 0 && better == nil && runs < most {
			// As many at once as there are workers: the first of them that meets counts, so the answer is that of one.
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
