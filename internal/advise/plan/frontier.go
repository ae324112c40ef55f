package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/volume"
)

// alternativesMax bounds the more expensive layouts that run for the frontier.
const alternativesMax = 4

// alternatives returns more expensive layouts than the given one, by price: the log volume with the
// lowest latency, the data volume with the lowest latency, both, and the maximum IOPS for all volumes.
// They depend only on the grid. If writes do not wait for the log, a faster log gains nothing.
func (p *planner) alternatives(from *candidate) []*candidate {
	var out []*candidate
	add := func(choice []int) {
		price := p.space.price(choice)
		if price <= from.price || p.space.most > 0 && price > p.space.most {
			return
		}
		c := p.space.candidate(choice, choice, price)
		if !slices.ContainsFunc(out, func(o *candidate) bool { return slices.Equal(o.choice, choice) }) {
			out = append(out, &c)
		}
	}

	quick, strong := slices.Clone(from.choice), slices.Clone(from.choice)

	// Log volumes come before the data volume: a faster log helps every synchronous write.
	for _, log := range []bool{true, false} {
		for i := range p.space.axes {
			a := &p.space.axes[i]
			if a.setting || !within(a.path, "volumes") || (a.path == "volumes.data") == log ||
				log && !p.engine.LogWait {
				continue
			}
			one := slices.Clone(from.choice)
			one[i] = p.best(a, from.choice[i], quicker)
			quick[i], strong[i] = one[i], p.best(a, from.choice[i], stronger)
			add(one)
		}
	}

	add(quick)
	add(strong)
	if len(out) > alternativesMax {
		// Keep the last two: they change all volumes, so they show the best that money can buy.
		out = append(out[:alternativesMax-2], out[len(out)-2:]...)
	}

	slices.SortStableFunc(out, func(a, b *candidate) int { return cmp.Compare(a.price, b.price) })
	return out
}

// best returns the index of the best option of an axis, the cheapest among equals. If no option is
// better than the one at index at, it returns at.
func (p *planner) best(a *axis, at int, better func(x, y *given) int) int {
	best, has := at, p.gives(a, at)
	for k := range a.options {
		g := p.gives(a, k)
		if !g.known {
			continue
		}
		if d := better(&g, &has); !has.known || d > 0 || d == 0 && best != at &&
			a.options[k].cost < a.options[best].cost {
			best, has = k, g
		}
	}
	return best
}

// quicker prefers the option with the shorter median latency, unless it has fewer IOPS.
func quicker(x, y *given) int {
	if x.iops < y.iops && x.median < y.median {
		return -1
	}
	return cmp.Compare(y.median, x.median)
}

// stronger prefers more IOPS, then more throughput, then the shorter median latency.
func stronger(x, y *given) int {
	for _, d := range [...]int64{int64(x.iops - y.iops), int64(x.throughput - y.throughput),
		int64(y.median - x.median)} {
		if d != 0 {
			return cmp.Compare(d, 0)
		}
	}
	return 0
}

// given is the performance of a volume option.
type given struct {
	known      bool // false: not a volume
	median     units.Duration
	iops       units.Frequency
	throughput units.Throughput
}

func (p *planner) gives(a *axis, k int) given {
	sc, err := p.now.With(append(slices.Clone(p.space.base), a.options[k].sets...)...)
	if err != nil {
		return given{}
	}

	name, _ := strings.CutPrefix(a.path, "volumes.")
	o := sc.Volumes.Get(name)
	if o == nil {
		return given{}
	}

	cfg, err := o.Config("given", sc.Instance())
	if err != nil {
		return given{}
	}

	return given{
		known: true, median: cfg.Latency[volume.Write].Quantile(0.5),
		iops:       cfg.Sustained.IOPS * units.Frequency(o.Members()),
		throughput: cfg.Sustained.Throughput * units.Throughput(o.Members()),
	}
}

// figure returns an outcome's value for the first objective, by which layouts are compared.
func (p *planner) figure(o *outcome) (float64, bool) {
	if o.result == nil {
		return 0, false
	}
	x := o.result.Figure(p.want[0].Name)
	if x == nil {
		return 0, false
	}
	return *x, true
}

// whole returns the outcomes of all runs that went to the end.
func (p *planner) whole() []*outcome {
	out := []*outcome{p.current}
	out = append(out, p.found.rejected...)
	if p.found.chosen != nil && p.found.chosen != p.current {
		out = append(out, p.found.chosen)
	}
	out = append(out, p.extra...)
	return slices.DeleteFunc(out, func(o *outcome) bool { _, ok := p.figure(o); return !ok })
}

// frontier returns the Pareto-optimal layouts by price: no other layout is both as cheap and better.
// Beyond the chosen one, each must be noticeably better than the previous one.
func (p *planner) frontier() []*outcome {
	all := slices.DeleteFunc(p.whole(), p.doubtful)
	slices.SortStableFunc(all, func(a, b *outcome) int {
		x, _ := p.figure(a)
		y, _ := p.figure(b)
		return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(x, y), a.values-b.values)
	})

	var out []*outcome
	for _, o := range all {
		x, _ := p.figure(o)
		if len(out) > 0 {
			best, _ := p.figure(out[len(out)-1])
			if x >= best || p.found.chosen != nil && slices.Contains(p.extra, o) && x > noticed(best) {
				continue
			}
		}
		out = append(out, o)
	}

	return out
}

// doubtful reports whether a caveat invalidates an outcome's figures.
func (p *planner) doubtful(o *outcome) bool { return o.result.Caveat(p.sim.allowed()...) != nil }

// nearest returns the layout that comes closest to the objectives: the one whose worst objective
// exceeds its bound by the smallest factor.
func (p *planner) nearest() *outcome {
	var best *outcome
	least := 0.0

	for _, o := range p.whole() {
		worst := 0.0
		for _, b := range p.want {
			x := o.result.Figure(b.Name)
			// No operation of that kind completed: nothing is further from its bound.
			if x == nil {
				worst = math.Inf(1)
				break
			}
			worst = max(worst, *x/(float64(b.Most)/1e9))
		}

		if best == nil || worst < least {
			best, least = o, worst
		}
	}

	return best
}
