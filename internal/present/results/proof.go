package results

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
)

// Proof is a comparison of two recordings: the verdict, each figure's change with its interval, drawn and as a table, whether
// the same was asked of both, and what the intervals rest on.
// Times are in the time zone; nil means UTC.
func Proof(pack *rules.Pack, r *prove.Report, zone *time.Location) *document.Document {
	if zone == nil {
		zone = time.UTC
	}
	queries := diagnosis.NewQueries(pack)
	p := &document.Document{Kind: "Before and after", Title: document.FirstSentence(r.Sentence), Verdict: r.Sentence}
	for _, w := range r.Warnings {
		p.Lead = append(p.Lead, "⚠ "+w)
	}
	p.Facts = proofFacts(r)
	p.Sections = append(p.Sections, figuresSection(r, queries))
	if len(r.Requirements) > 0 {
		p.Sections = append(p.Sections, requirementsSection(r))
	}
	p.Sections = append(p.Sections, sidesSection(r, zone))
	p.Sections = append(p.Sections, methodSection(r))
	p.Sections = append(p.Sections, queries.Section()...)
	return p
}

func proofFacts(r *prove.Report) []document.Fact {
	level := map[prove.Verdict]document.Level{prove.Better: document.Good, prove.Worse: document.Critical, prove.Mixed: document.Warning}
	out := []document.Fact{{Label: "Verdict", Value: string(r.Verdict), Level: level[r.Verdict], Note: "of what clients feel, at " + prove.Percent(r.Confidence) + " confidence"}}
	if f, ok := requiredFact(r.Requirements); ok {
		out = append(out, f)
	}
	shown := 0
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Wanted == "neither" || f.Before.Value == nil || f.After.Value == nil || shown == 3 {
			continue
		}
		shown++
		out = append(out, document.Fact{Label: f.Title, Value: f.After.Text(f.Unit), Note: "before " + f.Before.Text(f.Unit) + "; " + string(f.Verdict), Level: level[f.Verdict], Href: "#figures"})
	}
	if c := r.Cost; c != nil && c.ChangeUSD != nil {
		value := "+" + units.Dollars(*c.ChangeUSD)
		if *c.ChangeUSD < 0 {
			value = "−" + units.Dollars(-*c.ChangeUSD)
		}
		out = append(out, document.Fact{Label: "a month", Value: value, Note: optional(c.BeforeUSD, "USD") + " to " + optional(c.AfterUSD, "USD")})
	}
	return out
}

// requiredFact is how many of the requirements are met, and which is not; false if there are none.
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
			out.Value, out.Level, out.Note = string(all[i].Outcome), "critical", all[i].Text
		}
	}
	if len(all) > 1 {
		out.Note += fmt.Sprintf("; %d of %d are met", met, len(all))
	}
	return out, true
}

// verdictClass is how a verdict is coloured; the words say the same.
func verdictClass(v prove.Verdict) string {
	switch v {
	case prove.Better:
		return "good"
	case prove.Worse:
		return "bad"
	}
	return ""
}

// figuresSection has each figure's name lead to the first query it was read with.
func figuresSection(r *prove.Report, q *document.Queries) document.Section {
	tab := &document.Table{Caption: "Figures before and after", Columns: []document.Column{{Text: "figure"}, {Text: "before", Number: true}, {Text: "after", Number: true}, {Text: "change", Number: true},
		{Text: prove.Percent(r.Confidence) + " interval", Number: true}, {Text: "verdict"}, {Text: "to tell, record"}}}
	for i := range r.Figures {
		f := &r.Figures[i]
		record := ""
		if f.Record != nil {
			record = units.Seconds(f.Record.Seconds) + " of both, for " + f.Record.For
		}
		name := document.Cell{Text: f.Title, Note: f.Basis}
		for i, signal := range f.Signals {
			if link := q.Link(signal); i == 0 {
				name.Href = link
			}
		}
		from := name.Href
		tab.Rows = append(tab.Rows, []document.Cell{name, {Text: f.Before.Text(f.Unit), Number: true, Href: from, Note: within(f.Before, f.Unit)},
			{Text: f.After.Text(f.Unit), Number: true, Href: from, Note: within(f.After, f.Unit)}, {Text: changeOf(f), Number: true, Href: from}, {Text: intervalOf(f), Number: true},
			{Text: string(f.Verdict), Roles: strings.TrimSpace("word " + verdictClass(f.Verdict))}, {Text: record}})
	}
	out := document.Section{ID: "figures", Title: "Before and after"}
	if drawn := changesOf(r); len(drawn.Rows) > 0 {
		out.Parts = append(out.Parts, document.Part{Figure: &document.Figure{ID: "changes", Title: "Changes with their intervals", Plot: drawn,
			Caption: "After over before; as far to the left as to the right is as much less as more, and small changes have more room than large ones. A bar is the " + prove.Percent(r.Confidence) + " interval, the grey band is no change (" + prove.Percent(r.Method.Margin) +
				" either way). A filled mark is told, a hollow one cannot be told yet."}})
	}
	out.Parts = append(out.Parts, document.Part{Table: tab})
	return out
}

// within is an estimate's interval; "" where it has none.
func within(e prove.Estimate, unit string) string {
	if e.Low == nil || e.High == nil || *e.Low == *e.High {
		return ""
	}
	return prove.Estimate{Value: e.Low}.Text(unit) + " to " + prove.Estimate{Value: e.High}.Text(unit)
}

// changeOf is the change in percent or as a factor, or the difference where before was nothing.
func changeOf(f *prove.Figure) string {
	switch {
	case f.Difference.Value == nil, *f.Difference.Value == 0:
		return ""
	case f.Ratio.Value == nil:
		return prove.Signed(f.Difference.Value, f.Unit)
	}
	return prove.Change(f.Ratio.Value)
}

func intervalOf(f *prove.Figure) string {
	switch {
	case f.P == nil:
		return "too short"
	case f.Difference.Low != nil && f.Difference.High != nil && *f.Difference.Low == 0 && *f.Difference.High == 0:
		return ""
	case f.Ratio.Low == nil && f.Ratio.High == nil:
		return prove.Signed(f.Difference.Low, f.Unit) + " to " + prove.Signed(f.Difference.High, f.Unit)
	}
	return prove.Change(f.Ratio.Low) + " to " + prove.Change(f.Ratio.High)
}

func requirementsSection(r *prove.Report) document.Section {
	tab := &document.Table{Caption: "Requirements", Columns: []document.Column{{Text: "required"}, {Text: "outcome"}, {Text: "after", Number: true}, {Text: "between", Number: true}, {Text: "to tell, record"}}}
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
		tab.Rows = append(tab.Rows, []document.Cell{{Text: q.Text, Roles: "code"}, {Text: mark + string(q.Outcome), Roles: class}, {Text: q.After.Text(q.Unit), Number: true},
			{Text: within(q.After, q.Unit), Number: true}, {Text: record}})
	}
	return document.Section{ID: "required", Title: "Required", Parts: []document.Part{{Table: tab}}}
}

// sidesSection says what was compared, and whether the same was asked of both.
func sidesSection(r *prove.Report, loc *time.Location) document.Section {
	sides := &document.Table{Caption: "Recordings", Columns: []document.Column{{}, {Text: "sources"}, {Text: "from"}, {Text: "to"}, {Text: "used", Number: true}, {Text: "units", Number: true}}}
	for _, s := range []struct {
		name string
		*prove.Side
	}{{"before", &r.Before}, {"after", &r.After}} {
		var from []string
		for _, src := range s.Sources {
			from = append(from, fmt.Sprintf("%s (%s)", src.Name, src.Kind))
		}
		unit := units.Count(int64(s.Units)) + " intervals of " + units.Seconds(s.UnitSeconds)
		if s.CyclesOfOwn {
			unit = units.Count(int64(s.Units)) + " checkpoint cycles of " + units.Seconds(s.UnitSeconds)
		}
		sides.Rows = append(sides.Rows, []document.Cell{{Text: s.name}, {Text: strings.Join(from, ", "), Roles: "long"}, {Text: s.Span.From.In(loc).Format(time.DateTime)},
			{Text: s.Span.To.In(loc).Format("2006-01-02 15:04:05 MST")}, {Text: units.Seconds(s.UsedSeconds), Number: true}, {Text: unit, Number: true}})
	}
	checks := &document.Table{Caption: "Whether the same was asked of both", Columns: []document.Column{{Text: "workload"}, {Text: "before and after"}, {Text: "alike"}}}
	for _, c := range r.Workload.Checks {
		word, class := "✓ yes", "good"
		if !c.OK {
			word, class = "✕ no", "bad"
		}
		checks.Rows = append(checks.Rows, []document.Cell{{Text: c.Name}, {Text: c.Text}, {Text: word, Roles: class}})
	}
	parts := []document.Part{{Table: sides}}
	if len(checks.Rows) > 0 {
		parts = append(parts, document.Part{Table: checks})
	}
	return document.Section{ID: "sides", Title: "What was compared", Parts: parts}
}

// methodText says what intervals and verdicts rest on.
func methodText(r *prove.Report) string {
	return fmt.Sprintf("Intervals: a block bootstrap over %s, %s of a figure alone. Verdicts: a permutation test, %s's correction over %d figures: the chance of any false better or worse here is %s at most. No change: within %s.",
		r.Method.Units, prove.Percent(r.Confidence), r.Method.Correction, r.Method.Family, prove.Percent(1-r.Confidence), prove.Percent(r.Method.Margin))
}

func methodSection(r *prove.Report) document.Section {
	parts := []document.Part{{Text: methodText(r)}}
	for _, a := range r.Method.Assumptions {
		parts = append(parts, document.Part{Text: "Assumed: " + document.Sentence(a)})
	}
	if len(r.OnlyBefore) > 0 {
		parts = append(parts, document.Part{Text: "Told only before: " + strings.Join(r.OnlyBefore, ", ") + "."})
	}
	if len(r.OnlyAfter) > 0 {
		parts = append(parts, document.Part{Text: "Told only after: " + strings.Join(r.OnlyAfter, ", ") + "."})
	}
	parts = append(parts, document.Part{Text: fmt.Sprintf("Seed %d: the same recordings give the same report.", r.Seed)})
	return document.Section{ID: "trust", Title: "How far to trust it", Parts: parts}
}

// changesOf are the figures that have a ratio, as they are drawn.
func changesOf(r *prove.Report) document.Changes {
	out := document.Changes{Margin: r.Method.Margin}
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Ratio.Value == nil || !(*f.Ratio.Value > 0) {
			continue
		}
		row := document.RatioRow{Title: f.Title, Verdict: string(f.Verdict), Ratio: *f.Ratio.Value, Low: f.Ratio.Low, High: f.Ratio.High,
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
