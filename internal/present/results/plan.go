package results

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/shellword"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// Plan shows a plan: what to change, its predicted effect with the model's error, and the price
// frontier: the layouts for which no other is both cheaper and better.
func Plan(planned *plan.Plan, origin Origin) *document.Document {
	goal := goal(planned.Objectives)
	if origin.File == "" {
		origin.File = planned.Scenario.File
	}

	ledger := newLedger(origin)
	out := &document.Document{Kind: "Plan", Title: "Plan: " + goal}
	ledger.page("This plan")

	layout := planned.Chosen
	switch {
	case layout != nil && planned.New:
		out.Verdict = newHeadline(planned, layout) + caveatOf("", layout)
	case layout == nil:
		out.Verdict = "No layout considered reaches " + goal + "." + caveatOf("The nearest: ", planned.Nearest)
	case len(layout.Changes) == 0 && planned.Unpriced:
		out.Verdict = "No change needed for " + goal + "." + caveatOf("", layout)
	case len(layout.Changes) == 0:
		out.Verdict = fmt.Sprintf("No change needed for %s: %s a month as is.", goal,
			units.Dollars(layout.MonthlyUSD)) + caveatOf("", layout)
	default:
		out.Verdict = planHeadline(planned, layout) + caveatOf("", layout)
	}

	where := "in " + planned.Region
	if planned.Unpriced {
		where = "without prices"
	}

	out.Lead = []string{fmt.Sprintf("%s, %s. Considered %s layouts: simulated %d, ruled out %d without simulation.",
		planned.Scenario.File, where, units.Count(planned.Searched.Space), planned.Searched.Simulated,
		planned.Searched.Pruned)}
	out.Facts = planFacts(planned, ledger)
	out.Add(platformsSection(planned, ledger))
	if layout != nil && len(layout.Changes) > 0 {
		title := "What to change"
		if planned.New {
			title = "What to buy"
		}
		out.Add(document.Section{ID: "changes", Title: title, Screen: document.Always,
			Parts: []document.Part{{Table: changesTable(planned, layout, ledger)}}})
	}

	out.Add(predictedSection(planned, ledger))
	out.Add(frontierSection(planned, ledger))

	out.Add(planWords(planned, ledger)...)
	out.Add(budgetSection(planned, ledger))

	out.Add(document.Section{ID: "trust", Title: "How accurate this is",
		Parts: []document.Part{{Text: "Error bar: " + planned.ErrorBar() + ".", Ref: ledger.accurate()}}})
	if layout != nil && len(layout.Sets) > 0 {
		out.Add(applySection(planned, layout, ledger))
	}

	out.Add(ledger.section())
	return out
}

// caveatOf says in a sentence why a layout's figures do not hold, or only for a while; "" if they
// hold.
func caveatOf(prefix string, l *plan.Layout) string {
	if l == nil || len(l.Caveats) == 0 {
		return ""
	}
	c := l.Caveats[0]
	if c.HoldsSeconds > 0 {
		return " " + document.Sentence(fmt.Sprintf("%sMet for %s, then missed: %s", prefix,
			units.Seconds(c.HoldsSeconds), c.Text))
	}
	return " " + document.Sentence(prefix+c.Text)
}

// applySection has the commands that simulate a layout again and write its files, or says where the
// files are.
func applySection(p *plan.Plan, c *plan.Layout, g *ledger) document.Section {
	again := g.simulated(c.Sets)

	// A scenario that was fitted to sources has to be created before it can be simulated.
	if g.Made != "" {
		again = g.Made + " && " + again
	}

	files := document.Part{Text: "Write the files that apply it:",
		Commands: []string{g.called() + " -o json > plan.json", "plimsoll emit plan.json --help"}}
	switch {
	case g.Folder != "":
		files = document.Part{Text: "The files that apply it were written; their README says how to use them:",
			Commands: []string{"less " + shellword.Quote(filepath.Join(g.Folder, "README.md"))}}
	case p.To != "":
		files.Commands = []string{g.called() + " --out layout"}
	}

	return document.Section{ID: "apply", Title: "Next steps", Screen: document.Always,
		Parts: []document.Part{{Text: "Run it again:", Commands: []string{again}}, files}}
}

// morePrice compares the price of a layout with the current one.
func morePrice(p *plan.Plan, then float64) string {
	if p.Unpriced {
		return "without prices"
	}

	now := p.Now.MonthlyUSD
	switch {
	case math.Abs(then-now) < 0.005:
		return "at the same price"
	case then > now:
		return "for " + units.Dollars(then-now) + " more a month"
	}
	return "for " + units.Dollars(now-then) + " less a month"
}

func goal(objectives []plan.Objective) string {
	var want []string
	for _, o := range objectives {
		want = append(want, o.Name+" < "+units.Seconds(o.MostSeconds))
	}
	return strings.Join(want, " and ")
}

func planFacts(planned *plan.Plan, sources *ledger) []document.Fact {
	shown, word := shownLayout(planned)

	var out []document.Fact
	if !planned.Unpriced && planned.Now != nil {
		out = append(out, document.Fact{Label: "now, a month", Value: units.Dollars(planned.Now.MonthlyUSD),
			Ref: sources.priced()})
	}

	if shown == nil {
		return out
	}

	if !planned.Unpriced {
		out = append(out, document.Fact{Label: word + ", a month", Value: units.Dollars(shown.MonthlyUSD),
			Note: againstNow(planned.Now, shown), Href: "#frontier", Ref: sources.priced()})
	}

	for _, o := range planned.Objectives {
		f, ok := shown.Predicted[o.Name+"_seconds"]
		if !ok {
			continue
		}

		level := document.Critical
		if f.Value <= o.MostSeconds {
			level = document.Good
		}

		note := units.Seconds(f.Low) + " to " + units.Seconds(f.High) + " with the model's error"
		if before, ok := predictedNow(planned, o.Name+"_seconds"); ok {
			note += "; now " + units.Seconds(before.Value)
		}

		out = append(out, document.Fact{Label: plainName(o.Name) + ", " + word, Value: units.Seconds(f.Value),
			Note: note, Level: level, Href: "#predicted", Ref: sources.layout(shown)})
	}

	return out
}

// predictedNow returns a figure of the current deployment; false for a new one.
func predictedNow(p *plan.Plan, figure string) (plan.Prediction, bool) {
	if p.Now == nil {
		return plan.Prediction{}, false
	}
	f, ok := p.Now.Predicted[figure]
	return f, ok
}

func plainName(figure string) string {
	return strings.ReplaceAll(strings.TrimSuffix(figure, "_seconds"), "_", " ")
}

// againstNow is the difference between a layout's price and the current one.
func againstNow(now, then *plan.Layout) string {
	// Less than half a cent is rounding.
	if now == nil {
		return ""
	}
	if math.Abs(then.MonthlyUSD-now.MonthlyUSD) < 0.005 {
		return "same as now"
	}
	return change(&now.MonthlyUSD, &then.MonthlyUSD, "USD")
}

func changesTable(p *plan.Plan, c *plan.Layout, g *ledger) *document.Table {
	tab := document.NewTable("Changes", "setting", "now", "then", "#a month", "requires")
	for _, x := range c.Changes {
		// It removes a setting that was not set, so nothing changes.
		if x.From == "" && x.To == "" {
			continue
		}

		cost := "free"
		switch {
		case x.USD > 0 && p.New:
			cost = units.Dollars(x.USD)
		case x.USD > 0:
			cost = "+" + units.Dollars(x.USD)
		case x.USD < 0:
			cost = "−" + units.Dollars(-x.USD)
		}

		tab.Add([]document.Cell{{Text: x.Path, Roles: "code"}, {Text: cmp.Or(x.From, "–"), Roles: "code"},
			{Text: cmp.Or(x.To, "(not set)"), Roles: "code"}, priceCell(p, cost, g), {Text: needText(x.Needs)}})
	}

	if p.New {
		tab.Columns = slices.Delete(tab.Columns, 1, 2)
		tab.Columns[0].Text, tab.Columns[1].Text = "what", "order"
		for i, row := range tab.Rows {
			tab.Rows[i] = slices.Delete(row, 1, 2)
		}
	}

	for _, r := range c.Risks {
		tab.Notes = append(tab.Notes, "Risk: "+strings.TrimSuffix(r.Text, ".")+".")
	}

	return tab
}

// priceCell is an amount of money; empty without prices.
func priceCell(p *plan.Plan, text string, g *ledger) document.Cell {
	if p.Unpriced {
		return document.Cell{Number: true}
	}
	return document.Cell{Text: text, Number: true, Href: g.priced()}
}

// needText says what a change requires.
func needText(need string) string {
	switch need {
	case "online":
		return "nothing: applied online"
	case "application":
		return "a change to the application"
	}
	return "a " + need
}

// predictedSection shows the model's figures for the current layout and for the layout shown, with
// the model's error.
func predictedSection(planned *plan.Plan, g *ledger) document.Section {
	shown, word := shownLayout(planned)

	now, then, off := "", "", ""
	if planned.Now != nil {
		now = g.layout(planned.Now)
	}
	if shown != nil {
		then, off = g.layout(shown), g.accurate()
	}

	tab := &document.Table{Caption: "Predicted figures",
		Columns: []document.Column{{}, {Text: "now", Number: true, Ref: now}, {Text: word, Number: true, Ref: then},
			{Text: "with the model's error", Number: true, Ref: off}, {Text: "change", Number: true}}}
	var names []string
	for _, o := range planned.Objectives {
		names = append(names, o.Name+"_seconds")
	}

	// The figures of the objectives come first, then the others in a fixed order.
	for _, n := range []string{"write_p50_seconds", "write_p99_seconds", "write_max_seconds", "read_p99_seconds",
		"checkpoint_median_seconds", "operations_per_second"} {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}

	for _, name := range names {
		unit, label := "seconds", plainName(name)
		if name == "operations_per_second" {
			unit = "1/s"
		}

		before, was := predictedNow(planned, name)
		row := []document.Cell{{Text: label}, {Text: "–", Number: true}, {Text: "–", Number: true}, {Number: true},
			{Number: true}}
		if was {
			row[1].Text, row[1].Href = units.Value(before.Value, unit), now
		}

		is := false
		if shown != nil {
			var f plan.Prediction
			if f, is = shown.Predicted[name]; is {
				row[2].Text, row[2].Href = units.Value(f.Value, unit), then
				row[3].Text, row[3].Href = units.Value(f.Low, unit)+" to "+units.Value(f.High, unit), off
				if was {
					row[4].Text, row[4].Href = change(&before.Value, &f.Value, unit), then
				}
			}
		}

		if was || is {
			tab.Add(row)
		}
	}

	if planned.Now == nil {
		// A new deployment has no "now" and no change from it.
		tab.Columns = slices.Delete(tab.Columns[:4], 1, 2)
		for i, row := range tab.Rows {
			tab.Rows[i] = slices.Delete(row[:4], 1, 2)
		}
	} else if shown == nil {
		// No layout was found, so there is nothing to compare the current figures with.
		tab.Columns = tab.Columns[:2]
		for i, row := range tab.Rows {
			tab.Rows[i] = row[:2]
		}
	}

	// The table of changes is the one of the first screen, if anything changes.
	screen := document.OnRequest
	if planned.Chosen == nil {
		screen = document.IfItFits
	}

	return document.Section{ID: "predicted", Title: "Predicted effect", Screen: screen,
		Parts: []document.Part{{Table: tab}}}
}

// planWords adds statements, sizing, and the layouts that were preferred but are not enough.
func planWords(planned *plan.Plan, sources *ledger) []document.Section {
	var out []document.Section
	if len(planned.Statements) > 0 {
		s := document.Section{ID: "know", Title: "What to know", Screen: document.Always}
		for _, x := range planned.Statements {
			s.Parts = append(s.Parts, document.Part{Text: document.Sentence(x.Text)})
		}
		out = append(out, s)
	}

	if size := planned.Sizing; size != nil {
		sized := sources.page("This plan")
		tab := document.NewTable("Size", "part", "#size", "computed from")
		tab.Notes = size.Limits
		for _, r := range size.Rows {
			text := r.Text
			if r.Sum {
				text = "= " + text
			}
			tab.Add([]document.Cell{{Text: text}, {Text: units.Number(float64(r.Bytes)/1e9) + " GB", Href: sized},
				{Text: r.How}})
		}

		out = append(out, document.Section{ID: "size", Title: "Size", Screen: document.IfItFits, Parts: []document.Part{{Table: tab}}})
	}

	if len(planned.Rejected) > 0 {
		tab := &document.Table{Caption: "Layouts that would be preferred but are not enough",
			Columns: []document.Column{{Text: "layout", Ref: sources.lost(setsNow(planned))}, {Text: "a month", Number: true},
				{Text: "why not"}}}

		// Fewest changes first: a reader wants to know why the simple fix is not enough.
		shown := slices.Clone(planned.Rejected)
		slices.SortStableFunc(shown, func(a,
			b plan.Rejected) int {
			return len(a.Layout.Sets) - len(b.Layout.Sets)
		})

		for _, r := range shown {
			tab.Add([]document.Cell{{Text: orderText(r.Layout), Roles: "code long"},
				priceCell(planned, units.Dollars(r.Layout.MonthlyUSD), sources), {Text: r.Reason}})
		}

		if len(shown) > rejectedUnfolded {
			tab.Fold = fmt.Sprintf("%d layouts, fewest changes first", len(shown))
		}

		rejected := tab.Section("rejected", "Preferred, but not enough")
		if len(shown) > rejectedUnfolded+1 {
			tab.Short = rejectedUnfolded
			rejected.Parts = append(rejected.Parts,
				document.Part{Only: document.Terminal, Text: "-o json has all of them."})
		}

		out = append(out, rejected)
	}

	return out
}

// setsNow are the assignments of the current deployment; none of a new one.
func setsNow(p *plan.Plan) []string {
	if p.Now == nil {
		return nil
	}
	return p.Now.Sets
}

// rejectedUnfolded is how many rejected layouts are shown without unfolding.
const rejectedUnfolded = 8

func setsText(l *plan.Layout) string {
	if len(l.Sets) == 0 {
		return "as is"
	}
	return strings.Join(l.Sets, ", ")
}

// shownLayout is the layout that a plan chose or, if none is enough, the nearest; nil if there is none.
func shownLayout(p *plan.Plan) (l *plan.Layout, word string) {
	if p.Chosen != nil {
		return p.Chosen, "chosen"
	}
	return p.Nearest, "nearest"
}
