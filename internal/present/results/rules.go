package results

import (
	"fmt"
	"regexp"
	"strings"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/present/document"
)

// Rules lists the rules of the pack.
func Rules(all []rules.Description) *document.Document {
	tab := document.NewTable("Rules", "rule", "kind", "about", "title")
	for i := range all {
		r := &all[i]
		about := r.Engine
		if about == "" {
			about = "any"
		}
		tab.Add([]document.Cell{{Text: r.ID, Roles: "code"}, {Text: r.Kind}, {Text: about}, {Text: r.Title}})
	}
	return list("Rules", tab)
}

// list returns a document that consists of one table.
func list(title string, tab *document.Table) *document.Document {
	return &document.Document{Kind: "List", Title: title,
		Sections: []document.Section{{ID: "list", Parts: []document.Part{{Table: tab}}}}}
}

// Rule shows a rule: its Markdown page, and its condition and signals in PromQL. fixes are the Markdown
// pages of its fixes, which follow the rule's own sections.
func Rule(rule *rules.Description, page []byte, fixes ...[]byte) *document.Document {
	doc := &document.Document{Kind: "Rule", Title: rule.Title}
	doc.Verdict, doc.Sections = sectionsOf(page)

	for _, fix := range fixes {
		title, parts := sectionsOf(fix)
		section := document.Section{ID: anchor(title), Title: title, Parts: []document.Part{{}}}

		prose := &section.Parts[0].Prose
		// A fix is one section here, so its own headings become lines of text.
		for _, s := range parts {
			if s.Title != "" {
				*prose = append(*prose, "", s.Title+":", "")
			}
			*prose = append(*prose, s.Parts[0].Prose...)
		}
		doc.Add(section)
	}

	if rule.When != "" {
		doc.Add(document.Section{ID: "promql", Title: "In PromQL",
			Parts: []document.Part{
				{Text: "Over signals:"}, {PromQL: []string{rule.When}},
				{Text: "Over exporters' metrics; the rule may hold if the result is not empty:"},
				{PromQL: []string{rule.PromQL}}}})
	}

	if len(rule.Signals) > 0 {
		s := document.Section{ID: "signals", Title: "Signals"}
		for _, x := range rule.Signals {
			unit := ""
			if x.Unit != "" {
				unit = " (" + x.Unit + ")"
			}
			s.Parts = append(s.Parts, document.Part{Text: x.Name + unit + ": " + x.Help},
				document.Part{PromQL: x.Exprs})
		}
		doc.Add(s)
	}

	return doc
}

// sectionsOf splits a Markdown page at its headings of the second level, without links and comments. Text
// above the first of them is a section without a title.
func sectionsOf(page []byte) (title string, sections []document.Section) {
	fenced := false
	for line := range strings.Lines(withoutLinks(string(page))) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "<!--") {
			continue // for the authors of the page
		}

		// In a code block, "# " starts a comment, not a heading.
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}

		if heading, ok := strings.CutPrefix(line, "# "); ok && !fenced {
			title = heading
			continue
		}

		heading, ok := strings.CutPrefix(line, "## ")
		if ok = ok && !fenced; !ok {
			heading = ""
		}

		if ok || len(sections) == 0 && line != "" {
			sections = append(sections,
				document.Section{ID: anchor(heading), Title: heading, Parts: []document.Part{{}}})
		}

		if ok || len(sections) == 0 {
			continue
		}

		prose := &sections[len(sections)-1].Parts[0].Prose
		// The blank line below a heading is dropped; those within the text stay.
		if line != "" || len(*prose) > 0 {
			*prose = append(*prose, line)
		}
	}

	for i := range sections {
		p := &sections[i].Parts[0]
		for len(p.Prose) > 0 && p.Prose[len(p.Prose)-1] == "" {
			p.Prose = p.Prose[:len(p.Prose)-1]
		}
	}

	return title, sections
}

func anchor(heading string) string {
	return strings.ToLower(strings.ReplaceAll(heading, " ", "-"))
}

var (
	fence    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	pageLink = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
)

// withoutLinks replaces the links of a page with their text, because a terminal has no other page to go
// to. A web address stays, after its text. Code is not changed.
func withoutLinks(page string) string {
	var b strings.Builder
	plain := func(s string) {
		b.WriteString(pageLink.ReplaceAllStringFunc(s, func(found string) string {
			m := pageLink.FindStringSubmatch(found)
			if strings.HasPrefix(m[2], "http") {
				return m[1] + " (" + m[2] + ")"
			}
			return m[1]
		}))
	}

	from := 0
	for _, code := range fence.FindAllStringIndex(page, -1) {
		plain(page[from:code[0]])
		b.WriteString(page[code[0]:code[1]])
		from = code[1]
	}
	plain(page[from:])

	return b.String()
}

// HowTested shows how the steps of fixes were tested. Rows are remedy, place, method.
func HowTested(rows [][3]string) document.Section {
	s := document.Section{ID: "tested", Title: "How the steps were tested"}
	if len(rows) == 0 {
		s.Parts = []document.Part{{Text: "The rule's fixes have no commands."}}
		return s
	}
	tab := document.NewTable("", "fix", "place", "tested")
	for _, r := range rows {
		tab.Add([]document.Cell{{Text: r[0]}, {Text: r[1], Roles: "code"}, {Text: r[2]}})
	}
	s.Parts = []document.Part{{Table: tab}}
	return s
}

// RuleTests shows the results of the rules' test scripts.
func RuleTests(all []ruletest.Result) *document.Document {
	d := &document.Document{Kind: "Rule tests", Title: "Tests of rules"}
	tab := document.NewTable("Cases that failed", "rule", "case", "failure")
	for i := range all {
		r := &all[i]
		for _, x := range r.Failures {
			tab.Add([]document.Cell{{Text: r.Rule, Roles: "code"}, {Text: r.Case}, {Text: x, Roles: "bad"}})
		}
	}

	failed := ruletest.Failed(all)
	d.Verdict = fmt.Sprintf("%d of %d cases passed", len(all)-failed, len(all))
	if failed > 0 {
		d.Sections = []document.Section{{ID: "failed", Title: "Failed", Parts: []document.Part{{Table: tab}}}}
	}

	return d
}
