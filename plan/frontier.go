package plan

import (
	"slices"
	"strings"

	"plimsoll/catalog"
	"plimsoll/units"
	"plimsoll/volume"
)

// alternativesMax is how many layouts beyond the chosen one are run to their end, for the frontier.
const alternativesMax = 3

// alternatives are what more money could buy: from the chosen layout (or now's, if none was), the log's volume of the least latency, the data's, and
// both. Which layouts they are follows from the grid alone.
func (p *planner) alternatives() []*candidate {
	from := p.current
	if p.found.chosen != nil {
		from = p.found.chosen
	}
	all := slices.Clone(from.choice)
	var out []*candidate
	add := func(choice []int) {
		price := p.space.price(choice)
		if len(out) == alternativesMax || price <= from.price || p.space.most > 0 && price > p.space.most {
			return
		}
		c := p.space.candidate(choice, choice, price)
		if !slices.ContainsFunc(out, func(o *candidate) bool { return slices.Equal(o.choice, choice) }) {
			out = append(out, &c)
		}
	}
	for _, log := range []bool{true, false} {
		for i := range p.space.axes {
			a := &p.space.axes[i]
			if a.setting || !within(a.path, "volumes") || (a.path == "volumes.data") == log {
				continue
			}
			choice := slices.Clone(from.choice)
			choice[i] = p.quickest(a, from.choice[i])
			all[i] = choice[i]
			if choice[i] != from.choice[i] {
				add(choice)
			}
		}
	}
	add(all)
	return out
}

// quickest is the cheapest option of those whose median write is quickest, the option at hand if none is quicker.
func (p *planner) quickest(a *axis, at int) int {
	best, took := at, p.median(a, at)
	for k := range a.options {
		m := p.median(a, k)
		if m < 0 {
			continue
		}
		if took < 0 || m < took || m == took && best != at && a.options[k].cost < a.options[best].cost {
			best, took = k, m
		}
	}
	return best
}

// median is the median of an option's writes, less than 0 if it is no volume.
func (p *planner) median(a *axis, k int) units.Duration {
	sc, err := p.file.Parse(texts(append(slices.Clone(p.space.base), a.options[k].sets...)))
	if err != nil {
		return -1
	}
	var o *catalog.Order
	if name, ok := cutVolume(a.path); ok {
		o = sc.Volumes.Get(name)
	}
	if o == nil {
		return -1
	}
	cfg, err := o.Config("median", sc.Instance())
	if err != nil {
		return -1
	}
	return cfg.Latency[volume.Write].Quantile(0.5)
}

// figure is what layouts are compared by: the first objective.
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

// whole are all outcomes of runs to their end.
func (p *planner) whole() []*outcome {
	out := []*outcome{p.current}
	out = append(out, p.found.rejected...)
	if p.found.chosen != nil && p.found.chosen != p.current {
		out = append(out, p.found.chosen)
	}
	out = append(out, p.extra...)
	return slices.DeleteFunc(out, func(o *outcome) bool { _, ok := p.figure(o); return !ok })
}

// frontier are the layouts of which no other is as cheap and better, by price.
func (p *planner) frontier() []*outcome {
	all := p.whole()
	slices.SortStableFunc(all, func(a, b *outcome) int {
		if d := sign(int64(a.price - b.price)); d != 0 {
			return d
		}
		x, _ := p.figure(a)
		y, _ := p.figure(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return a.values - b.values
	})
	var out []*outcome
	for _, o := range all {
		x, _ := p.figure(o)
		if len(out) > 0 {
			if best, _ := p.figure(out[len(out)-1]); x >= best {
				continue
			}
		}
		out = append(out, o)
	}
	return out
}

// nearest is what comes nearest to the objectives: the least of how many times over its bound the worst of them is.
func (p *planner) nearest() *outcome {
	var best *outcome
	least := 0.0
	for _, o := range p.whole() {
		worst := 0.0
		for _, b := range p.want {
			if x := o.result.Figure(b.Name); x != nil {
				worst = max(worst, *x/(float64(b.Most)/1e9))
			}
		}
		if best == nil || worst < least {
			best, least = o, worst
		}
	}
	return best
}

// cutVolume gives the volume's name of a path.
func cutVolume(path string) (string, bool) { return strings.CutPrefix(path, "volumes.") }
