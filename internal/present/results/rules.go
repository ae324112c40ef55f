package results

import (
	"fmt"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/present/document"
)

// Rules lists the rules of the pack.
func Rules(all []rules.Description) *document.Document {
	tab := &document.Table{Caption: "Rules",
		Columns: []document.Column{{Text: "rule"}, {Text: "kind"}, {Text: "about"}, {Text: "title"}}}
	for i := range all {
		r := &all[i]
		about := r.Engine
		if about == "" {
			about = "any"
		}
		tab.Rows = append(tab.Rows, []document.Cell{{Text: r.ID, Roles: "code"}, {Text: r.Kind}, {Text: about},
			{Text: r.Title}})
	}
	return list("Rules", tab)
}

// list returns a document that consists of one table.
func list(title string, tab *document.Table) *document.Document {
	return &document.Document{Kind: "List", Title: title,
		Sections: []document.Section{{ID: "list", Parts: []document.Part{{Table: tab}}}}}
}

// Rule shows a rule: its Markdown page, and its condition and signals in PromQL.
func Rule(r *rules.Description, page []byte) *document.Document {
	d := &document.Document{Kind: "Rule", Title: r.Title}
	var section *document.Section

	fenced := false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "<!--") {
			continue // for the authors of the page
		}

		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}

		if title, ok := strings.CutPrefix(line, "# "); ok && !fenced {
			d.Verdict = title
			continue
		}

		if title, ok := strings.CutPrefix(line, "## "); ok && !fenced {
			d.Sections = append(d.Sections,
				document.Section{ID: strings.ToLower(strings.ReplaceAll(title, " ", "-")), Title: title,
					Parts: []document.Part{{}}})
			section = &d.Sections[len(d.Sections)-1]
			continue
		}

		if section != nil && (line != "" || len(section.Parts[0].Prose) > 0) {
			section.Parts[0].Prose = append(section.Parts[0].Prose, line)
		}
	}

	for i := range d.Sections {
		p := &d.Sections[i].Parts[0]
		for len(p.Prose) > 0 && p.Prose[len(p.Prose)-1] == "" {
			p.Prose = p.Prose[:len(p.Prose)-1]
		}
	}

	if r.When != "" {
		d.Sections = append(d.Sections, document.Section{ID: "promql", Title: "In PromQL", Parts: []document.Part{
			{Text: "Over signals:"}, {PromQL: []string{r.When}},
			{Text: "Over exporters' metrics; the rule may hold if the result is not empty:"},
			{PromQL: []string{r.PromQL}}}})
	}

	if len(r.Signals) > 0 {
		s := document.Section{ID: "signals", Title: "Signals"}
		for _, x := range r.Signals {
			unit := ""
			if x.Unit != "" {
				unit = " (" + x.Unit + ")"
			}
			s.Parts = append(s.Parts, document.Part{Text: x.Name + unit + ": " + x.Help},
				document.Part{PromQL: x.Exprs})
		}
		d.Sections = append(d.Sections, s)
	}

	return d
}

// HowTested shows how the steps of fixes were tested. Rows are remedy, place, method.
func HowTested(rows [][3]string) document.Section {
	s := document.Section{ID: "tested", Title: "How the steps were tested"}
	if len(rows) == 0 {
		s.Parts = []document.Part{{Text: "The rule's fixes have no commands."}}
		return s
	}
	tab := &document.Table{Columns: []document.Column{{Text: "fix"}, {Text: "place"}, {Text: "tested"}}}
	for _, r := range rows {
		tab.Rows = append(tab.Rows, []document.Cell{{Text: r[0]}, {Text: r[1], Roles: "code"}, {Text: r[2]}})
	}
	s.Parts = []document.Part{{Table: tab}}
	return s
}

// RuleTests shows the results of the rules' test scripts.
func RuleTests(all []ruletest.Result) *document.Document {
	d := &document.Document{Kind: "Rule tests", Title: "Tests of rules"}
	tab := &document.Table{Caption: "Cases that failed",
		Columns: []document.Column{{Text: "rule"}, {Text: "case"}, {Text: "failure"}}}
	for i := range all {
		r := &all[i]
		for _, x := range r.Failures {
			tab.Rows = append(tab.Rows, []document.Cell{{Text: r.Rule, Roles: "code"}, {Text: r.Case},
				{Text: x, Roles: "bad"}})
		}
	}

	failed := ruletest.Failed(all)
	d.Verdict = fmt.Sprintf("%d of %d cases passed", len(all)-failed, len(all))
	if failed > 0 {
		d.Sections = []document.Section{{ID: "failed", Title: "Failed", Parts: []document.Part{{Table: tab}}}}
	}

	return d
}
