package results

import (
	"fmt"
	"slices"

	"plimsoll/internal/lab/run"
	measuredtable "plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
	"plimsoll/internal/present/document"
)

// LabRun shows a run of the lab like a simulation, with the model's figures in a table and in the
// charts. It does not repeat a server's address in commands, because it may contain a password.
func LabRun(r *run.Result, origin Origin) *document.Document {
	measured := *r.Result
	measured.Variant = "lab"
	saturated := r.Lab.Saturated || r.Lab.Dispatch.Behind
	// An existing server is on its own volumes, which were not measured.
	if r.Lab.Existing != nil {
		measured.Volumes = nil
		origin.Command = append(slices.Clone(origin.Command), "--server", "ADDRESS")
	}

	results := []*simulate.Result{&measured}
	doc := &document.Document{Kind: "Lab run", Title: measured.Scenario + ": lab run",
		Verdict: verdictOf(&measured), Lead: []string{loadText(&measured), whereText(&r.Lab)}}
	ledger := newLedger(origin)
	ledger.real = true
	ran := ledger.page("The lab")
	doc.Facts = resultFacts(&measured, ledger)

	if saturated {
		doc.Verdict = "The lab could not keep up, so this result is invalid."
	}

	// Lost writes matter more than an invalid measurement, and hold regardless of it.
	if r.PowerLoss != nil && !r.PowerLoss.Held() {
		if saturated {
			doc.Lead = append(doc.Lead, doc.Verdict)
		}
		doc.Verdict = "Acknowledged writes were missing after a power loss."
	}

	for _, text := range r.Lab.Remarks {
		doc.Lead = append(doc.Lead, document.Sentence(text))
	}

	if r.Model != nil {
		model := *r.Model
		model.Variant = "model"
		results = append(results, &model)
		modelled := ledger.run(&model, ledger.sets(0))
		doc.Add(besideSection(&measured, &model, saturated, ran, modelled))
	}

	resultSections(doc, results, ledger)
	if r.Lab.Existing != nil {
		doc.Sections = slices.DeleteFunc(doc.Sections, func(s document.Section) bool { return s.ID == "volumes" })
	}

	doc.Add(document.Section{ID: "laboratory", Title: "Measurement quality", Parts: qualityParts(r)})

	trust := document.Section{ID: "trust", Title: "How accurate this is"}
	for _, w := range measured.Warnings {
		trust.Parts = append(trust.Parts, document.Part{Text: w})
	}

	trust.Parts = append(trust.Parts,
		document.Part{Text: fmt.Sprintf("Seed %d: every run requests the same operations at the same times, but a real engine handles them differently each time.",
			measured.Seed)})
	doc.Add(trust, ledger.section())

	return doc
}

// besideSection shows the model's figures next to the lab's.
func besideSection(measured, model *simulate.Result, saturated bool, ran, modelled string) document.Section {
	tab := &document.Table{Caption: "The lab and the model",
		Columns: []document.Column{{}, {Text: "lab", Number: true, Ref: ran},
			{Text: "model", Number: true, Ref: modelled}, {Text: "model error", Number: true}}}
	for _, row := range measuredtable.Rows(measured, model, saturated) {
		tab.Add([]document.Cell{{Text: row.Figure}, {Text: optional(row.Lab, row.Unit), Href: ran},
			{Text: optional(row.Model, row.Unit), Href: modelled},
			{Text: change(row.Lab, row.Model, row.Unit), Href: modelled}})
	}
	return tab.Section("beside", "Lab and model")
}
