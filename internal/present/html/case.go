package html

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/base/units"
	measuredtable "plimsoll/internal/lab/table"
)

// Case writes a walk through a published case as a page: its steps with each published figure beside the model's, where the
// published claim is wrong, the plan with its files and its proof, and the simulated scenario with its charts.
func Case(w io.Writer, k *casebook.Walk, opt Options) error {
	if k.Case == nil {
		return fmt.Errorf("a walk without a case")
	}
	return write(w, casePage(k, opt))
}

func casePage(k *casebook.Walk, opt Options) *page {
	c := k.Case
	title := strings.ToUpper(c.Title[:min(1, len(c.Title))]) + c.Title[min(1, len(c.Title)):]
	p := &page{Kind: "Case", Title: title, Verdict: title, Lead: []string{c.Published}, Footer: opt.Program, queries: &queries{}}
	for _, v := range c.Variants {
		opt.Origin.Sets = append(opt.Origin.Sets, v.Set)
	}
	g := newLedger(opt.Origin)
	p.evidence = g
	g.page("This walk")
	if found := planVerdict(k.Plan); found != "" {
		p.Verdict += ": " + found
	}
	p.Facts = caseFacts(k, g)
	for i, s := range k.Steps {
		out := section{ID: "step" + number(i+1), Title: sentenceCase(s.Step), Parts: []part{{Text: s.Text}}}
		if s.Step == "cause" && k.Diagnosis != nil {
			out.Parts = append(out.Parts, part{Text: "Diagnosing the simulated recording says: " + k.Diagnosis.Verdict},
				part{Text: "Rules that hold: " + strings.Join(k.Diagnosis.Rules, ", ") + "."})
		}
		if len(s.Figures) > 0 {
			out.Parts = append(out.Parts, part{Table: walkedTable(c, s.Figures, g)})
		}
		p.Sections = append(p.Sections, out)
	}
	p.Sections = append(p.Sections, caseEnd(k, p.queries, g)...)
	if len(k.Corrections) > 0 {
		out := section{ID: "wrong", Title: "Where the published claim is wrong"}
		for _, x := range k.Corrections {
			out.Parts = append(out.Parts, part{Quote: x.Claim}, part{Text: x.Truth})
			if len(x.Figures) > 0 {
				out.Parts = append(out.Parts, part{Table: walkedTable(c, x.Figures, g)})
			}
		}
		p.Sections = append(p.Sections, out)
	}
	if len(k.Tried) > 0 {
		p.Sections = append(p.Sections, triedSection(k.Tried, g))
	}
	if len(k.Results) > 0 && k.Results[0] != nil {
		g.runs(k.Results)
		p.Sections = append(p.Sections, compareSection(k.Results, g))
		p.resultSections(k.Results)
	}
	p.Sections = append(p.Sections, caseTrust(k, g))
	p.Sections = append(p.Sections, g.section()...)
	p.Sections = append(p.Sections, p.queries.section()...)
	return p
}

func sentenceCase(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// caseFacts are the first figures that both the publication and the model have.
func caseFacts(k *casebook.Walk, g *ledger) []fact {
	var out []fact
	for i, s := range k.Steps {
		for _, f := range s.Figures {
			if len(out) < 4 && len(f.Published) > 0 && f.Got != nil {
				out = append(out, fact{Label: figureLabel(f), Value: units.Value(*f.Got, f.Unit), Note: "published " + publishedText(f), Href: "#step" + number(i+1), Ref: g.walked(k.Case, f)})
			}
		}
	}
	if f, ok := planFact(k.Plan, g); ok {
		out = append(out, f)
	}
	if n := len(k.Corrections); n > 0 {
		out = append(out, fact{Label: "published claims that are wrong", Value: number(n), Href: "#wrong"})
	}
	return out
}

func figureLabel(f casebook.WalkedFigure) string {
	if f.Variant == "" {
		return f.Name
	}
	return f.Name + ", " + f.Variant
}

func publishedText(f casebook.WalkedFigure) string {
	var ends []string
	for _, x := range f.Published {
		ends = append(ends, units.Value(x, f.Unit))
	}
	return strings.Join(ends, " to ")
}

func walkedTable(c *casebook.Case, figures []casebook.WalkedFigure, g *ledger) *table {
	tab := &table{Caption: "Published figures beside the model's", Columns: []column{{}, {Text: "published", Number: true}, {Text: "model", Number: true}, {Text: "deviation", Number: true}}}
	for _, f := range figures {
		published, got, deviation, source, told := "–", "not modelled", "–", "", g.walked(c, f)
		if len(f.Published) > 0 {
			published, source = publishedText(f), g.published(c)
		}
		if f.Got != nil {
			got = units.Value(*f.Got, f.Unit)
		} else if f.Model != "" {
			got = "not measurable"
		}
		if f.Deviation != nil {
			deviation = fmt.Sprintf("%+.0f %%", 100**f.Deviation)
			if len(f.Published) == 2 && *f.Deviation == 0 {
				deviation = "within"
			}
		}
		tab.Rows = append(tab.Rows, []cell{{Text: figureLabel(f), Note: f.Note, Ref: told}, {Text: published, Number: true, Href: source}, {Text: got, Number: true, Href: told}, {Text: deviation, Number: true, Href: told}})
	}
	return tab
}

// triedSection is what the real engine made of the case's advice.
func triedSection(all []casebook.Tried, g *ledger) section {
	tab := &table{Caption: "The advice, tried with a real engine", Columns: []column{{Text: "advice"}, {Text: "does it hold"}, {Text: "figure"}, {Text: "before", Number: true}, {Text: "after", Number: true}}}
	for _, x := range all {
		row := []cell{{Text: x.Says, Note: x.Claim}, {Text: string(x.Holds)}, {}, {Number: true}, {Number: true}}
		for i, r := range []*measuredtable.Row{x.Before, x.After} {
			if r != nil {
				row[2].Text = r.Figure
				row[3+i].Href = g.accurate()
				row[3+i].Text, row[3+i].Note = optional(r.Lab, r.Unit), "model "+optional(r.Model, r.Unit)
			}
		}
		tab.Rows = append(tab.Rows, row)
	}
	return section{ID: "tried", Title: "Tried with a real engine", Note: "On emulated volumes a fraction of the published size: the figures differ, what helped should help.", Parts: []part{{Table: tab}}}
}

func caseTrust(k *casebook.Walk, g *ledger) section {
	text := "No parameter of the model was set with this case's figures: each deviation is the model's, or the publication's."
	if k.Case.Calibrated != "" {
		text = "Calibrated on this very case: " + k.Case.Calibrated
	}
	parts := []part{{Text: text}}
	if len(k.Results) > 0 && k.Results[0] != nil && k.Results[0].ModelError != "" {
		parts = append(parts, part{Text: "Error bar: " + k.Results[0].ModelError, Ref: g.accurate()})
	}
	for _, a := range k.Case.Assumed {
		parts = append(parts, part{Text: "Assumed: " + sentence(a)})
	}
	return section{ID: "trust", Title: "How far to trust it", Parts: parts}
}
