package results

import (
	"fmt"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/diagnosis"
	"plimsoll/internal/present/document"
)

// caseEnd is the end of a case: the plan, the files that apply it, and the proof by recordings;
// nothing if the walk had no plan.
func caseEnd(k *casebook.Walk, q *diagnosis.Queries, g *ledger) []document.Section {
	if k.Plan == nil {
		return nil
	}
	p := planOf(k.Plan)
	out := []document.Section{casePlan(k.Plan, p, g)}
	// Without a change there is nothing to write or to prove.
	if p.Chosen == nil || len(p.Chosen.Changes) == 0 {
		return out
	}
	out = append(out, caseFiles(k.Files))
	if k.Proof != nil {
		out = append(out, caseProof(k, p.Chosen, q))
	}
	return out
}

// planOf converts a case's plan to the input of a plan's page.
func planOf(n *casebook.Planned) *plan.Plan {
	return &plan.Plan{Objectives: n.Objectives, Now: n.Now, Chosen: n.Chosen, Frontier: n.Frontier,
		Statements: n.Statements, Sizing: n.Sizing, Searched: n.Searched}
}

// casePlan has the parts of a plan's page under one heading.
func casePlan(n *casebook.Planned, p *plan.Plan, g *ledger) document.Section {
	text := fmt.Sprintf("The cheapest layout that reaches %s; %d layouts were simulated.", goal(p.Objectives),
		p.Searched.Simulated)
	switch {
	case p.Chosen == nil:
		text = "No layout considered reaches " + goal(p.Objectives) + "."
	case len(p.Chosen.Changes) == 0:
		text = fmt.Sprintf("No change needed for %s: %s a month as is.", goal(p.Objectives),
			units.Dollars(p.Chosen.MonthlyUSD))
	}

	out := document.Section{ID: "plan", Title: "Plan", Parts: []document.Part{{Text: text}}}
	if p.Chosen != nil && len(p.Chosen.Changes) > 0 {
		out.Parts = append(out.Parts, document.Part{Table: changesTable(p, p.Chosen, g)})
	}

	predicted := predictedSection(p, g)
	if len(predicted.Parts) > 0 && predicted.Parts[0].Table != nil && n.ErrorBar != "" {
		predicted.Parts[0].Table.Notes = append(predicted.Parts[0].Table.Notes, "Error bar: "+n.ErrorBar+".")
	}

	out.Parts = append(out.Parts, predicted.Parts...)
	out.Parts = append(out.Parts, frontierSection(p, g).Parts...)

	for _, s := range planWords(p, g) {
		out.Parts = append(out.Parts, s.Parts...)
	}

	return out
}

func caseFiles(files []casebook.Written) document.Section {
	out := document.Section{ID: "files", Title: "Files",
		Note: "Files that plimsoll emit writes for the plan, with the decisive lines."}
	if len(files) == 0 {
		out.Note = ""
		out.Parts = []document.Part{{Text: "None: the changes are to the application."}}
		return out
	}
	var all []document.File
	for _, f := range files {
		all = append(all, document.File{Path: f.Path, Lines: f.Lines})
	}
	out.Parts = []document.Part{{Files: all}}
	return out
}

// caseProof compares the published results with the proof from two recordings of the plan.
func caseProof(k *casebook.Walk, chosen *plan.Layout, q *diagnosis.Queries) document.Section {
	r := *k.Proof
	r.Figures = k.ProofFigures()
	beside := document.NewTable("The published change and the plan's", "by", "before and after")

	if k.Case.Layout != nil && k.Case.Layout.Published != "" {
		beside.Line("published", document.Sentence(k.Case.Layout.Published))
	}

	beside.Add([]document.Cell{{Text: "the plan, by recordings"},
		{Text: r.Sentence, Note: "with " + changedText(chosen) + ": " + costOf(k.Plan)}})
	const how = "The scenario was recorded in simulation, as is and with the plan, with different seeds. The recordings are compared in the same way as plimsoll prove compares those of production."

	out := document.Section{ID: "recorded", Title: "Proof by recordings",
		Parts: []document.Part{{Text: how}, {Table: beside}}}
	for _, w := range r.Warnings {
		out.Parts = append(out.Parts, document.Part{Text: "⚠ " + w})
	}

	out.Parts = append(out.Parts, figuresSection(&r, q).Parts...)
	if len(r.Requirements) > 0 {
		out.Parts = append(out.Parts, requirementsSection(&r).Parts...)
	}

	out.Parts = append(out.Parts, document.Part{Text: methodText(&r)})
	return out
}

// costOf is a plan's monthly price and its difference from the current one.
func costOf(n *casebook.Planned) string {
	return units.Dollars(n.Chosen.MonthlyUSD) + " a month, " + againstNow(n.Now, n.Chosen)
}

// planVerdict says what helps, in a few words; "" if nothing was planned or found.
func planVerdict(n *casebook.Planned) string {
	if n == nil || n.Chosen == nil || len(n.Chosen.Changes) == 0 || len(n.Objectives) == 0 {
		return ""
	}
	name := n.Objectives[0].Name
	before, known := n.Now.Predicted[name+"_seconds"]
	after, also := n.Chosen.Predicted[name+"_seconds"]
	if !known || !also {
		return ""
	}
	return fmt.Sprintf("in the model %s takes %s from %s to %s, %s.", changedText(n.Chosen), plainName(name),
		units.Seconds(before.Value),
		units.Seconds(after.Value), morePrice(planOf(n), n.Chosen.MonthlyUSD))
}

// planFact is the plan's result for the case's key figures; false without a plan.
func planFact(n *casebook.Planned, g *ledger) (document.Fact, bool) {
	if n == nil || n.Chosen == nil || len(n.Objectives) == 0 {
		return document.Fact{}, false
	}
	name := n.Objectives[0].Name
	f, known := n.Chosen.Predicted[name+"_seconds"]
	if !known {
		return document.Fact{}, false
	}
	note := costOf(n)
	if before, ok := n.Now.Predicted[name+"_seconds"]; ok {
		note = "now " + units.Seconds(before.Value) + "; " + note
	}
	return document.Fact{Label: plainName(name) + ", planned", Value: units.Seconds(f.Value), Note: note,
		Href: "#plan", Ref: g.layout(n.Chosen), Level: "good"}, true
}
