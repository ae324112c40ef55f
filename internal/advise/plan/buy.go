package plan

import (
	"context"
	"math"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/scenario"
)

// report makes the runs that only the report needs: the current deployment with the maximum IOPS, the
// deployment before it grows, and more expensive alternatives.
func (p *planner) report(ctx context.Context) error {
	boosts := p.mostIOPS()
	var jobs []*job
	for _, j := range boosts {
		if j.outcome == nil {
			jobs = append(jobs, j)
		}
	}

	before := &job{candidate: p.current.candidate, plain: true}
	if p.grows {
		jobs = append(jobs, before)
	}

	// The cheapest alternative runs first. The others are mostly no better, so its outcome lets their
	// runs end early.
	next := p.alternatives(p.start())
	cheapest := p.jobs(next[:min(1, len(next))])
	if err := p.sim.workAll(ctx, append(jobs, cheapest...)); err != nil {
		return err
	}

	p.keep(cheapest)
	if len(next) > 1 {
		others := p.jobs(next[1:])
		if err := p.sim.workAll(ctx, others); err != nil {
			return err
		}
		p.keep(others)
	}

	p.written = p.current
	if p.grows {
		p.written = before.outcome
	}

	for _, j := range boosts {
		if !j.outcome.invalid {
			p.boosted = append(p.boosted, j.outcome)
		}
	}

	return nil
}

// start returns the layout that more expensive ones are compared with.
func (p *planner) start() *candidate {
	if p.found.chosen != nil {
		return p.found.chosen.candidate
	}
	return p.current.candidate
}

// jobs returns the runs of more expensive layouts. If a layout is chosen, a more expensive one matters
// only if its first objective is noticeably better, so its run ends as soon as that is ruled out.
func (p *planner) jobs(candidates []*candidate) []*job {
	out := make([]*job, len(candidates))
	for i, c := range candidates {
		out[i] = &job{candidate: c, bounds: p.leastSoFar(c)}
	}
	return out
}

// keep adds the outcomes that may be on the frontier. A run that finished but narrowly missed its
// bound is dropped like one that ended early.
func (p *planner) keep(jobs []*job) {
	for _, j := range jobs {
		if x, ok := p.figure(j.outcome); ok && (j.bounds == nil || x <= float64(j.bounds[0].Most)/1e9) {
			p.extra = append(p.extra, j.outcome)
		}
	}
}

// leastSoFar returns a bound on the first objective: a layout within it is noticeably better than all
// finished ones that cost no more. It is nil if there are none.
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
