package html

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/advise/prove"
	"plimsoll/internal/base/units"
)

// Proof writes a comparison of two recordings as a page: the verdict, each figure's change with its interval, drawn and as a table, whether
// the same was asked of both, and what the intervals rest on.
func Proof(w io.Writer, r *prove.Report, opt Options) error {
	return write(w, proofPage(r, opt))
}

func proofPage(r *prove.Report, opt Options) *page {
	first, rest := firstSentence(r.Sentence)
	p := &page{Kind: "Before and after", Title: first, Verdict: first, Footer: opt.Program, queries: &queries{}}
	if rest != "" {
		p.Lead = append(p.Lead, rest)
	}
	for _, w := range r.Warnings {
		p.Lead = append(p.Lead, "⚠ "+w)
	}
	p.Facts = proofFacts(r)
	p.Sections = append(p.Sections, figuresSection(r, p.queries))
	if len(r.Requirements) > 0 {
		p.Sections = append(p.Sections, requirementsSection(r))
	}
	p.Sections = append(p.Sections, sidesSection(r, opt.location()))
	p.Sections = append(p.Sections, methodSection(r))
	p.Sections = append(p.Sections, p.queries.section()...)
	return p
}

func proofFacts(r *prove.Report) []fact {
	level := map[prove.Verdict]string{prove.Better: "good", prove.Worse: "critical", prove.Mixed: "warning"}
	out := []fact{{Label: "Verdict", Value: string(r.Verdict), Level: level[r.Verdict], Note: "of what clients feel, at " + prove.Percent(r.Confidence) + " confidence"}}
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
		out = append(out, fact{Label: f.Title, Value: f.After.Text(f.Unit), Note: "before " + f.Before.Text(f.Unit) + "; " + string(f.Verdict), Level: level[f.Verdict], Href: "#figures"})
	}
	if c := r.Cost; c != nil && c.ChangeUSD != nil {
		value := "+" + dollars(*c.ChangeUSD)
		if *c.ChangeUSD < 0 {
			value = "−" + dollars(-*c.ChangeUSD)
		}
		out = append(out, fact{Label: "a month", Value: value, Note: optional(c.BeforeUSD, "USD") + " to " + optional(c.AfterUSD, "USD")})
	}
	return out
}

// requiredFact is how many of the requirements are met, and which is not; false if there are none.
func requiredFact(all []prove.Requirement) (fact, bool) {
	if len(all) == 0 {
		return fact{}, false
	}
	out := fact{Label: "Required", Value: "met", Level: "good", Note: all[0].Text, Href: "#required"}
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
func figuresSection(r *prove.Report, q *queries) section {
	tab := &table{Caption: "Figures before and after", Columns: []column{{Text: "figure"}, {Text: "before", Number: true}, {Text: "after", Number: true}, {Text: "change", Number: true},
		{Text: prove.Percent(r.Confidence) + " interval", Number: true}, {Text: "verdict"}, {Text: "to tell, record"}}}
	for i := range r.Figures {
		f := &r.Figures[i]
		record := ""
		if f.Record != nil {
			record = units.Seconds(f.Record.Seconds) + " of both, for " + f.Record.For
		}
		name := cell{Text: f.Title, Note: f.Basis}
		for i, signal := range f.Signals {
			if link := q.link(signal); i == 0 {
				name.Href = link
			}
		}
		from := name.Href
		tab.Rows = append(tab.Rows, []cell{name, {Text: f.Before.Text(f.Unit), Number: true, Href: from, Note: within(f.Before, f.Unit)},
			{Text: f.After.Text(f.Unit), Number: true, Href: from, Note: within(f.After, f.Unit)}, {Text: changeOf(f), Number: true, Href: from}, {Text: intervalOf(f), Number: true},
			{Text: string(f.Verdict), Class: strings.TrimSpace("word " + verdictClass(f.Verdict))}, {Text: record}})
	}
	out := section{ID: "figures", Title: "Before and after"}
	if svg, ok := drawChanges(r); ok {
		out.Parts = append(out.Parts, part{Figure: &figure{ID: "changes", Title: "Changes with their intervals", SVG: svg,
			Caption: "After over before; as far to the left as to the right is as much less as more, and small changes have more room than large ones. A bar is the " + prove.Percent(r.Confidence) + " interval, the grey band is no change (" + prove.Percent(r.Method.Margin) +
				" either way). A filled mark is told, a hollow one cannot be told yet."}})
	}
	out.Parts = append(out.Parts, part{Table: tab})
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

// Of the drawing of changes; ratios beyond its ends are drawn at them, with an arrow.
const (
	changesWidth = 900.0
	changesLeft  = 170.0
	changesRight = 110.0
	changesRow   = 24.0
	changesMost  = 3000.0 // times more, or less
	changesTick  = 58.0   // between the middles of two ticks, at least
)

// drawChanges draws each figure's ratio with its interval; false if none has one.
func drawChanges(r *prove.Report) (template.HTML, bool) {
	var rows []*prove.Figure
	reach := 1.5
	for i := range r.Figures {
		f := &r.Figures[i]
		if f.Ratio.Value == nil || !(*f.Ratio.Value > 0) {
			continue
		}
		rows = append(rows, f)
		for _, x := range []*float64{f.Ratio.Value, f.Ratio.Low, f.Ratio.High} {
			if x != nil && *x > 0 {
				reach = max(reach, *x, 1/(*x))
			}
		}
	}
	if len(rows) == 0 {
		return "", false
	}
	reach = min(reach*1.15, changesMost)
	height := 14 + changesRow*float64(len(rows)) + 20
	d := newDrawing(changesWidth, height, fmt.Sprintf("Changes of %d figures with their intervals", len(rows)))
	x := scale{from: 1 / reach, to: reach, start: changesLeft, end: changesWidth - changesRight, change: true}
	bottom := height - 18
	d.rect("margin", x.at(1-r.Method.Margin), 6, x.at(1/(1-r.Method.Margin))-x.at(1-r.Method.Margin), bottom-6)
	d.text("tick", "middle", x.at(1), height-4, "as before")
	named := []float64{x.at(1)}
	for _, tick := range []float64{10, 0.1, 100, 0.01, 2, 0.5, 1.1, 0.9, 1000, 0.001} {
		at := x.at(tick)
		if tick > reach || tick < 1/reach || slices.ContainsFunc(named, func(other float64) bool { return math.Abs(other-at) < changesTick }) {
			continue
		}
		named = append(named, at)
		d.line("grid", at, 6, at, bottom)
		d.text("tick", "middle", at, height-4, strings.TrimSuffix(prove.Change(&tick), ".0"))
	}
	d.line("axis", x.at(1), 6, x.at(1), bottom)
	for i, f := range rows {
		d.change(f, x, 18+changesRow*float64(i))
	}
	return d.done(), true
}

// change draws one figure's interval and mark in a row.
func (d *drawing) change(f *prove.Figure, x scale, y float64) {
	inside := func(v float64) float64 { return math.Min(math.Max(v, x.from), x.to) }
	low, high := x.from, x.to
	if f.Ratio.Low != nil && *f.Ratio.Low > 0 {
		low = inside(*f.Ratio.Low)
	}
	if f.Ratio.High != nil {
		high = inside(*f.Ratio.High)
	}
	class := "told"
	switch f.Verdict {
	case prove.Better:
		class = "told-good"
	case prove.Worse:
		class = "told-bad"
	case prove.CantTell:
		class = "untold"
	}
	d.text("strong", "end", changesLeft-10, y+4, f.Title)
	if f.P != nil {
		d.line("interval "+class, x.at(low), y, x.at(high), y)
		d.line("interval "+class, x.at(low), y-4, x.at(low), y+4)
		d.line("interval "+class, x.at(high), y-4, x.at(high), y+4)
	}
	at := x.at(inside(*f.Ratio.Value))
	fmt.Fprintf(&d.b, `<circle class="dot %s" cx="%s" cy="%s" r="4.2"/>`, class, coordinate(at), coordinate(y))
	d.text("tick", "start", changesWidth-changesRight+8, y+4, string(f.Verdict))
}

func requirementsSection(r *prove.Report) section {
	tab := &table{Caption: "Requirements", Columns: []column{{Text: "required"}, {Text: "outcome"}, {Text: "after", Number: true}, {Text: "between", Number: true}, {Text: "to tell, record"}}}
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
		tab.Rows = append(tab.Rows, []cell{{Text: q.Text, Class: "code"}, {Text: mark + string(q.Outcome), Class: class}, {Text: q.After.Text(q.Unit), Number: true},
			{Text: within(q.After, q.Unit), Number: true}, {Text: record}})
	}
	return section{ID: "required", Title: "Required", Parts: []part{{Table: tab}}}
}

// sidesSection says what was compared, and whether the same was asked of both.
func sidesSection(r *prove.Report, loc *time.Location) section {
	sides := &table{Caption: "Recordings", Columns: []column{{}, {Text: "sources"}, {Text: "from"}, {Text: "to"}, {Text: "used", Number: true}, {Text: "units", Number: true}}}
	for _, s := range []struct {
		name string
		*prove.Side
	}{{"before", &r.Before}, {"after", &r.After}} {
		var from []string
		for _, src := range s.Sources {
			from = append(from, fmt.Sprintf("%s (%s)", src.Name, src.Kind))
		}
		unit := whole(int64(s.Units)) + " intervals of " + units.Seconds(s.UnitSeconds)
		if s.CyclesOfOwn {
			unit = whole(int64(s.Units)) + " checkpoint cycles of " + units.Seconds(s.UnitSeconds)
		}
		sides.Rows = append(sides.Rows, []cell{{Text: s.name}, {Text: strings.Join(from, ", "), Class: "long"}, {Text: s.Span.From.In(loc).Format(time.DateTime)},
			{Text: s.Span.To.In(loc).Format("2006-01-02 15:04:05 MST")}, {Text: units.Seconds(s.UsedSeconds), Number: true}, {Text: unit, Number: true}})
	}
	checks := &table{Caption: "Whether the same was asked of both", Columns: []column{{Text: "workload"}, {Text: "before and after"}, {Text: "alike"}}}
	for _, c := range r.Workload.Checks {
		word, class := "✓ yes", "good"
		if !c.OK {
			word, class = "✕ no", "bad"
		}
		checks.Rows = append(checks.Rows, []cell{{Text: c.Name}, {Text: c.Text}, {Text: word, Class: class}})
	}
	parts := []part{{Table: sides}}
	if len(checks.Rows) > 0 {
		parts = append(parts, part{Table: checks})
	}
	return section{ID: "sides", Title: "What was compared", Parts: parts}
}

// methodText says what intervals and verdicts rest on.
func methodText(r *prove.Report) string {
	return fmt.Sprintf("Intervals: a block bootstrap over %s, %s of a figure alone. Verdicts: a permutation test, %s's correction over %d figures: the chance of any false better or worse here is %s at most. No change: within %s.",
		r.Method.Units, prove.Percent(r.Confidence), r.Method.Correction, r.Method.Family, prove.Percent(1-r.Confidence), prove.Percent(r.Method.Margin))
}

func methodSection(r *prove.Report) section {
	parts := []part{{Text: methodText(r)}}
	for _, a := range r.Method.Assumptions {
		parts = append(parts, part{Text: "Assumed: " + sentence(a)})
	}
	if len(r.OnlyBefore) > 0 {
		parts = append(parts, part{Text: "Told only before: " + strings.Join(r.OnlyBefore, ", ") + "."})
	}
	if len(r.OnlyAfter) > 0 {
		parts = append(parts, part{Text: "Told only after: " + strings.Join(r.OnlyAfter, ", ") + "."})
	}
	parts = append(parts, part{Text: fmt.Sprintf("Seed %d: the same recordings give the same report.", r.Seed)})
	return section{ID: "trust", Title: "How far to trust it", Parts: parts}
}
