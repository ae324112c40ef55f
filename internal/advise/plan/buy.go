package plan

import (
	"context"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// buy runs what more money could buy, by price. Beside a chosen layout one of them is of interest only if its first objective comes out
// noticeably better than that of all that are cheaper, so its run ends as soon as that is certain not to be. The cheapest comes alone: it
// is what most of the others turn out to be no better than. The others come in twos, however many workers there are, and two that buy nothing are
// the last: what costs still more is a matter of the next plan's objective.
func (p *planner) buy(ctx context.Context) error {
	from := p.current.candidate
	if p.found.chosen != nil {
		from = p.found.chosen.candidate
	}
	next, first := p.guess.take(from)
	if next == nil {
		next = p.alternatives(from)
	}
	for at := 0; at < len(next); {
		batch := next[at:]
		if p.found.chosen != nil {
			batch = next[at:min(at+min(at+1, 2), len(next))]
		}
		at += len(batch)
		before := len(p.extra)
		best := p.leastSoFar()
		jobs := make([]*job, len(batch))
		g, runs := errgroup.WithContext(ctx)
		g.SetLimit(p.opt.workers())
		for i, c := range batch {
			if first != nil { // it runs already
				jobs[i], first = first, nil
				continue
			}
			j := &job{candidate: c, better: best}
			jobs[i] = j
			g.Go(func() error { return p.sim.work(runs, j) })
		}
		if err := g.Wait(); err != nil {
			return ended(ctx, err)
		}
		for _, j := range jobs {
			if j.outcome.problem != nil {
				return ended(ctx, j.outcome.problem)
			}
			// A run that came to its end, since its bound was not known when it began or it missed that by little, counts as one that was ended.
			if x, ok := p.figure(j.outcome); ok && (best == nil || x <= float64(best.Most)/1e9) {
				p.extra = append(p.extra, j.outcome)
			}
		}
		if p.found.chosen != nil && len(batch) == 2 && len(p.extra) == before {
			break
		}
	}
	return nil
}

// leastSoFar is what the first objective has to come out at, to be noticeably better than it did so far, from a chosen layout on; nil
// without one.
func (p *planner) leastSoFar() *scenario.Bound {
	if p.found.chosen == nil {
		return nil
	}
	best := math.Inf(1)
	for _, o := range append([]*outcome{p.found.chosen}, p.extra...) {
		if x, ok := p.figure(o); ok {
			best = min(best, x)
		}
	}
	if math.IsInf(best, 1) {
		return nil
	}
	return &scenario.Bound{Name: p.want[0].Name, Most: units.Duration(math.Round(noticed(best) * 1e9))}
}

// A guess is the first alternative to a layout that will probably be chosen, begun while that one still runs: each waits for the other
// only to be told. What it comes to is used if the guess was right.
type guess struct {
	ctx    context.Context //nolint:containedctx // of the runs beside the search, of which the guesses are
	beside *errgroup.Group

	mu    sync.Mutex
	last  *guessed // nil: none yet
	spent bool     // the search is over: no more is guessed
}

type guessed struct {
	of   *candidate
	next []*candidate // its alternatives, of which the first runs
	run  *job
	done chan struct{}
	stop context.CancelFunc
}

// expect begins the first alternative to a candidate, in place of that to another which it is preferred to. With one worker nothing is gained by it.
//
// Its figure is of interest only if it is better than the candidate's, which is then known to keep the first objective: a run that is
// certain to miss that is ended.
func (p *planner) expect(c *candidate) {
	g := &p.guess
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.opt.workers() < 2 || g.spent || g.last != nil && g.last.of.before(c) <= 0 {
		return
	}
	if g.last != nil {
		g.last.stop()
	}
	ctx, stop := context.WithCancel(g.ctx)
	x := &guessed{of: c, stop: stop, done: make(chan struct{})}
	g.last = x
	g.beside.Go(func() error {
		defer close(x.done)
		if x.next = p.alternatives(c); len(x.next) > 0 {
			x.run = &job{candidate: x.next[0], better: &p.want[0], rank: ahead}
			_ = p.sim.work(ctx, x.run) // in its outcome as well, for who takes it
		}
		return nil
	})
}

// take gives the alternatives to a layout and the run of the first, when it is over; nil if it was not expected, and what was is ended.
func (g *guess) take(of *candidate) ([]*candidate, *job) {
	g.mu.Lock()
	x := g.last
	if g.spent {
		x = nil
	}
	g.spent = true
	g.mu.Unlock()
	if x == nil {
		return nil, nil
	}
	defer x.stop()
	if !slices.Equal(x.of.choice, of.choice) {
		return nil, nil
	}
	<-x.done
	return x.next, x.run
}
