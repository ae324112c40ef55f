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

// A Statement is something to know before spending money, computed from the runs; each lists the
// figures that it is based on.
type Statement struct {
	// Kind is tune-first, more-iops, instance-cap, credits, margin, nothing-to-change, unmet,
	// incomplete, buckets, buckets-run, target, machine-volumes, latency, unpriced, machine-unpriced, settled,
	// extended, processor, fills.
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

// statements returns all statements.
func (p *planner) statements() []Statement {
	out := []Statement{}
	for _, s := range [][]Statement{p.verdict(), p.moreIOPS(), p.instanceCap(), p.burst(), p.margin()} {
		out = append(out, s...)
	}
	return out
}

// verdict is the result of the search.
func (p *planner) verdict() []Statement {
	c := p.found.chosen
	if c == nil {
		return p.unmet()
	}

	spent := c.price - p.current.price
	free := p.freeChanges(c)
	switch {
	case !p.found.complete:
		return []Statement{{"incomplete",
			fmt.Sprintf("this layout meets the objective, and no preferred one that differs in a single setting does; but only the %d cheapest of all layouts were simulated, so a cheaper one may exist",
				p.found.runs), []Evidence{{"simulated", float64(p.found.runs), ""}}}}
	case c.values == 0:
		return []Statement{{"nothing-to-change", "the current layout meets the objective, and nothing cheaper that was considered does",
			[]Evidence{}}}
	case spent <= 0 && free == c.values:
		return []Statement{{"tune-first", "tune first: it costs nothing",
			[]Evidence{{"more a month", spent.usd(), "USD"}}}}
	case free > 0:
		return []Statement{{"tune-first",
			fmt.Sprintf("tune first: %d of %d changes cost nothing, and the rest is not enough without them", free,
				c.values), []Evidence{{"more a month", spent.usd(), "USD"}}}}
	}

	n := p.settingsRejected()
	if n == 0 || spent <= 0 {
		return []Statement{}
	}

	return []Statement{{"tune-first",
		fmt.Sprintf("tuning alone is not enough: none of %d layouts with other settings at the current price meets the objective",
			n),
		[]Evidence{{"layouts that change settings only", float64(n), ""}, {"more a month", spent.usd(), "USD"}}}}
}

// freeChanges is how many of a layout's values are settings.
func (p *planner) freeChanges(o *outcome) int {
	n := 0
	for i, k := range o.choice {
		if p.space.axes[i].setting {
			n += len(p.space.axes[i].options[k].sets)
		}
	}
	return n
}

// settingsRejected is the number of rejected layouts that change only settings.
func (p *planner) settingsRejected() int {
	n := 0
	for _, o := range p.found.rejected {
		if o.values > 0 && p.freeChanges(o) == o.values && o.price == p.current.price {
			n++
		}
	}
	return n
}

// unmet says what comes nearest, and what rules out more.
func (p *planner) unmet() []Statement {
	s := Statement{Kind: "unmet", Text: "no layout that was considered meets the objective",
		Evidence: []Evidence{}}
	if !p.found.complete {
		s.Kind = "incomplete"
		s.Text = fmt.Sprintf("the %d cheapest layouts were simulated and none meets the objective, nor does the most that money buys; those between were not simulated",
			p.found.runs)
		s.Evidence = append(s.Evidence, Evidence{"simulated", float64(p.found.runs), ""})
	}

	if n := p.nearest(); n != nil {
		if x, ok := p.figure(n); ok {
			s.Text += fmt.Sprintf("; the nearest has a %s of %s", p.want[0].Name, units.Seconds(x))
			s.Evidence = append(s.Evidence, Evidence{p.want[0].Name + " of the nearest", x, "seconds"})
		}
		if c := n.result.Caveat(p.sim.allowed()...); c != nil {
			s.Text += ", but " + c.Text
		}
		if why := heldBy(n.result); why != "" {
			s.Text += "; there " + why
		}
	}

	// A layout rejected without a run explains it best: by the volume's own latency.
	if i := slices.IndexFunc(p.found.rejected, func(o *outcome) bool { return o.pruned }); i >= 0 {
		s.Text += "; and " + p.found.rejected[i].reason
	}

	return []Statement{s}
}

// heldBy says what slow writes of a run waited for most.
func heldBy(r *simulate.Result) string {
	if r == nil || len(r.Waits) == 0 {
		return ""
	}
	most := slices.MaxFunc(r.Waits,
		func(a, b simulate.WaitResult) int { return cmp.Compare(a.SlowCauseShare, b.SlowCauseShare) })
	text := fmt.Sprintf("slow writes wait for \"%s\" %s of their time", most.Name,
		units.Percent(most.SlowCauseShare))
	if name, limit, seconds := mostHeld(r); seconds > 0 {
		text += fmt.Sprintf(", and requests of %s for its %s", name, limit)
	}
	return text
}

// mostHeld is the limit that held requests back longest.
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

// mostIOPS runs the present deployment with the most IOPS of each volume whose IOPS can be chosen:
// as many as the product offers at that size, and the instance lets through. Whether they help is
// not argued, but measured by a run, unless that would repeat the present deployment's.
func (p *planner) mostIOPS() []*job {
	var out []*job
	on := p.now.Instance()
	for _, v := range p.now.Volumes {
		t, err := catalog.Type(v.Value.Type)
		if err != nil || !t.ChoosesIOPS {
			continue
		}

		l, err := v.Value.Limits(on)
		if err != nil || l.Sustained.IOPS == 0 {
			continue
		}

		most := math.Inf(1)
		if t.IOPSMax.Known() {
			most = float64(t.IOPSMax.Value)
		}

		if t.IOPSPerGiB.Known() {
			most = min(most, max(float64(t.IOPSPerGiB.Value)*math.Floor(float64(v.Value.Size)/float64(units.GiB)),
				float64(t.IOPSIncluded.Value)))
		}

		if on != nil {
			if share, ok := on.ShareOf(&v.Value); ok && share.Maximum.IOPS != 0 {
				most = min(most, float64(share.Maximum.IOPS)/float64(v.Value.Members()))
			}
		}

		if math.IsInf(most, 1) || math.Floor(most) <= float64(l.Sustained.IOPS) {
			continue
		}

		sets := []scenario.Set{{Path: "volumes." + v.Name + ".iops", Value: catalog.IOPS(most)}}
		if v.Value.IOPSPerGB != 0 {
			sets = append(sets, scenario.Set{Path: "volumes." + v.Name + ".iops_per_gb"})
		}

		j := &job{candidate: p.current.candidate, more: sets}
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

// helps is by how much a figure must fall to count as improved: nobody would notice less than a
// tenth.
const helps = 0.10

// noticed is the largest value that is noticeably better than another.
func noticed(than float64) float64 { return (1 - helps) * than }

// moreIOPS says what the most IOPS achieve. If the present deployment misses an objective and so do
// they, their run was ended as soon as that was certain.
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
				fmt.Sprintf("more IOPS are not enough: %s is over %s with %s as well, the maximum%s", m.Bound.Name,
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

// decided is when it was known that a layout with an assignment misses a bound.
func decided(m *simulate.MissedError, with scenario.Set) Evidence {
	return Evidence{"certain with " + with.String() + " after", m.After.Seconds(), "seconds"}
}

// unhelped says why IOPS do not help: what else holds the volume's requests back, or that nothing
// does.
func (p *planner) unhelped(name string) string {
	var limit string
	var held, all float64
	for _, v := range p.current.result.Volumes {
		if v.Name != name && !strings.HasSuffix(v.Name, "/"+name) {
			continue
		}
		if v.AwaitSeconds != nil {
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
		return "; latency-bound: no limit holds its requests back for long; each request simply takes that long"
	case limit != "" && limit != volume.VolumeIOPS.String():
		return "; its requests are held back by: " + limit
	}

	return ""
}

// instanceCap says if the machine is the limit and not the volume.
func (p *planner) instanceCap() []Statement {
	var out []Statement
	for _, o := range []*outcome{p.current, p.found.chosen} {
		if o == nil || o.result == nil || o == p.found.chosen && o.values == 0 {
			continue
		}

		instance, all := 0.0, 0.0
		for _, v := range o.result.Volumes {
			for _, h := range v.HeldBy {
				switch h.Name {
				case volume.InstanceIOPS.String(), volume.InstanceThroughput.String(), volume.InstanceCredits.String():
					instance += h.Seconds
				case volume.Slots.String():
					continue // the consequence of another
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
			fmt.Sprintf("%s: the instance is the cap: its limits account for %s of the time that limits hold requests back; a faster volume does not change that",
				which, units.Percent(instance/all)),
			[]Evidence{{"requests held back by the instance", instance, units.OpSeconds},
				{"by all limits", all, units.OpSeconds}}})
	}

	return out
}

// burst says which credits run out.
func (p *planner) burst() []Statement {
	var out []Statement
	tell := func(which string, o *outcome) {
		sc, err := p.now.With(p.space.sets(o.choice)...)
		if err != nil {
			return
		}
		for _, c := range credits(sc, o) {
			out = append(out, Statement{"credits", which + ": " + c.Text, []Evidence{
				{"asked a second", c.Demand, ""}, {"refilled a second", c.Refill, ""},
				{"until empty", c.Empty.Seconds(), "seconds"},
			}})
		}
	}

	tell("now", p.current)
	if c := p.found.chosen; c != nil && c.values > 0 && c.result != nil {
		tell("chosen", c)
	}

	return out
}

// margin says if an objective is met by less than the model's error.
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
				fmt.Sprintf("%s is met by less than the model's worst error: %s, or %s if it were off by a factor of %.1f as its worst %s was (half of them: %.2f at most), for %s. Try it in the lab before you buy it",
					b.Name, units.Seconds(f.Value), units.Seconds(f.High), e.Worst, kindOf(b.Name), e.Median, b.Most),
				[]Evidence{{b.Name, f.Value, "seconds"}, {b.Name + " at worst", f.High, "seconds"},
					{"times under the bound", math.Round(100*most/f.Value) / 100, ""}}})
		}
	}

	return out
}
