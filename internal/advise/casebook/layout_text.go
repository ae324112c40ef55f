package casebook

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/units"
)

// layout writes the end of the arc: the plan, its files, and the proof.
func (p *printer) layout(k *Walk) {
	if k.Plan == nil {
		return
	}
	p.planned(k)
	if k.Plan.Chosen == nil {
		return
	}
	p.line("FILES")
	if len(k.Files) == 0 {
		p.para("  ", "None: what changes is for the application to change.")
	}
	for _, f := range k.Files {
		p.line("  %s", f.Path)
		for _, l := range f.Lines {
			p.line("      %s", clip(l, p.width-6))
		}
	}
	p.blank()
	p.proven(k)
}

func (p *printer) planned(k *Walk) {
	n := k.Plan
	p.line("PLAN")
	var want []string
	for _, o := range n.Objectives {
		want = append(want, o.Name+" < "+units.Seconds(o.MostSeconds))
	}
	to := "To reach " + strings.Join(want, " and ")
	c := n.Chosen
	switch {
	case c == nil:
		p.para("  ", to+": no layout that was looked at does.")
		c = n.Now
	case len(c.Changes) == 0:
		p.para("  ", fmt.Sprintf("%s nothing has to change: %s a month.", to, dollars(c.MonthlyUSD)))
	default:
		p.para("  ", fmt.Sprintf("%s at the least price: %s a month, %s (%d layouts simulated).", to, dollars(c.MonthlyUSD), against(c.MonthlyUSD-n.Now.MonthlyUSD), n.Searched.Simulated))
		for _, x := range c.Changes {
			p.para("  - ", change(&x))
		}
	}
	p.line("    %-24s%16s%16s   %s", "", "now", "chosen", "and the model at worst")
	for _, name := range figuresOf(n) {
		before, known := n.Now.Predicted[name]
		after, also := c.Predicted[name]
		if known && also {
			p.line("    %-24s%16s%16s   %s to %s", strings.ReplaceAll(strings.TrimSuffix(name, "_seconds"), "_", " "),
				figure(name, before.Value), figure(name, after.Value), figure(name, after.Low), figure(name, after.High))
		}
	}
	for _, s := range n.Statements {
		p.para("  ", strings.ToUpper(s.Text[:1])+s.Text[1:]+".")
	}
	for _, r := range c.Risks {
		p.para("  ", "Risk: "+r.Text+".")
	}
	p.sized(n.Sizing)
	p.blank()
}

func change(x *plan.Change) string {
	to, from, cost := x.To, "", "costs nothing"
	if to == "" {
		to = "(not set)"
	}
	if x.From != "" {
		from = fmt.Sprintf(" (now %s)", x.From)
	}
	if math.Abs(x.USD) >= 0.005 {
		cost = against(x.USD)
	}
	return fmt.Sprintf("%s = %s%s: %s, needs: %s", x.Path, to, from, cost, x.Needs)
}

func figuresOf(n *Planned) []string {
	var out []string
	for _, o := range n.Objectives {
		out = append(out, o.Name+"_seconds")
	}
	return append(out, "checkpoint_median_seconds", "operations_per_second")
}

func figure(name string, x float64) string {
	if strings.HasSuffix(name, "_seconds") {
		return units.Seconds(x)
	}
	return units.Number(x) + "/s"
}

func dollars(x float64) string { return units.Value(x, "USD") }

// against is an amount more or less than now's.
func against(x float64) string {
	switch {
	case math.Abs(x) < 0.005:
		return "as much as now"
	case x < 0:
		return dollars(-x) + " less than now"
	}
	return dollars(x) + " more than now"
}

// sized is the arithmetic of how large the volume has to be.
func (p *printer) sized(s *plan.Sizing) {
	if s == nil {
		return
	}
	p.para("  ", "How large the volume has to be:")
	for _, r := range s.Rows {
		text := r.Text
		if r.Sum {
			text = "= " + text
		}
		p.line("%s", strings.TrimRight(fmt.Sprintf("    %-28s%12s   %s", text, units.Number(float64(r.Bytes)/1e9)+" GB", r.How), " "))
	}
}

func (p *printer) proven(k *Walk) {
	r := k.Proof
	if r == nil {
		return
	}
	p.line("PROOF BY RECORDINGS")
	p.para("  ", "The scenario was recorded in simulation, as it is and with the plan, by other seeds; prove compares the two as it would those of production. "+r.Sentence)
	p.para("  ", "Published: "+k.Case.Layout.Published)
	p.line("    %-20s%12s%12s%26s  %s", "", "before", "after", prove.Percent(r.Confidence)+" interval", "verdict")
	for _, f := range k.ProofFigures() {
		p.line("    %-20s%12s%12s%26s  %s", f.Title, f.Before.Text(f.Unit), f.After.Text(f.Unit), f.Interval(), f.Verdict)
	}
	for _, q := range r.Requirements {
		p.para("    ", fmt.Sprintf("%s: %s", q.Text, q.Outcome))
	}
	for _, text := range r.Warnings {
		p.para("  ! ", text)
	}
	p.blank()
}
