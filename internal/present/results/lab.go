package results

import (
	"fmt"
	"slices"

	measuredtable "plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// A LabResult holds the measurements of a run with a real engine, and the model's figures for the
// same scenario.
type LabResult struct {
	Result *simulate.Result
	Model  *simulate.Result // nil if not requested
	// Saturated says that the lab could not keep up, so the result is invalid and must not be
	// compared with anything.
	Saturated bool
	Where     string   // engine, file system and machine, a sentence
	Failure   string   // a violated guarantee, as a sentence that becomes the verdict
	Remarks   []string // what a reader needs to know, in a sentence each
	// Existing says that the server was already running on its own volumes, which were not
	// measured.
	Existing bool
	// Emulation says how accurately the lab emulated its volumes.
	Emulation []document.Part
}

// LabRun shows a run of the lab like a simulation, with the model's figures in a table and in the
// charts.
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
	ran := g.page("The lab")
	p.Facts = resultFacts(&measured, g)

	if r.Saturated {
		p.Verdict = "The lab could not keep up, so this result is invalid."
	}

	// Lost writes matter more than an invalid measurement, and hold regardless of it.
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
			document.Section{ID: "laboratory", Title: "Measurement quality", Parts: r.Emulation})
	}

	trust := document.Section{ID: "trust", Title: "How accurate this is"}
	for _, w := range measured.Warnings {
		trust.Parts = append(trust.Parts, document.Part{Text: w})
	}

	trust.Parts = append(trust.Parts,
		document.Part{Text: fmt.Sprintf("Seed %d: every run requests the same operations at the same times, but a real engine handles them differently each time.",
			measured.Seed)})
	p.Sections = append(p.Sections, trust)
	p.Sections = append(p.Sections, g.section()...)

	return p
}

// besideSection shows the model's figures next to the lab's.
func besideSection(measured, model *simulate.Result, saturated bool, ran, modelled string) document.Section {
	tab := &document.Table{Caption: "The lab and the model",
		Columns: []document.Column{{}, {Text: "lab", Number: true, Ref: ran},
			{Text: "model", Number: true, Ref: modelled}, {Text: "model error", Number: true}}}
	for _, row := range measuredtable.Rows(measured, model, saturated) {
		tab.Rows = append(tab.Rows, []document.Cell{{Text: row.Figure},
			{Text: optional(row.Lab, row.Unit), Number: true, Href: ran},
			{Text: optional(row.Model, row.Unit), Number: true, Href: modelled},
			{Text: change(row.Lab, row.Model, row.Unit), Number: true, Href: modelled}})
	}
	return document.Section{ID: "beside", Title: "Lab and model", Parts: []document.Part{{Table: tab}}}
}
