package plan

import (
	"context"
	"math"

	"golang.org/x/sync/errgroup"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// buy runs what more money could buy, by price. Beside a chosen layout, a more expensive one is
// only of interest if its first objective is noticeably better than with all cheaper ones, so its
// run ends as soon as that is ruled out. The cheapest runs alone, because most of the others turn
// out to be no better. The others run two at a time, whatever the number of workers, and after two
// that gain nothing it stops: still more expensive ones are for a plan with another objective.
func (p *planner) buy(ctx context.Context) error {
	from := p.current.candidate
	if p.found.chosen != nil {
		from = p.found.chosen.candidate
	}
	next := p.alternatives(from)
	var early *earlyRuns
	if p.found.chosen != nil && len(next) > 1 {
		early = p.early(ctx, next[1:min(3, len(next))])
		defer early.giveUp()
	}
	for at := 0; at < len(next); {
		batch := next[at:]
		if p.found.chosen != nil {
			batch = next[at:min(at+min(at+1, 2), len(next))]
		}
		at += len(batch)
		before := len(p.extra)
		jobs := make([]*job, len(batch))
		g, runs := errgroup.WithContext(ctx)
		g.SetLimit(p.opt.workers())
		for i, c := range batch {
			j := &job{candidate: c, bounds: p.leastSoFar(c)}
			jobs[i] = j
			r := p.ahead.take(c, j.bounds)
			if r == nil {
				r = early.take(c, j.bounds)
			}
			if r != nil {
				early.begin()
				g.Go(func() error {
					j.outcome = r.wait(runs)
					return j.outcome.problem
				})
				continue
			}
			j.begun = early.begin
			g.Go(func() error { return p.sim.work(runs, j) })
		}
		if err := g.Wait(); err != nil {
			return ended(ctx, err)
		}
		for _, j := range jobs {
			if j.outcome.problem != nil {
				return ended(ctx, j.outcome.problem)
			}
			// A run that finished but narrowly missed its bound counts like one that was ended.
			if x, ok := p.figure(j.outcome); ok && (j.bounds == nil || x <= float64(j.bounds[0].Most)/1e9) {
				p.extra = append(p.extra, j.outcome)
			}
		}
		if p.found.chosen != nil && len(batch) == 2 && len(p.extra) == before {
			break
		}
	}
	return nil
}

// leastSoFar is the value of the first objective from which on a layout is noticeably better than
// all that cost no more and were run to their end; nil if there is none.
func (p *planner) leastSoFar(than *candidate) []scenario.Bound {
	if p.found.chosen == nil {
		return nil
	}
	best := math.Inf(1)
	for _, o := range p.whole() {
		if x, ok := p.figure(o); ok && o.price <= than.price && !p.doubtful(o) {
			best = min(best, x)
		}
	}
	if math.IsInf(best, 1) {
		return nil
	}
	return []scenario.Bound{{Name: p.want[0].Name, Most: units.Duration(math.Round(noticed(best) * 1e9))}}
}
