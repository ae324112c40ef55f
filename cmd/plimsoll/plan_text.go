package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
)

// planText writes a plan for a person.
type planText struct {
	simulateText

	plan *plan.Plan
	fit  string // the command that made the scenario of a recording; "": there was one
}

// Lines shown of lists that may be long.
const (
	planRejected = 8
	planBar      = 30
)

func (t *planText) write(w io.Writer) error {
	t.verdict()
	t.compare()
	t.statements()
	t.sizing()
	t.frontier()
	t.rejected()
	t.next()
	_, err := io.WriteString(w, t.b.String())
	return err
}

func (t *planText) head(text string) {
	t.line("")
	t.line("%s", text)
}

// verdict is what to do, and what it costs.
func (t *planText) verdict() {
	p := t.plan
	var want []string
	for _, o := range p.Objectives {
		want = append(want, o.Name+" < "+units.Seconds(o.MostSeconds))
	}
	t.para("", fmt.Sprintf("To reach %s, %s:", strings.Join(want, " and "), t.where()))
	c := p.Chosen
	switch {
	case c == nil:
		t.para("  ", "no layout that was looked at does.")
		return
	case len(c.Changes) == 0:
		t.para("  ", fmt.Sprintf("nothing has to change: %s as it is.", t.monthly(c.MonthlyUSD)))
		return
	}
	for _, x := range c.Changes {
		if x.From == "" && x.To == "" { // a figure of the type that was left
			continue
		}
		cost := "costs nothing"
		switch {
		case p.Unpriced:
			cost = "price left out"
		case x.USD > 0:
			cost = "+" + dollars(x.USD) + " a month"
		case x.USD < 0:
			cost = "-" + dollars(-x.USD) + " a month"
		}
		to := x.To
		if to == "" {
			to = "(not set)"
		}
		from := ""
		if x.From != "" {
			from = fmt.Sprintf(" (now %s)", x.From)
		}
		t.para("  ", fmt.Sprintf("%s = %s%s: %s, %s", x.Path, to, from, cost, needText(x.Needs)))
	}
	if p.Unpriced {
		return
	}
	now := p.Now.MonthlyUSD
	sum := dollars(c.MonthlyUSD) + " a month"
	switch d := c.MonthlyUSD - now; {
	case math.Abs(d) < 0.005:
		sum += ", as much as now"
	case d > 0:
		sum += fmt.Sprintf(", %s more than now", dollars(d))
	default:
		sum += fmt.Sprintf(", %s less than now", dollars(-d))
	}
	t.para("  ", sum)
}

// where is whose prices count.
func (t *planText) where() string {
	if t.plan.Unpriced {
		return "without prices"
	}
	return "in " + t.plan.Region
}

// monthly is what a layout costs.
func (t *planText) monthly(usd float64) string {
	if t.plan.Unpriced {
		return "whatever it costs"
	}
	return dollars(usd) + " a month"
}

func needText(need string) string {
	switch need {
	case "online":
		return "while it runs"
	case "new volume":
		return "needs a new volume"
	case "application":
		return "needs a change of the application"
	}
	return "needs a " + need
}

// compare shows now and chosen with the model's error.
func (t *planText) compare() {
	after, title := t.plan.Chosen, "chosen"
	if after == nil {
		after, title = t.plan.Nearest, "nearest"
	}
	t.line("")
	t.line("%-28s%22s%34s", "", "now", titled(title, after))
	for _, name := range planFigures(t.plan) {
		before, ok := t.plan.Now.Predicted[name]
		row := []string{"-", "-"}
		if ok {
			row[0] = figureText(name, before.Value)
		}
		if after != nil {
			if f, ok := after.Predicted[name]; ok {
				row[1] = fmt.Sprintf("%s (%s to %s)", figureText(name, f.Value), figureText(name, f.Low), figureText(name, f.High))
			}
		}
		if row[0] != "-" || row[1] != "-" {
			t.line("%-28s%22s%34s", figureName(name), row[0], row[1])
		}
	}
	cost := "-"
	if after != nil {
		cost = dollars(after.MonthlyUSD)
	}
	if !t.plan.Unpriced {
		t.line("%-28s%22s%34s", "a month", dollars(t.plan.Now.MonthlyUSD), cost)
	}
	if after != nil && len(after.Risks) > 0 {
		t.head("RISKS")
		for _, r := range after.Risks {
			t.para("  ", r.Text)
		}
	}
}

func titled(title string, l *plan.Layout) string {
	if l == nil {
		return ""
	}
	return title + ", and the model at worst"
}

// planFigures are those of the objectives, and what one looks at besides.
func planFigures(p *plan.Plan) []string {
	var out []string
	for _, o := range p.Objectives {
		out = append(out, o.Name+"_seconds")
	}
	for _, name := range []string{"write_p50_seconds", "write_p99_seconds", "write_max_seconds", "read_p99_seconds", "checkpoint_median_seconds", "operations_per_second"} {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func figureName(name string) string {
	return strings.ReplaceAll(strings.TrimSuffix(name, "_seconds"), "_", " ")
}

func figureText(name string, x float64) string {
	if strings.HasSuffix(name, "_seconds") {
		return units.Seconds(x)
	}
	return units.Number(x) + "/s"
}

func (t *planText) statements() {
	if len(t.plan.Statements) == 0 {
		return
	}
	t.head("WHAT TO KNOW")
	for _, s := range t.plan.Statements {
		t.para("  ", s.Text)
	}
}

func (t *planText) sizing() {
	s := t.plan.Sizing
	if s == nil {
		return
	}
	t.head("SIZE")
	for _, r := range s.Rows {
		text := r.Text
		if r.Sum {
			text = "= " + text
		}
		t.line("  %-28s%12s   %s", text, units.Number(float64(r.Bytes)/1e9)+" GB", r.How)
	}
	for _, l := range s.Limits {
		t.para("  ", l)
	}
}

// frontier plots what more money buys, on a logarithmic scale: latencies differ by orders of magnitude.
func (t *planText) frontier() {
	p := t.plan
	if len(p.Frontier) < 2 || p.Unpriced {
		return
	}
	name := p.Objectives[0].Name + "_seconds"
	t.head("PRICE AGAINST " + p.Objectives[0].Name + " (none is cheaper and better, of those that were run to the end)")
	least, most := math.Inf(1), 0.0
	for _, l := range p.Frontier {
		x := l.Predicted[name].Value
		least, most = min(least, x), max(most, x)
	}
	bar := "█"
	if t.ascii {
		bar = "#"
	}
	for _, l := range p.Frontier {
		x := l.Predicted[name].Value
		n := planBar
		if most > least {
			n = 1 + int(math.Round((planBar-1)*math.Log(x/least)/math.Log(most/least)))
		}
		first := fmt.Sprintf("  %11s %10s %-*s ", dollars(l.MonthlyUSD), units.Seconds(x), planBar, strings.Repeat(bar, n))
		t.para(first, setsText(l))
	}
}

func setsText(l *plan.Layout) string {
	if len(l.Sets) == 0 {
		return "as it is now"
	}
	return strings.Join(l.Sets, ", ")
}

// rejected are the runners-up: those that change least come first.
func (t *planText) rejected() {
	p := t.plan
	if len(p.Rejected) == 0 {
		return
	}
	t.head(fmt.Sprintf("PREFERRED, BUT NOT ENOUGH (%d layouts simulated, %d ruled out without, of %s)", p.Searched.Simulated, p.Searched.Pruned, whole(p.Searched.Space)))
	shown := slices.Clone(p.Rejected)
	slices.SortStableFunc(shown, func(a, b plan.Rejected) int { return len(a.Layout.Sets) - len(b.Layout.Sets) })
	for _, r := range shown[:min(len(shown), planRejected)] {
		t.para("  ", fmt.Sprintf("%s, %s: %s", setsText(r.Layout), strings.TrimSuffix(t.monthly(r.Layout.MonthlyUSD), " a month"), r.Reason))
	}
	if n := p.Searched.Simulated + p.Searched.Pruned; n > planRejected && len(shown) > planRejected {
		t.para("  ", "and more: -o json has them")
	}
}

// next is how to go on.
func (t *planText) next() {
	c := t.plan.Chosen
	t.line("")
	if c != nil && len(c.Sets) > 0 {
		command := "plimsoll simulate " + t.plan.Scenario.File
		if t.fit != "" {
			command = t.fit + " > fitted.yaml && plimsoll simulate fitted.yaml"
		}
		for _, s := range c.Sets {
			command += " --set '" + s + "'"
		}
		t.para("Run it again: ", command)
		t.para("Apply it:     ", "plimsoll plan ... -o json > plan.json && plimsoll emit plan.json --help")
	}
	t.para("Error bar: ", t.plan.ErrorBar()+".")
}
