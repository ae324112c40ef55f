package results

import (
	"fmt"
	"slices"

	measuredtable "plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// A LabResult is what a run with a real engine measured, and the model's figures for the same
// scenario.
type LabResult struct {
	Result *simulate.Result
	Model  *simulate.Result // nil if it was not asked for
	// Saturated says that the lab could not keep up: the result is invalid, and nothing may be
	// compared with it.
	Saturated bool
	Where     string   // engine, file system and machine, a sentence
	Failure   string   // what must not be, a sentence: it is the verdict then
	Remarks   []string // what a reader needs to know, a sentence each
	// Existing says that the server was already running, on its own volumes, which were not
	// measured.
	Existing bool
	// Emulation says how well the laboratory did its work.
	Emulation []document.Part
}

// LabRun is a run of the lab: the same as a simulation, with the model beside it in a table and
// over it in the charts.
func LabRun(r LabResult, origin Origin) *document.Document {
	measured := *r.Result
	measured.Variant = "lab"
	if r.Existing {
		measured.Volumes = nil
	}

	results := []*simulate.Result{&measured}
	p := &document.Document{Kind: "Lab run", Title: measured.Scenario + ": lab run",
		Verdict: verdictOf(&measured), Lead: []string{loadText(&measured), r.Where}}
	g := newLedger(origin)
	g.real = true
	ran := g.page("The laboratory")
	p.Facts = resultFacts(&measured, g)

	if r.Saturated {
		p.Verdict = "The laboratory could not keep up: this is no result."
	}

	if r.Failure != "" {
		if r.Saturated {
			p.Lead = append(p.Lead, p.Verdict)
		}
		p.Verdict = r.Failure
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
	if r.Existing {
		p.Sections = slices.DeleteFunc(p.Sections, func(s document.Section) bool { return s.ID == "volumes" })
	}

	if len(r.Emulation) > 0 {
		p.Sections = append(p.Sections,
			document.Section{ID: "laboratory", Title: "How well it was measured", Parts: r.Emulation})
	}

	trust := document.Section{ID: "trust", Title: "How far to trust it"}
	for _, w := range measured.Warnings {
		trust.Parts = append(trust.Parts, document.Part{Text: w})
	}

	trust.Parts = append(trust.Parts,
		document.Part{Text: fmt.Sprintf("Seed %d: the same operations are asked for at the same times. What a real engine makes of them differs from run to run.",
			measured.Seed)})
	p.Sections = append(p.Sections, trust)
	p.Sections = append(p.Sections, g.section()...)

	return p
}

// besideSection is the model's figures next to the laboratory's.
func besideSection(measured, model *simulate.Result, saturated bool, ran, modelled string) document.Section {
	tab := &document.Table{Caption: "The laboratory and the model",
		Columns: []document.Column{{}, {Text: "lab", Number: true, Ref: ran},
			{Text: "model", Number: true, Ref: modelled}, {Text: "the model is off", Number: true}}}
	for _, row := range measuredtable.Rows(measured, model, saturated) {
		tab.Rows = append(tab.Rows, []document.Cell{{Text: row.Figure},
			{Text: optional(row.Lab, row.Unit), Number: true, Href: ran},
			{Text: optional(row.Model, row.Unit), Number: true, Href: modelled},
			{Text: change(row.Lab, row.Model, row.Unit), Number: true, Href: modelled}})
	}
	return document.Section{ID: "beside", Title: "Lab and model", Parts: []document.Part{{Table: tab}}}
}
