package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
)

// monthSeconds is a month of 365.25/12 days.
const monthSeconds = 30.4375 * 86400

// needed returns the amount of data that the data volume must hold: from the user and, for a new
// deployment, also from the scenario. nil: keep the scenario's own size.
func (p *planner) needed() (*Growth, error) {
	growth := p.opt.Size
	if !p.opt.New {
		if growth != nil && growth.Data <= 0 {
			return nil, growth.noData()
		}
		return growth, nil
	}
	if growth == nil && !p.opt.Unsized {
		return nil, nil
	}

	out := Growth{Months: growthMonths, Headroom: growthHeadroom}
	if growth != nil {
		out = *growth
	}

	load := p.now.Workloads()
	if out.Data == 0 {
		out.Data = load.DocumentSize() * units.Size(load.Documents())
		out.dataHow = fmt.Sprintf("%s documents of %s", units.Count(int64(load.Documents())), load.DocumentSize())
	}
	if !out.PerMonthSet {
		// A rounded figure can be checked by hand.
		step := units.MB
		if out.PerMonth = units.Size(load.Grows() * monthSeconds); out.PerMonth > 10*units.GB {
			step = units.GB
		}
		out.PerMonth = (out.PerMonth + step - 1) / step * step
	}
	if out.Journal == 0 {
		for _, v := range p.engine.ExtraVolumes {
			out.Journal += v.Size
		}
	}

	// Some engines stop at a size limit, so the rest of a larger volume would stay empty.
	if most := p.engine.DataMost; most > 0 && out.Data+units.Size(out.Months)*out.PerMonth > most {
		out.Data, out.PerMonth, out.dataHow = most, 0, "the engine's limit"
	}

	if growth == nil {
		p.shorten(&out)
	}

	return &out, nil
}

// shorten reduces the default number of months until the largest volume of the type holds the data.
func (p *planner) shorten(g *Growth) {
	data := p.now.Volumes.Get("data")
	if data == nil {
		return
	}
	for ; g.Months > 1; g.Months-- {
		o := *data
		o.Size = g.bytes(&p.engine) / units.Size(o.Members())
		if len(o.Check()) == 0 {
			return
		}
	}
}

// sizedInPlace puts a new size into the volume that base assigns, so that a layout names each volume once. It
// returns the assignments that remain.
func sizedInPlace(base, grown []scenario.Set) []scenario.Set {
	i := len(base) - 1 // the last assignment wins
	for i >= 0 && base[i].Path != "volumes.data" {
		i--
	}
	if i < 0 || len(grown) != 1 {
		return grown
	}

	text, size := base[i].Text(), grown[0].Text()
	head, rest, ok := strings.Cut(text, "size: ")
	if !ok {
		return grown
	}
	if end := strings.IndexAny(rest, ",}"); end >= 0 {
		base[i].Value = head + "size: " + size + rest[end:]
		return nil
	}
	return grown
}

// coresMost bounds the machines that a plan for a new deployment considers, relative to the scenario's.
const coresMost = 8

// machinesToBuy returns the axis of machines of a new deployment: the family of the scenario's machine, from
// two cores.
func (m *spaceMaker) machinesToBuy(now *catalog.InstanceType) []axis {
	a := axis{path: "host.instance", options: []option{{cost: m.instanceCost(now)}}}
	own := now.Family()

	all := m.now.Catalog().Instances()
	for i := range all {
		t := &all[i]
		if t.Name == now.Name || t.Of() != now.Of() || t.Family() != own || strings.Contains(t.Name, "metal") ||
			t.HasEBS != now.HasEBS || t.VCPU < 2 || t.VCPU > coresMost*now.VCPU {
			continue
		}

		m.addMachine(&a, t, now, Online)
	}

	return []axis{a}
}

// tooSmall removes the machines that miss the objectives even with the strongest volumes and the usual
// settings, because otherwise the search would try every volume on each of them. Unlike the rest of the
// search, it assumes that weaker volumes do not help.
func (p *planner) tooSmall(ctx context.Context) error {
	at := slices.IndexFunc(p.space.axes, func(a axis) bool { return a.path == "host.instance" })
	if at < 0 || len(p.space.axes[at].options) < 2 {
		return nil
	}

	strong := make([]int, len(p.space.axes))
	for i := range p.space.axes {
		if a := &p.space.axes[i]; !a.setting && within(a.path, "volumes") &&
			(a.path == "volumes.data" || p.engine.LogWait) {
			strong[i] = p.best(a, 0, stronger)
		}
	}

	machines := &p.space.axes[at]
	order := make([]int, len(machines.options))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(machines.options[a].cost, machines.options[b].cost), a-b)
	})

	for n, k := range order[:len(order)-1] {
		strong[at] = k
		c := p.space.candidate(strong, strong, p.space.price(strong))
		j := &job{candidate: &c, bounds: p.want}
		jobs := []*job{j}
		// Another processor starts with the layout that the search will try first if the machine is large
		// enough.
		if p.sim.workers > 1 {
			plain := make([]int, len(strong))
			plain[at] = k
			first := p.space.candidate(plain, plain, p.space.price(plain))
			jobs = append(jobs, &job{candidate: &first, bounds: p.want})
		}
		if err := p.sim.workAll(ctx, jobs); err != nil {
			return err
		}
		if j.outcome.met {
			p.excludeMachines(at, order[n:])
			return nil
		}
		p.excluded = append(p.excluded, p.machineOf(machines, k)+": "+j.outcome.reason)
	}

	p.excludeMachines(at, order[len(order)-1:])
	return nil
}

// machineOf returns the name of an option's machine.
func (p *planner) machineOf(machines *axis, k int) string {
	if k == 0 {
		return p.now.Instance().Name
	}
	return machines.options[k].sets[0].Text()
}

// excludeMachines keeps only some options of the machines' axis. The first option is where the space starts
// from; if it is not kept, a copy of the first kept one takes its place.
func (p *planner) excludeMachines(at int, kept []int) {
	machines := &p.space.axes[at]
	var options []option
	for _, k := range kept {
		options = append(options, machines.options[k])
	}
	machines.options = options
	p.space.now = p.space.price(make([]int, len(p.space.axes)))
}

// purchases lists the parts of a new deployment's layout with their prices: the machines, the volumes,
// and the settings that differ from the scenario's.
func (p *planner) purchases(l *Layout, o *outcome) []Change {
	var out []Change
	sc := l.Scenario
	if sc == nil {
		return []Change{}
	}

	n := dollars(sc.MemberCount())
	if t := sc.Instance(); t != nil {
		c := Change{Path: "host.instance", To: t.Name, Needs: NewMachine}
		if usd, err := t.Monthly(p.opt.Region); err == nil {
			c.USD = (micro(usd) * n).usd()
		}
		out = append(out, c)
	}

	for _, v := range sc.Volumes {
		c := Change{Path: "volumes." + v.Name, To: v.Value.String(), Needs: NewVolume.String()}
		if bill, err := p.now.Catalog().Monthly(&v.Value, p.opt.Region); err == nil {
			c.USD = (micro(bill.Total) * n).usd()
		}
		out = append(out, c)
	}

	for i, k := range o.choice {
		a := &p.space.axes[i]
		if !a.setting {
			continue
		}
		for _, s := range a.options[k].sets {
			out = append(out, p.change(s, 0, a.options[k].need))
		}
	}

	return out
}

// NewMachine is what a machine of a new deployment requires, in [Change.Needs].
const NewMachine = "new machine"

// newStatements state what a plan for a new deployment assumes.
func (p *planner) newStatements() []Statement {
	if !p.opt.New {
		return nil
	}

	var out []Statement
	if len(p.excluded) > 0 {
		why := "smaller machines are not enough, even with the strongest volumes and these settings: "
		out = append(out, Statement{"too-small", why + strings.Join(p.excluded, "; "), []Evidence{}})
	}

	shown := p.found.chosen
	if shown == nil {
		shown = p.nearest()
	}
	if shown == nil {
		return out
	}
	if sc, err := p.now.With(p.space.sets(shown.choice)...); err == nil {
		out = append(out, p.lasts(sc)...)
	}

	return out
}

// lasts states how long the data volume of a new deployment lasts.
func (p *planner) lasts(sc *scenario.Scenario) []Statement {
	data, load := sc.Volumes.Get("data"), sc.Workloads()
	if data == nil || data.Size == 0 {
		return nil
	}

	holds := load.DocumentSize() * units.Size(load.Documents())
	perSecond := load.Grows()
	if g := p.size; g != nil {
		future := g.Data + units.Size(g.Months)*g.PerMonth
		holds = g.Data + g.Journal + share(g.Indexes, future)
		perSecond = float64(g.PerMonth) / monthSeconds
	}

	size := data.Size * units.Size(data.Members())
	switch {
	case p.engine.DataMost > 0 && size >= p.engine.DataMost:
		return []Statement{{"lasts", fmt.Sprintf("volumes.data (%s) does not fill: the database stops at its limit of %s. Whether it gets there depends on what is deleted and compacted",
			size, p.engine.DataMost), []Evidence{{"size", float64(size), "bytes"}}}}
	case perSecond <= 0:
		return []Statement{{"lasts", fmt.Sprintf("volumes.data (%s) does not fill: the scenario adds no data to its %s. --size growth=100GB/month plans for growth",
			size, holds), []Evidence{{"size", float64(size), "bytes"}}}}
	}

	after := max(float64(size-holds), 0) / perSecond
	text := fmt.Sprintf("volumes.data (%s) is full after %.0f days: data grows by %s a day, not counting deletes and compression",
		size, after/86400, units.Bytes(perSecond*86400))
	if after < 2*86400 {
		text = fmt.Sprintf("volumes.data (%s) is full after %s: data grows by %s a day, not counting deletes and compression",
			size, units.Seconds(after), units.Bytes(perSecond*86400))
	}
	if p.size == nil {
		text += ". " + p.sizes(data, Growth{Data: holds, PerMonth: units.Size(perSecond * monthSeconds),
			Months: growthMonths, Headroom: growthHeadroom})
	}

	return []Statement{{"lasts", text, []Evidence{{"added a day", perSecond * 86400, "bytes"},
		{"size", float64(size), "bytes"}, {"until full", after, "seconds"}}}}
}

// sizes recommends a --size for six months, or says what to do if the type has no volume that large.
func (p *planner) sizes(data *catalog.Order, g Growth) string {
	o := *data
	if o.Size = g.bytes(&p.engine) / units.Size(o.Members()); len(o.Check()) > 0 {
		return "No volume of this type holds six months of that: if most of it is deleted again, --size growth=100GB/month plans for what stays"
	}
	return "--size months=6 sizes it for six months"
}
