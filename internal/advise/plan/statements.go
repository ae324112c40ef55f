package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/model/volume"
)

// A Statement is a fact to consider before spending money. It is computed from the runs and lists the
// figures that it is based on.
type Statement struct {
	// Kind is tune-first, more-iops, instance-cap, credits, margin, nothing-to-change, unmet,
	// incomplete, buckets, buckets-run, target, machine-volumes, latency, unpriced, machine-unpriced, settled,
	// extended, processor, fills, lasts, too-small, clouds.
	Kind     string     `json:"kind"`
	Text     string     `json:"text"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is a figure that a statement is based on.
type Evidence struct {
	Text  string  `json:"text"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

func (p *planner) statements() []Statement {
	out := []Statement{}
	for _, s := range [][]Statement{p.verdict(), p.moreIOPS(), p.instanceCap(), p.burst(), p.margin()} {
		out = append(out, s...)
	}
	return out
}

// verdict states the result of the search.
func (p *planner) verdict() []Statement {
	c := p.found.chosen
	if c == nil {
		return p.unmet()
	}

	spent := c.price - p.current.price
	free := p.freeChanges(c)
	switch {
	case p.opt.New && p.found.complete:
		return nil
	case !p.found.complete:
		return []Statement{{"incomplete",
			fmt.Sprintf("this layout meets the objective, and no cheaper layout that differs in a single value does; but only the %d cheapest layouts were simulated, so a cheaper one may exist",
				p.found.runs), []Evidence{{"simulated", float64(p.found.runs), ""}}}}
	case c.values == 0:
		return []Statement{{"nothing-to-change", "the current layout meets the objective, and nothing cheaper that was considered does",
			[]Evidence{}}}
	case spent <= 0 && free == c.values:
		return []Statement{{"tune-first", "tune first: it costs nothing",
			[]Evidence{{"more a month", spent.usd(), "USD"}}}}
	case free > 0:
		return []Statement{{"tune-first",
			fmt.Sprintf("tune first: %d of %d changes cost nothing, and the others are not enough without them", free,
				c.values), []Evidence{{"more a month", spent.usd(), "USD"}}}}
	}

	// All changes cost money here. Saying that tuning alone fails is only worthwhile if the search
	// tried it.
	n := p.settingsRejected()
	if n == 0 || spent <= 0 {
		return []Statement{}
	}

	return []Statement{{"tune-first",
		fmt.Sprintf("tuning alone is not enough: none of %d layouts with other settings at the current price meets the objective",
			n),
		[]Evidence{{"layouts that change settings only", float64(n), ""}, {"more a month", spent.usd(), "USD"}}}}
}

// freeChanges returns how many of a layout's changed values are settings.
func (p *planner) freeChanges(o *outcome) int {
	n := 0
	for i, k := range o.choice {
		if p.space.axes[i].setting {
			n += len(p.space.axes[i].options[k].sets)
		}
	}
	return n
}

// settingsRejected returns the number of rejected layouts that change only settings.
func (p *planner) settingsRejected() int {
	n := 0
	for _, o := range p.found.rejected {
		if o.values > 0 && p.freeChanges(o) == o.values && o.price == p.current.price {
			n++
		}
	}
	return n
}

// unmet states which layout comes closest, and what limits it.
func (p *planner) unmet() []Statement {
	s := Statement{Kind: "unmet", Text: "no layout that was considered meets the objective",
		Evidence: []Evidence{}}
	if !p.found.complete {
		s.Kind = "incomplete"
		s.Text = fmt.Sprintf("none of the %d cheapest layouts meets the objective, and neither do the fastest ones; the layouts in between were not simulated",
			p.found.runs)
		s.Evidence = append(s.Evidence, Evidence{"simulated", float64(p.found.runs), ""})
	}

	if n := p.nearest(); n != nil {
		if x, ok := p.figure(n); ok {
			s.Text += fmt.Sprintf("; the closest has a %s of %s", p.want[0].Name, units.Seconds(x))
			s.Evidence = append(s.Evidence, Evidence{p.want[0].Name + " of the closest", x, "seconds"})
		}
		if c := n.result.Caveat(p.sim.allowed()...); c != nil {
			s.Text += ", but " + c.Text
		}
		if why := heldBy(n.result); why != "" {
			s.Text += "; there " + why
		}
	}

	// A bound that rejected a layout without a run is the clearest explanation, because it holds at any
	// load: the volume's own latency, for example.
	if i := slices.IndexFunc(p.found.rejected, func(o *outcome) bool { return o.pruned }); i >= 0 {
		s.Text += "; and " + p.found.rejected[i].reason
	}

	return []Statement{s}
}

// heldBy describes what a run's slow writes waited for most.
func heldBy(r *simulate.Result) string {
	if r == nil || len(r.Waits) == 0 {
		return ""
	}
	most := slices.MaxFunc(r.Waits,
		func(a, b simulate.WaitResult) int { return cmp.Compare(a.SlowCauseShare, b.SlowCauseShare) })
	text := fmt.Sprintf("slow writes spend %[2]s of their time waiting for \"%[1]s\"", most.Name,
		units.Percent(most.SlowCauseShare))
	if name, limit, seconds := mostHeld(r); seconds > 0 {
		text += fmt.Sprintf(", and requests to %s are held back by its %s", name, limit)
	}
	return text
}

// mostHeld returns the limit that held requests back longest. Queue slots do not count: they fill up
// as a consequence of another limit.
func mostHeld(r *simulate.Result) (name, limit string, seconds float64) {
	for _, v := range r.Volumes {
		for _, h := range v.HeldBy {
			if h.Seconds > seconds && h.Name != volume.Slots.String() {
				name, limit, seconds = v.Name, h.Name, h.Seconds
			}
		}
	}
	return name, limit, seconds
}

// mostIOPS returns runs of the current deployment with the maximum IOPS for each volume whose IOPS can
// be chosen: as many as the product offers at that size and the instance's limit allows. Whether more
// IOPS help is decided by simulation, not by argument. A run that would repeat the current
// deployment's is skipped.
func (p *planner) mostIOPS() []*job {
	if p.opt.New {
		return nil // there is no volume that more IOPS could be bought for
	}
	var out []*job
	on := p.now.Instance()
	for _, named := range p.now.Volumes {
		t, err := catalog.Type(named.Value.Type)
		if err != nil || !t.ChoosesIOPS {
			continue
		}

		l, err := named.Value.Limits(on)
		if err != nil || l.Sustained.IOPS == 0 {
			continue
		}

		most := math.Inf(1)
		if t.IOPSMax.Known() {
			most = float64(t.IOPSMax.Value)
		}

		// EBS and Azure grant the included IOPS at any size, even if the ratio per GiB allows
		// fewer.
		if t.IOPSPerGiB.Known() {
			most = min(most, max(float64(t.IOPSPerGiB.Value)*math.Floor(float64(named.Value.Size)/float64(units.GiB)),
				float64(t.IOPSIncluded.Value)))
		}

		if on != nil {
			if share, ok := on.ShareOf(&named.Value); ok && share.Maximum.IOPS != 0 {
				most = min(most, float64(share.Maximum.IOPS)/float64(named.Value.Members()))
			}
		}

		if math.IsInf(most, 1) || math.Floor(most) <= float64(l.Sustained.IOPS) {
			continue
		}

		sets := []scenario.Set{{Path: "volumes." + named.Name + ".iops", Value: catalog.IOPS(most)}}
		if named.Value.IOPSPerGB != 0 {
			sets = append(sets, scenario.Set{Path: "volumes." + named.Name + ".iops_per_gb"})
		}

		j := &job{candidate: p.current.candidate, more: sets}

		// If the current deployment meets the objectives, the full run is needed to show an
		// improvement; otherwise it only matters whether more IOPS meet them.
		if !p.current.met {
			j.bounds = p.want
		}

		if p.sim.repeats(p.current, sets) {
			same := *p.current
			same.more = sets
			j.outcome = &same
		}

		out = append(out, j)
	}

	return out
}

// helps is the share by which a figure must fall to count as improved. Less than 10 % would go
// unnoticed.
const helps = 0.10

// noticed returns the largest value that is noticeably better than the given one.
func noticed(than float64) float64 { return (1 - helps) * than }

// moreIOPS states what the maximum IOPS achieve. If the current deployment misses an objective, the
// run with more IOPS ended as soon as it was certain to miss one too.
func (p *planner) moreIOPS() []Statement {
	before, ok := p.figure(p.current)
	if !ok || before == 0 {
		return nil
	}

	name := p.want[0].Name
	var out []Statement
	for _, o := range p.boosted {
		to := o.more[0]
		volumeName := strings.TrimSuffix(strings.TrimPrefix(to.Path, "volumes."), ".iops")
		evidence := []Evidence{{name + " now", before, "seconds"}}

		if m := o.missed; m != nil {
			out = append(out, Statement{"more-iops",
				fmt.Sprintf("more IOPS are not enough: %s is also over %s with %s, the maximum%s", m.Bound.Name,
					m.Bound.Most, to, p.unhelped(volumeName)),
				append(evidence, decided(m, to))})
			continue
		}

		after, ok := p.figure(o)
		if !ok {
			continue
		}

		evidence = append(evidence, Evidence{name + " with " + to.String(), after, "seconds"})
		change := fmt.Sprintf("%s %s instead of %s with %s", name, units.Seconds(after), units.Seconds(before), to)
		if after <= noticed(before) {
			out = append(out, Statement{"more-iops", "more IOPS help: " + change, evidence})
			continue
		}

		out = append(out, Statement{"more-iops", "more IOPS will not help: " +
			change + p.unhelped(volumeName), evidence})
	}

	return out
}

// decided returns evidence of when a run with an assignment was certain to miss its bound.
func decided(m *simulate.MissedError, with scenario.Set) Evidence {
	return Evidence{"certain with " + with.String() + " after", m.After.Seconds(), "seconds"}
}

// unhelped explains why more IOPS do not help: another limit holds the volume's requests back, or
// none does. It returns "" if it is the volume's IOPS.
func (p *planner) unhelped(name string) string {
	var limit string
	var held, all float64
	for _, v := range p.current.result.Volumes {
		if v.Name != name && !strings.HasSuffix(v.Name, "/"+name) {
			continue
		}

		if v.AwaitSeconds != nil {
			// total time in requests: mean latency times their number
			all += *v.AwaitSeconds * v.IOPS * p.current.result.Seconds
		}

		for _, h := range v.HeldBy {
			if h.Seconds > held {
				limit, held = h.Name, h.Seconds
			}
		}
	}

	switch {
	case all > 0 && held < helps*all:
		return "; latency-bound: no limit holds its requests back for long, each request simply takes that long"
	case limit != "" && limit != volume.VolumeIOPS.String():
		return "; its requests are held back by: " + limit
	}

	return ""
}

// instanceCap states whether the machine is the bottleneck rather than the volume.
func (p *planner) instanceCap() []Statement {
	var out []Statement
	for _, o := range []*outcome{p.current, p.found.chosen} {
		if o == nil || p.opt.New && o != p.found.chosen || o.result == nil || o == p.found.chosen && o.values == 0 {
			continue
		}

		instance, all := 0.0, 0.0
		for _, v := range o.result.Volumes {
			for _, h := range v.HeldBy {
				switch h.Name {
				case volume.InstanceIOPS.String(), volume.InstanceThroughput.String(), volume.InstanceCredits.String():
					instance += h.Seconds
				case volume.Slots.String():
					continue // a consequence of another limit
				}
				all += h.Seconds
			}
		}

		if all == 0 || instance < 0.5*all {
			continue
		}

		which := "now"
		if o == p.found.chosen {
			which = "chosen"
		}

		out = append(out, Statement{"instance-cap",
			fmt.Sprintf("%s: the instance is the bottleneck: its limits account for %s of the time that limits hold requests back; a faster volume does not change that",
				which, units.Percent(instance/all)),
			[]Evidence{{"requests held back by the instance", instance, units.OpSeconds},
				{"by all limits", all, units.OpSeconds}}})
	}

	return out
}

// burst states which burst credits run out.
func (p *planner) burst() []Statement {
	var out []Statement
	add := func(which string, o *outcome) {
		sc, err := p.now.With(p.space.sets(o.choice)...)
		if err != nil {
			return
		}
		for _, c := range credits(sc, o) {
			out = append(out, Statement{"credits", which + ": " + c.Text, []Evidence{
				{"used per second", c.Demand, ""}, {"refilled per second", c.Refill, ""},
				{"until empty", c.Empty.Seconds(), "seconds"},
			}})
		}
	}

	if !p.opt.New {
		add("now", p.current)
	}
	if c := p.found.chosen; c != nil && (c.values > 0 || p.opt.New) && c.result != nil {
		add("chosen", c)
	}

	return out
}

// margin warns if an objective is met by less than the model's error.
func (p *planner) margin() []Statement {
	c := p.found.chosen
	if c == nil || c.result == nil {
		return nil
	}

	var out []Statement
	figures := predicted(c.result)
	for _, b := range p.want {
		f, ok := figures[b.Name+"_seconds"]
		if most := float64(b.Most) / 1e9; ok && f.High > most {
			e := simulate.AccuracyOf(kindOf(b.Name))
			out = append(out, Statement{"margin",
				fmt.Sprintf("%s is met by less than the model's worst error: predicted %s, but %s if the model is off by a factor of %.1f, its worst error for a %s (median: %.2f); the bound is %s. Test it in the lab before you buy it",
					b.Name, units.Seconds(f.Value), units.Seconds(f.High), e.Worst, kindOf(b.Name), e.Median, b.Most),
				[]Evidence{{b.Name, f.Value, "seconds"}, {b.Name + " at worst", f.High, "seconds"},
					{"bound divided by prediction", math.Round(100*most/f.Value) / 100, ""}}})
		}
	}

	return out
}
