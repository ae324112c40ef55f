package results

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
)

// Proof shows a comparison of two recordings: the verdict, each figure's change with its interval
// as a plot and a table, whether both had the same load, and how the intervals were computed. Times
// are in the given zone; nil means UTC. after is the argument of the recording after the change,
// and watching the running watch that keeps it, if any.
func Proof(pack *rules.Pack, r *prove.Report, zone *time.Location, after string,
	watching *document.Watching) *document.Document {
	if zone == nil {
		zone = time.UTC
	}

	queries := diagnosis.NewQueries(pack)
	p := &document.Document{Kind: "Before and after", Title: document.FirstSentence(r.Sentence),
		Verdict: r.Sentence}
	for _, w := range r.Warnings {
		p.Lead = append(p.Lead, "⚠ "+w)
	}

	p.Facts = proofFacts(r)
	p.Onward = proofOnward(r, after, watching)
	p.Add(figuresSection(r, queries))
	if len(r.Requirements) > 0 {
		p.Add(requirementsSection(r))
	}

	p.Add(recordSection(r))
	p.Add(settingsSection(r))
	p.Add(sidesSection(r, zone))
	p.Add(methodSection(r))
	p.Add(queries.Section())

	return p
}

func proofFacts(r *prove.Report) []document.Fact {
	level := map[prove.Verdict]document.Level{prove.Better: document.Good, prove.Worse: document.Critical,
		prove.Mixed: document.Warning}
	out := []document.Fact{{Label: "Verdict", Value: string(r.Verdict), Level: level[r.Verdict],
		Note: "on client latency and throughput, at " + prove.Percent(r.Confidence) + " confidence"}}
	if f, ok := requiredFact(r.Requirements); ok {
		out = append(out, f)
	}

	shown := 0
	for i := range r.Figures {
		f := &r.Figures[i]
		// Figures for which neither direction is better, such as the load, explain the verdict
		// but are not the result.
		if f.Wanted == "neither" || f.Before.Value == nil || f.After.Value == nil || shown == 3 {
			continue
		}
		shown++
		out = append(out, document.Fact{Label: f.Title, Value: f.After.Text(f.Unit),
			Note: "before " + f.Before.Text(f.Unit) + "; " + string(f.Verdict), Level: level[f.Verdict],
			Href: "#figures"})
	}

	if c := r.Cost; c != nil && c.ChangeUSD != nil {
		value := cmp.Or(change(c.BeforeUSD, c.AfterUSD, "USD"), "as before")
		out = append(out, document.Fact{Label: "a month", Value: value,
			Note: optional(c.BeforeUSD, "USD") + " to " + optional(c.AfterUSD, "USD")})
	}

	return out
}

// requiredFact says how many requirements are met, and which are not; false if there are none.
func requiredFact(all []prove.Requirement) (document.Fact, bool) {
	if len(all) == 0 {
		return document.Fact{}, false
	}

	out := document.Fact{Label: "Required", Value: "met", Level: "good", Note: all[0].Text, Href: "#required"}
	met := 0
	for i := range all {
		if all[i].Outcome == prove.Met {
			met++
		} else if out.Level == "good" {
			// The first requirement that is not met decides.
			out.Value, out.Level, out.Note = string(all[i].Outcome), "critical", all[i].Text
		}
	}

	if len(all) > 1 {
		out.Note += fmt.Sprintf("; %d of %d are met", met, len(all))
	}

	return out, true
}

// verdictClass returns the colour of a verdict, which the text also states in words.
func verdictClass(v prove.Verdict) string {
	switch v {
	case prove.Better:
		return "good"
	case prove.Worse:
		return "bad"
	}
	return ""
}

// figuresSection links each figure's name to the first query that it was read with.
func figuresSection(report *prove.Report, q *diagnosis.Queries) document.Section {
	tab := document.NewTable("Figures before and after", "figure", "#before", "#after", "#change",
		"#"+prove.Percent(report.Confidence)+" interval", "verdict")

	for i := range report.Figures {
		f := &report.Figures[i]
		name := document.Cell{Text: f.Title}

		// All signals are in the list of queries, but a name can link to only one of them.
		for i, signal := range f.Signals {
			if link := q.Link(signal); i == 0 {
				name.Href = link
			}
		}

		from := name.Href
		tab.Add([]document.Cell{name, {Text: f.Before.Text(f.Unit), Href: from, Detail: within(f.Before, f.Unit)},
			{Text: f.After.Text(f.Unit), Href: from, Detail: within(f.After, f.Unit)}, {Text: changeOf(f), Href: from},
			{Text: f.Interval()},
			{Text: string(f.Verdict), Roles: strings.TrimSpace("word " + verdictClass(f.Verdict))}})
	}

	out := document.Section{ID: "figures", Title: "Before and after", Screen: document.IfItFits}
	if drawn := changesOf(report); len(drawn.Rows) > 0 {
		const marks = "A filled mark is a verdict; a hollow one is inconclusive."
		interval := prove.Percent(report.Confidence) + " interval"
		out.Parts = append(out.Parts, document.Part{Figure: &document.Figure{ID: "changes",
			Title: "Changes with their intervals", Plot: drawn,
			Caption: "The ratio of after to before. Equal distances left and right are equal factors down and up; small changes get more room than large ones. A bar is the " +
				interval + ", the grey band means no change (" +
				prove.Percent(report.Method.Margin) +
				" either way). " + marks,
			TerminalCaption: "The ratio of after to before, each with its " + interval + ". " + marks}})
	}

	out.Parts = append(out.Parts, document.Part{Table: tab})
	return out
}

// recordSection says how long to record to get a verdict on inconclusive figures.
func recordSection(r *prove.Report) document.Section {
	tab := document.NewTable("How long to record", "figure", "#record both", "to determine")
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Record != nil {
			tab.Line(f.Title, units.Seconds(f.Record.Seconds), f.Record.For)
		}
	}
	if len(tab.Rows) == 0 {
		return document.Section{}
	}
	return document.Section{ID: "record", Title: "To learn more, record longer", Screen: document.IfItFits,
		Parts: []document.Part{{Table: tab}}}
}

// within is an estimate's interval; "" if it has none.
func within(e prove.Estimate, unit string) string {
	if e.Low == nil || e.High == nil || *e.Low == *e.High {
		return ""
	}
	return prove.Estimate{Value: e.Low}.Text(unit) + " to " + prove.Estimate{Value: e.High}.Text(unit)
}

// changeOf is the change in percent or as a factor, or the difference if there is no ratio.
func changeOf(f *prove.Figure) string {
	switch {
	case f.Difference.Value == nil, *f.Difference.Value == 0:
		return ""
	case f.Ratio.Value == nil:
		return prove.Signed(f.Difference.Value, f.Unit)
	}
	return prove.Change(f.Ratio.Value)
}

func requirementsSection(r *prove.Report) document.Section {
	tab := document.NewTable("Requirements", "required", "outcome", "#after", "#between", "record for")
	for i := range r.Requirements {
		q := &r.Requirements[i]
		class, mark := "bad", "✕ "
		if q.Outcome == prove.Met {
			class, mark = "good", "✓ "
		}

		record := ""
		if q.Record != nil {
			record = units.Seconds(q.Record.Seconds)
		}

		tab.Add([]document.Cell{{Text: q.Text, Roles: "code"}, {Text: mark + string(q.Outcome), Roles: class},
			{Text: q.After.Text(q.Unit)}, {Text: within(q.After, q.Unit)}, {Text: record}})
	}

	return document.Section{ID: "required", Title: "Required", Screen: document.Always,
		Parts: []document.Part{{Table: tab}}}
}

// settingsSection lists the settings that differ.
func settingsSection(r *prove.Report) document.Section {
	if len(r.Settings) == 0 {
		return document.Section{}
	}
	tab := document.NewTable("Settings that changed", "setting", "#before", "#after")
	for _, s := range r.Settings {
		tab.Add([]document.Cell{{Text: s.Name, Roles: "code"}, {Text: s.Before}, {Text: s.After}})
	}
	return document.Section{ID: "settings", Title: "Settings that changed",
		Parts: []document.Part{{Table: tab}}}
}

// sidesSection says what was compared, and whether both had the same load.
func sidesSection(report *prove.Report, loc *time.Location) document.Section {
	var sides []document.Term
	for _, side := range []struct {
		name string
		*prove.Side
	}{{"before", &report.Before}, {"after", &report.After}} {
		var from []string
		for _, src := range side.Sources {
			from = append(from, fmt.Sprintf("%s (%s)", src.Name, src.Kind))
		}

		of := cmp.Or(strings.Join(from, ", "), "no source")
		if side.Server != nil && !strings.Contains(of, side.Server.Name) {
			of = side.Server.Engine + " " + side.Server.Name + ": " + of
		}

		unit := units.Count(int64(side.Units)) + " intervals of " + units.Seconds(side.UnitSeconds)
		if side.CyclesOfOwn {
			unit = units.Count(int64(side.Units)) + " whole checkpoint cycles of " + units.Seconds(side.UnitSeconds)
		}

		unit += ", " + units.Seconds(side.UsedSeconds) + " in total"

		// A difference of less than one sample is rounding, not time that was left out.
		if side.LeftSeconds >= side.StepSeconds && side.LeftSeconds > 0 {
			unit += "; " + units.Seconds(side.LeftSeconds) + " outside them were not used"
		}

		sides = append(sides, document.NewTerm(side.name, of, side.Span.From.In(loc).Format(time.DateTime)+" to "+
			side.Span.To.In(loc).Format("2006-01-02 15:04:05 MST"), unit))
	}

	checks := document.NewTable("Whether both had the same load", "workload", "before and after", "same")
	for _, c := range report.Workload.Checks {
		word, class := "✓ yes", "good"
		if !c.OK {
			word, class = "✕ no", "bad"
		}
		checks.Add([]document.Cell{{Text: c.Name}, {Text: c.Text}, {Text: word, Roles: class}})
	}

	parts := []document.Part{{Terms: sides}}
	if len(checks.Rows) > 0 {
		parts = append(parts, document.Part{Table: checks})
	}

	return document.Section{ID: "sides", Title: "What was compared", Screen: document.IfItFits, Parts: parts}
}

// basisTable lists what the figures were computed from.
func basisTable(r *prove.Report) *document.Table {
	tab := document.NewTable("What the figures were computed from", "figures", "computed from")
	index := map[string]int{}
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Basis == "" {
			continue
		}

		text := document.Sentence(f.Basis)
		if f.Resolution != 0 {
			text += fmt.Sprintf(" Its buckets are %.0f %% wide there, which the intervals already account for; \"no change\" means within %s in addition.",
				100*f.Resolution, prove.Percent(r.Method.Margin))
		}

		// Figures with the same basis share a row.
		if k, ok := index[text]; ok {
			tab.Rows[k][0].Text += ", " + f.Title
			continue
		}

		index[text] = len(tab.Rows)
		tab.Line(f.Title, text)
	}

	return tab
}

// methodText says how intervals and verdicts were computed.
func methodText(r *prove.Report) string {
	of := "whole checkpoint cycles"
	if r.Method.Units != "checkpoint cycles" {
		of = r.Method.Units + ", in blocks as long as their autocorrelation"
	}
	return fmt.Sprintf("Intervals: block bootstrap over %s, %s for each figure separately. Verdicts: permutation test with %s's correction over %d figures; the chance of any false better or worse is at most %s. No change: within %s.",
		of, prove.Percent(r.Confidence), r.Method.Correction, r.Method.Family, prove.Percent(1-r.Confidence),
		prove.Percent(r.Method.Margin))
}

func methodSection(r *prove.Report) document.Section {
	parts := []document.Part{{Text: methodText(r)}}
	if basis := basisTable(r); len(basis.Rows) > 0 {
		parts = append(parts, document.Part{Table: basis})
	}

	for _, a := range r.Method.Assumptions {
		parts = append(parts, document.Part{Text: "Assumed: " + document.Sentence(a)})
	}

	if len(r.OnlyBefore) > 0 {
		parts = append(parts, document.Part{Text: "Reported only before: " +
			strings.Join(r.OnlyBefore, ", ") + "."})
	}

	if len(r.OnlyAfter) > 0 {
		parts = append(parts, document.Part{Text: "Reported only after: " + strings.Join(r.OnlyAfter, ", ") + "."})
	}

	parts = append(parts,
		document.Part{Text: fmt.Sprintf("Seed %d: the same recordings produce the same report.", r.Seed)})
	return document.Section{ID: "trust", Title: "How accurate this is", Parts: parts}
}

// changesOf returns the figures that have a ratio, for drawing.
func changesOf(r *prove.Report) document.Changes {
	out := document.Changes{Margin: r.Method.Margin}
	for i := range r.Figures {
		f := &r.Figures[i]
		// A figure that was zero before has a difference but no ratio.
		if f.Ratio.Value == nil || !(*f.Ratio.Value >= 0) {
			continue
		}

		row := document.RatioRow{Title: f.Title, Verdict: string(f.Verdict), Ratio: *f.Ratio.Value,
			Low: f.Ratio.Low, High: f.Ratio.High,
			Interval: f.P != nil, Certain: f.Verdict != prove.CantTell}
		switch f.Verdict {
		case prove.Better:
			row.Level = document.Good
		case prove.Worse:
			row.Level = document.Critical
		}

		out.Rows = append(out.Rows, row)
	}

	return out
}
