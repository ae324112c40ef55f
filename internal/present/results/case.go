package results

import (
	"strconv"
	"strings"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/base/units"
	"plimsoll/internal/judge/rules"
	measuredtable "plimsoll/internal/lab/table"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
)

// Case is a walk through a published case: its steps with each published figure next to the
// model's, where the published claim is wrong, the plan with its files and proof, and the simulated
// scenario with its charts.
func Case(pack *rules.Pack, walk *casebook.Walk, origin Origin) *document.Document {
	published := walk.Case
	title := sentenceCase(published.Title)
	doc := &document.Document{Kind: "Case", Title: title, Verdict: title, Lead: []string{published.Published}}

	for _, v := range published.Variants {
		origin.Sets = append(origin.Sets, v.Set)
	}

	ledger, queries := newLedger(origin), diagnosis.NewQueries(pack)
	ledger.page("This walk")
	if found := planVerdict(walk.Plan); found != "" {
		doc.Verdict += ": " + found
	}

	doc.Facts = caseFacts(walk, ledger)
	for i, s := range walk.Steps {
		out := document.Section{ID: "step" + strconv.Itoa(i+1), Title: sentenceCase(s.Step),
			Parts: []document.Part{{Text: s.Text}}}
		// The published cause appears next to the rules' result, which is found without knowing it.
		if s.Step == "cause" && walk.Diagnosis != nil {
			out.Parts = append(out.Parts, document.Part{Text: "Diagnosis of the simulated recording: " +
				walk.Diagnosis.Verdict},
				document.Part{Text: "Rules that hold: " + strings.Join(walk.Diagnosis.Rules, ", ") + "."})
		}
		if len(s.Figures) > 0 {
			out.Parts = append(out.Parts, document.Part{Table: walkedTable(published, s.Figures, ledger)})
		}
		doc.Add(out)
	}

	doc.Add(caseEnd(walk, queries, ledger)...)
	if len(walk.Corrections) > 0 {
		out := document.Section{ID: "wrong", Title: "Where the published claim is wrong"}
		for _, x := range walk.Corrections {
			out.Parts = append(out.Parts, document.Part{Quote: x.Claim}, document.Part{Text: x.Truth})
			if len(x.Figures) > 0 {
				out.Parts = append(out.Parts, document.Part{Table: walkedTable(published, x.Figures, ledger)})
			}
		}
		doc.Add(out)
	}

	if len(published.Server) > 0 {
		doc.Add(serverSection(published.Server))
	}

	if len(walk.Tried) > 0 {
		doc.Add(triedSection(walk.Tried, ledger))
	}

	if len(walk.Results) > 0 && walk.Results[0] != nil {
		ledger.runs(walk.Results)
		doc.Add(compareSection(walk.Results, ledger))
		first := len(doc.Sections)
		resultSections(doc, walk.Results, ledger)
		for i := range doc.Sections[first:] {
			// A terminal user can get these from plimsoll simulate, variant by variant.
			doc.Sections[first+i].Only = document.Page | document.Markdown
		}
	}

	doc.Add(caseTrust(walk, ledger))
	doc.Add(ledger.section())
	doc.Add(queries.Section())

	return doc
}

func sentenceCase(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// caseFacts returns the first figures that both the publication and the model have.
func caseFacts(k *casebook.Walk, g *ledger) []document.Fact {
	var out []document.Fact
	for i, s := range k.Steps {
		for _, f := range s.Figures {
			if len(out) < 4 && len(f.Published) > 0 && f.Got != nil {
				out = append(out, document.Fact{Label: figureLabel(f), Value: units.Value(*f.Got, f.Unit),
					Note: "published " + publishedText(f), Href: "#step" + strconv.Itoa(i+1), Ref: g.walked(k.Case, f)})
			}
		}
	}

	if f, ok := planFact(k.Plan, g); ok {
		out = append(out, f)
	}

	if n := len(k.Corrections); n > 0 {
		out = append(out, document.Fact{Label: "published claims that are wrong", Value: strconv.Itoa(n),
			Href: "#wrong"})
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

func walkedTable(c *casebook.Case, figures []casebook.WalkedFigure, g *ledger) *document.Table {
	tab := document.NewTable("Published figures and the model's", "", "#published", "#model", "#deviation")
	for _, f := range figures {
		published, got, deviation, source, walked := "–", "not modelled", "–", "", g.walked(c, f)
		if len(f.Published) > 0 {
			published, source = publishedText(f), g.published(c)
		}

		if f.Got != nil {
			got = units.Value(*f.Got, f.Unit)
		} else if f.Model != "" {
			// The case maps the figure to the model, but this result has no value for it.
			got = "not measurable"
		}

		if f.Deviation != nil {
			deviation = units.Deviation(*f.Deviation)
			// Two published values are a range.
			if len(f.Published) == 2 && *f.Deviation == 0 {
				deviation = "within"
			}
		}

		tab.Add([]document.Cell{{Text: figureLabel(f), Note: f.Note, Ref: walked}, {Text: published, Href: source},
			{Text: got, Href: walked}, {Text: deviation, Href: walked}})
	}

	return tab
}

// triedSection shows the results of trying the case's advice on the real engine.
func triedSection(all []casebook.Tried, g *ledger) document.Section {
	tab := document.NewTable("The advice, tested with a real engine", "advice", "holds", "figure", "#before",
		"#after")
	for _, x := range all {
		claim := ""
		if x.Claim != "" {
			claim = "claimed: " + x.Claim
		}

		row := []document.Cell{{Text: x.Says, Note: claim}, {Text: string(x.Holds)}, {}, {Number: true},
			{Number: true}}
		for i, r := range []*measuredtable.Row{x.Before, x.After} {
			if r != nil {
				row[2].Text = r.Figure
				row[3+i].Href = g.accurate()
				row[3+i].Text, row[3+i].Note = optional(r.Lab, r.Unit), "model "+optional(r.Model, r.Unit)
			}
		}

		tab.Add(row)
	}

	return document.Section{ID: "tried", Title: "Tested with a real engine", Parts: []document.Part{
		{Text: "Run on emulated volumes, at a fraction of the published size (plimsoll lab table examples/lab). The figures differ from the publication's, but whether the advice helps should not."}, {Table: tab}}}
}

func caseTrust(k *casebook.Walk, g *ledger) document.Section {
	// Agreement with a case that the model was calibrated on would prove nothing.
	text := "No parameter of the model was fitted to this case's figures: every deviation is an error of the model or of the publication."
	if k.Case.Calibrated != "" {
		text = "Calibrated on this case: " + k.Case.Calibrated
	}
	parts := []document.Part{{Text: text}}
	if len(k.Results) > 0 && k.Results[0] != nil && k.Results[0].ModelError != "" {
		parts = append(parts, document.Part{Text: "Error bar: " + k.Results[0].ModelError + ".", Ref: g.accurate()})
	}
	for _, a := range k.Case.Assumed {
		parts = append(parts, document.Part{Text: "Assumed: " + document.Sentence(a)})
	}
	return document.Section{ID: "trust", Title: "How accurate this is", Parts: parts}
}

// Cases lists the embedded cases.
func Cases(all []casebook.Entry) *document.Document {
	tab := document.NewTable("Published cases", "#number", "name", "#variants", "#figures", "title")
	for _, e := range all {
		tab.Add([]document.Cell{{Text: strconv.Itoa(e.Number)}, {Text: e.Name, Roles: "code"},
			{Text: strconv.Itoa(e.Variants)}, {Text: strconv.Itoa(e.Figures)}, {Text: e.Title}})
	}
	return list("Published cases", tab)
}
