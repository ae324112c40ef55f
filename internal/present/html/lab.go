package html

import (
	"fmt"
	"io"

	measuredtable "plimsoll/internal/lab/table"
	"plimsoll/internal/model/simulate"
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

// LabRun writes a run of the laboratory as a page: what a simulation's has, with the model beside it in a table and over it
// in the charts.
func LabRun(w io.Writer, r LabResult, opt Options) error {
	if r.Result == nil {
		return fmt.Errorf("a page of no run")
	}
	return write(w, labPage(r, opt))
}

func labPage(r LabResult, opt Options) *page {
	measured := *r.Result
	measured.Variant = "lab"
	results := []*simulate.Result{&measured}
	p := &page{Kind: "Lab run", Title: measured.Scenario + ": lab run", Verdict: verdictOf(&measured), Lead: []string{loadText(&measured), "In the lab: " + r.Where + "."},
		Footer: opt.Program, queries: &queries{}, evidence: newLedger(opt.Origin)}
	p.evidence.real = true
	ran := p.evidence.page("The laboratory")
	p.Facts = resultFacts(&measured, p.evidence)
	if r.Saturated {
		p.Verdict = "The laboratory could not keep up: this is no result."
	}
	for _, text := range r.Remarks {
		p.Lead = append(p.Lead, sentence(text))
	}
	if r.Model != nil {
		model := *r.Model
		model.Variant = "model"
		results = append(results, &model)
		modelled := p.evidence.run(&model, p.evidence.sets(0))
		p.Sections = append(p.Sections, besideSection(&measured, &model, r.Saturated, ran, modelled))
	}
	p.resultSections(results)
	p.Sections = append(p.Sections, aboutSection(&measured, p.evidence))
	p.Sections = append(p.Sections, p.evidence.section()...)
	return p
}

// besideSection is the model's figures next to the laboratory's.
func besideSection(measured, model *simulate.Result, saturated bool, ran, modelled string) section {
	tab := &table{Caption: "The laboratory and the model", Columns: []column{{}, {Text: "lab", Number: true, Ref: ran}, {Text: "model", Number: true, Ref: modelled}, {Text: "the model is off", Number: true}}}
	for _, row := range measuredtable.Rows(measured, model, saturated) {
		tab.Rows = append(tab.Rows, []cell{{Text: row.Figure}, {Text: optional(row.Lab, row.Unit), Number: true, Href: ran}, {Text: optional(row.Model, row.Unit), Number: true, Href: modelled},
			{Text: change(row.Lab, row.Model, row.Unit), Number: true, Href: modelled}})
	}
	return section{ID: "beside", Title: "Lab and model", Parts: []part{{Table: tab}}}
}
