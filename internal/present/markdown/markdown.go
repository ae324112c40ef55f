// Package markdown writes a document as GitHub-flavoured Markdown, for an issue, a pull request or
// a chat.
//
// It includes everything that the terminal text has: the verdict, the figures, findings with their
// advice, tables. Series are drawn in a fenced block, like on a terminal. The basis of the numbers
// (observations, queries, commands) is folded.
//
// Names from a recording are plain text: no name can start a list, end a cell, open a tag or
// mention a user.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// blockColumns is the width of drawings in characters.
const blockColumns = 100

// Write writes a document as Markdown.
func Write(w io.Writer, d *document.Document) error {
	p := &page{}
	p.document(d)
	return p.write(w, d)
}

// Fold writes the first screen of a document, with the whole of it folded below.
func Fold(w io.Writer, screen, d *document.Document) error {
	p := &page{}
	p.document(screen)
	p.folded("Everything", func() { p.document(d) })
	return p.write(w, d)
}

// document writes all blocks of a document.
func (p *page) document(d *document.Document) {
	p.para("**" + inline(d.Verdict) + "**")

	for _, t := range d.Lead {
		p.para(line(t))
	}

	if d.Now != nil {
		p.section(*d.Now)
	}

	if len(d.Facts) > 0 {
		p.facts(d.Facts)
	} else {
		p.terms(d.Summary)
	}

	for _, s := range d.Sections {
		p.section(s)
	}

	if d.Short {
		p.para(line(d.Next))
	}
}

// write ends the page with its origin.
func (p *page) write(w io.Writer, d *document.Document) error {
	if d.Program != "" {
		p.para("<sub>" + inline(d.Kind+", written by "+d.Program) + "</sub>")
	}

	if _, err := io.WriteString(w, p.out.String()); err != nil {
		return fmt.Errorf("writing the Markdown: %w", err)
	}

	return nil
}

// A page collects blocks, separated by empty lines.
type page struct{ out strings.Builder }

// para writes a block.
func (p *page) para(block string) {
	// "****" is an empty bold text.
	if block == "" || block == "****" {
		return
	}
	if p.out.Len() > 0 {
		p.out.WriteByte('\n')
	}
	p.out.WriteString(block + "\n")
}

// folded writes blocks that unfold with a click.
func (p *page) folded(summary string, write func()) {
	p.para("<details><summary>" + entities(summary) + "</summary>")
	write()
	p.para("</details>")
}

func (p *page) section(s document.Section) {
	if !s.Only.Has(document.Markdown) {
		return
	}

	from := p.out.Len()
	if s.Title != "" {
		p.para("## " + inline(s.Title))
	}

	if s.Aside != "" {
		p.para(line(document.Sentence(s.Aside)))
	}

	if s.Note != "" && s.ID != "timeline" { // the timeline's note explains zooming
		p.para(line(s.Note))
	}

	before := p.out.Len()
	for _, x := range s.Parts {
		if x.Only.Has(document.Markdown) {
			p.part(x)
		}
	}

	// If no part can be written in Markdown, omit the heading too.
	if p.out.Len() == before {
		kept := p.out.String()[:from]
		p.out.Reset()
		p.out.WriteString(kept)
	}
}

func (p *page) part(shown document.Part) {
	p.para(line(shown.Text))
	p.para(strings.Join(shown.Prose, "\n"))
	if shown.Quote != "" {
		p.para("> " + line(shown.Quote))
	}

	p.terms(shown.Terms)
	if len(shown.Commands) > 0 {
		p.fence("sh", shown.Commands)
	}

	if len(shown.PromQL) > 0 {
		p.fence("promql", shown.PromQL)
	}

	if shown.Timeline != nil {
		p.fence("", strings.Split(strings.Trim(text.Timeline(shown.Timeline, blockColumns), "\n"), "\n"))
	}

	if shown.Figure != nil && shown.Figure.Table != nil && shown.Figure.Table.Fold == "" {
		p.para("**" + inline(shown.Figure.Title) + "**")
		p.table(shown.Figure.Table)
	}

	p.findings(shown.Findings)
	p.tasks(shown.Tasks)
	if shown.Shares != nil {
		p.shares(shown.Shares)
	}

	p.gaps(shown.Gaps)
	if shown.Table != nil {
		p.table(shown.Table)
	}

	if len(shown.Queries) > 0 {
		p.folded("PromQL", func() { p.queries(shown.Queries) })
	}

	if len(shown.Evidence) > 0 {
		p.folded("How to reproduce these figures", func() { p.evidence(shown.Evidence) })
	}

	for _, f := range shown.Files {
		p.para("- " + code(f.Path))
		if len(f.Lines) > 0 {
			p.fence("", f.Lines)
		}
	}
}

// facts writes a table with an empty header, because GitHub does not support tables without one.
func (p *page) facts(all []document.Fact) {
	t := &document.Table{Columns: []document.Column{{}, {Number: true}, {}}}
	for _, f := range all {
		t.Rows = append(t.Rows, []document.Cell{{Text: f.Label}, {Text: f.Value, Number: true, Roles: "strong"},
			{Text: f.Note}})
	}
	p.table(t)
}

func (p *page) terms(all []document.Term) {
	var b strings.Builder
	for _, t := range all {
		for i, l := range t.Lines {
			if i == 0 {
				b.WriteString("- " + inline(t.Label) + ": ")
			} else {
				b.WriteString("  <br>")
			}
			b.WriteString(inline(l.Text))
			if l.Note != "" {
				b.WriteString(" " + inline(l.Note))
			}
			b.WriteByte('\n')
		}
	}

	p.para(strings.TrimSuffix(b.String(), "\n"))
}

func (p *page) findings(all []document.Finding) {
	for _, f := range all {
		p.para(fmt.Sprintf("### %d. %s: %s", f.Number, inline(f.Word), inline(f.Title)))
		var about []string
		if f.Subject != "" {
			about = append(about, inline(f.Subject))
		}

		about = append(about, code(f.Rule))
		if f.Weight != "" {
			about = append(about, inline(f.Weight))
		}

		p.para(guard(strings.Join(about, ", ")))
		p.para(line(f.Summary))
		p.para(line(f.Cause))

		if len(f.Among) > 0 {
			p.para("In " + inline(strings.Join(f.Among, ", ")))
		}

		var when []string
		for _, w := range f.When {
			when = append(when, inline(w.Text))
		}

		if f.Period != "" {
			when = append(when, inline(f.Period))
		}

		if len(when) > 0 {
			p.para("When: " + strings.Join(when, ", "))
		}

		p.fixes(f.Fixes)
		if len(f.Observations) > 0 {
			p.folded("Evidence", func() { p.table(f.Evidence()) })
		}
	}
}

func (p *page) fixes(all []document.Fix) {
	var b strings.Builder
	for i, x := range all {
		fmt.Fprintf(&b, "%d. **%s**", i+1, inline(x.Summary))
		if x.Expect != "" {
			b.WriteString("<br>Expect: " + inline(x.Expect))
		}
		if x.Cost != "" {
			b.WriteString("<br>Costs: " + inline(x.Cost))
		}
		b.WriteByte('\n')
	}
	p.para(strings.TrimSuffix(b.String(), "\n"))
}

func (p *page) gaps(all []document.Gap) {
	var b strings.Builder
	for _, g := range all {
		for i, r := range g.Rules {
			if i == 0 {
				b.WriteString("- ")
			} else {
				b.WriteString(", ")
			}
			b.WriteString(code(r.Rule))
		}
		b.WriteString("<br>Record: " + inline(g.Advice) + "\n")
	}
	p.para(strings.TrimSuffix(b.String(), "\n"))
}

func (p *page) queries(all []document.Query) {
	for _, q := range all {
		p.para(code(q.Name) + ": " + inline(q.Help))
		p.fence("promql", q.PromQL)
	}
}

func (p *page) evidence(all []*document.Evidence) {
	for _, e := range all {
		head := fmt.Sprintf("%d. **%s**", e.Number, inline(e.Name))
		if e.Text != "" {
			head += " " + inline(e.Text)
		}

		for i, f := range e.Fields {
			if i == 0 {
				head += " Field"
			}
			head += " " + code(f)
		}

		for i, l := range e.Lines {
			if i == 0 {
				head += " By"
			}
			head += " " + code(l.Text)
		}

		p.para(head)
		if len(e.Commands) > 0 {
			p.fence("sh", e.Commands)
		}

		if len(e.PromQL) > 0 {
			p.fence("promql", e.PromQL)
		}
	}
}

// Tables writes only tables, for a page that provides its own text.
func Tables(all ...*document.Table) string {
	p := &page{}
	for _, t := range all {
		p.table(t)
	}
	return p.out.String()
}
