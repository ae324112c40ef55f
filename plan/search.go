package plan

import (
	"context"
	"errors"

	"plimsoll/simulate"
)

// An outcome is what became of a candidate.
type outcome struct {
	*candidate
	met     bool
	passed  bool   // the scenario's checks refuse it: it is no layout
	pruned  bool   // rejected without a run
	reason  string // why it was rejected
	result  *simulate.Result
	more    []set // assignments beside the candidate's
	problem error // nothing can be said: the search ends
}

// An evaluator tells what a candidate does. prune is asked first, of one candidate at a time, and costs nothing; run is asked of
// several at once.
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
		done chan *outcome
		run  bool
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
			if o := e.prune(c); o != nil {
				p.done <- o
			} else if started == most {
				exhausted = true
				queue = append(queue, p)
				p.done <- nil
				break
			} else {
				p.run = true
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
		if p.run {
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
