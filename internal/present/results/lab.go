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
func LabRun(labResult LabResult, origin Origin) *document.Document {
	measured := *labResult.Result
	measured.Variant = "lab"
	if labResult.Existing {
		measured.Volumes = nil
	}

	results := []*simulate.Result{&measured}
	doc := &document.Document{Kind: "Lab run", Title: measured.Scenario + ": lab run",
		Verdict: verdictOf(&measured), Lead: []string{loadText(&measured), labResult.Where}}
	ledger := newLedger(origin)
	ledger.real = true
	ran := ledger.page("The lab")
	doc.Facts = resultFacts(&measured, ledger)

	if labResult.Saturated {
		doc.Verdict = "The lab could not keep up, so this result is invalid."
	}

	// Lost writes matter more than an invalid measurement, and hold regardless of it.
	if labResult.Failure != "" {
		if labResult.Saturated {
			doc.Lead = append(doc.Lead, doc.Verdict)
		}
		doc.Verdict = labResult.Failure
	}

	for _, text := range labResult.Remarks {
		doc.Lead = append(doc.Lead, document.Sentence(text))
	}

	if labResult.Model != nil {
		model := *labResult.Model
		model.Variant = "model"
		results = append(results, &model)
		modelled := ledger.run(&model, ledger.sets(0))
		doc.Sections = append(doc.Sections, besideSection(&measured, &model, labResult.Saturated, ran, modelled))
	}

	resultSections(doc, results, ledger)
	if labResult.Existing {
		doc.Sections = slices.DeleteFunc(doc.Sections, func(s document.Section) bool { return s.ID == "volumes" })
	}

	if len(labResult.Emulation) > 0 {
		doc.Sections = append(doc.Sections,
			document.Section{ID: "laboratory", Title: "Measurement quality", Parts: labResult.Emulation})
	}

	trust := document.Section{ID: "trust", Title: "How accurate this is"}
	for _, w := range measured.Warnings {
		trust.Parts = append(trust.Parts, document.Part{Text: w})
	}

	trust.Parts = append(trust.Parts,
		document.Part{Text: fmt.Sprintf("Seed %d: every run requests the same operations at the same times, but a real engine handles them differently each time.",
			measured.Seed)})
	doc.Sections = append(doc.Sections, trust)
	doc.Sections = append(doc.Sections, ledger.section()...)

	return doc
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
