package results

import (
	measuredtable "plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// A LabResult is what a run with a real engine measured, and what the model said of the same scenario.
type LabResult struct {
	Result *simulate.Result
	Model  *simulate.Result // nil if it was not asked for
	// Saturated tells that the laboratory could not keep up: the result is none, and nothing is to be compared with it.
	Saturated bool
	Where     string   // engine, file system and machine
	Remarks   []string // what a reader has to know, a sentence each
}

// LabRun is a run of the laboratory: what a simulation has, with the model beside it in a table and over it in the
// charts.
func LabRun(r LabResult, origin Origin) *document.Document {
	measured := *r.Result
	measured.Variant = "lab"
	results := []*simulate.Result{&measured}
	p := &document.Document{Kind: "Lab run", Title: measured.Scenario + ": lab run", Verdict: verdictOf(&measured), Lead: []string{loadText(&measured), "In the lab: " + r.Where + "."}}
	g := newLedger(origin)
	g.real = true
	ran := g.page("The laboratory")
	p.Facts = resultFacts(&measured, g)
	if r.Saturated {
		p.Verdict = "The laboratory could not keep up: this is no result."
	}
	for _, text := range r.Remarks {
		p.Lead = append(p.Lead, document.Sentence(text))
	}
	if r.Model != nil {
		model := *r.Model
		model.Variant = "model"
		results = append(results, &model)
		modelled := g.run(&model, g.sets(0))
		p.Sections = append(p.Sections, besideSection(&measured, &model, r.Saturated, ran, modelled))
	}
	resultSections(p, results, g)
	p.Sections = append(p.Sections, aboutSection(&measured, g))
	p.Sections = append(p.Sections, g.section()...)
	return p
}

// besideSection is the model's figures next to the laboratory's.
func besideSection(measured, model *simulate.Result, saturated bool, ran, modelled string) document.Section {
	tab := &document.Table{Caption: "The laboratory and the model", Columns: []document.Column{{}, {Text: "lab", Number: true, Ref: ran}, {Text: "model", Number: true, Ref: modelled}, {Text: "the model is off", Number: true}}}
	for _, row := range measuredtable.Rows(measured, model, saturated) {
		tab.Rows = append(tab.Rows, []document.Cell{{Text: row.Figure}, {Text: optional(row.Lab, row.Unit), Number: true, Href: ran}, {Text: optional(row.Model, row.Unit), Number: true, Href: modelled},
			{Text: change(row.Lab, row.Model, row.Unit), Number: true, Href: modelled}})
	}
	return document.Section{ID: "beside", Title: "Lab and model", Parts: []document.Part{{Table: tab}}}
}
