// Package text writes a document for a terminal.
//
// The text is written for a tired reader. The result comes first, in two or three lines; then what
// was examined, and charts over time; then the sections. Every number has a unit.
//
// Names from sources (paths, hosts, devices) are never interpreted: control characters are printed
// as escapes, so that no file name can move the cursor.
package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/present/document"
)

// Options says how to format a text.
type Options struct {
	// Width is the number of columns; 0 means 80. At least 40 are used.
	Width int
	// Color adds ANSI colours (SGR sequences).
	Color bool
	// ASCII uses only 7-bit characters, for terminals without UTF-8.
	ASCII bool
	// Verbose writes every finding in full, with all evidence and metric names.
	Verbose bool
}

const (
	widthDefault = 80
	widthMin     = 40
)

// Write writes a document for a terminal.
func Write(w io.Writer, d *document.Document, opt Options) error {
	if _, err := io.WriteString(w, render(d, opt)); err != nil {
		return fmt.Errorf("writing the text: %w", err)
	}
	return nil
}

// Lines is how many lines a document takes on a terminal, which wraps those that are wider: a word of a
// command, such as a query, is not broken.
func Lines(d *document.Document, opt Options) int {
	n := 0
	width := max(cmp.Or(opt.Width, widthDefault), widthMin)
	for line := range strings.Lines(render(d, opt)) {
		n += max(1, (columns(strings.TrimSuffix(line, "\n"))+width-1)/width)
	}
	return n
}

func render(doc *document.Document, opt Options) string {
	if opt.Width == 0 {
		opt.Width = widthDefault
	}

	out := &page{width: max(opt.Width, widthMin), color: opt.Color, ascii: opt.ASCII, verbose: opt.Verbose,
		indent: indent3, short: doc.Short}
	if doc.Verdict != "" {
		out.para("", "", doc.Verdict, bold)
	}

	for _, text := range doc.Lead {
		out.para("", "", text, plain)
	}

	if doc.Now != nil {
		out.section(*doc.Now)
	}

	if len(doc.Summary) > 0 {
		out.blank()
		out.terms(doc.Summary)
	} else if len(doc.Facts) > 0 {
		out.blank()
		out.facts(doc.Facts)
	}

	for _, s := range doc.Sections {
		out.section(s)
	}

	if doc.Next != "" {
		out.blank()
		text := doc.Next
		// A shortened page says how to see the rest.
		if out.shortened && !out.verbose && !doc.Short {
			text += ". Add -v to see everything."
		}
		out.para("", "", text, dim)
	}

	return out.out.String()
}

// section writes a section that a terminal shows.
func (p *page) section(s document.Section) {
	var parts []document.Part
	for _, x := range s.Parts {
		if x.Only.Has(document.Terminal) && shown(x) {
			parts = append(parts, x)
		}
	}

	if !s.Only.Has(document.Terminal) || len(parts) == 0 {
		return
	}

	p.indent = indent3
	switch {
	case s.Title == "":
		p.indent = ""
		if p.out.Len() > 0 {
			p.blank()
		}
	case len(parts) > 1 || parts[0].Timeline == nil: // a timeline needs no heading
		p.heading(strings.ToUpper(s.Title), s.Aside)
	}

	for i, x := range parts {
		if i > 0 && (block(x) || block(parts[i-1])) {
			p.blank()
		}
		p.part(x)
	}
}

// shown reports whether a terminal shows a part. It omits parts that only serve as link targets.
func shown(x document.Part) bool {
	switch {
	case x.Source != nil, x.Queries != nil, x.Evidence != nil, x.Scenario != nil:
		return false
	case x.Figure != nil:
		return drawable(x.Figure.Plot)
	}
	return true
}

// block reports whether a part is separated from its neighbours by empty lines.
func block(x document.Part) bool { return x.Text == "" }

func (p *page) part(given document.Part) {
	if given.Text != "" {
		p.para(p.indent, p.indent, given.Text, plain)
	}

	for _, l := range given.Prose {
		p.line(p.indent, p.clean(l))
	}

	if given.Quote != "" {
		p.para(p.indent+"> ", p.indent+"> ", given.Quote, dim)
	}

	for _, c := range slices.Concat(given.Commands, given.PromQL) {
		p.line(p.indent, p.clean(c)) // never wrapped, so that it can be copied
	}

	p.terms(given.Terms)
	if given.Table != nil {
		p.table(given.Table)
	}

	if given.Figure != nil {
		p.figure(given.Figure)
	}

	p.findings(given.Findings)
	p.tasks(given.Tasks)
	if given.Shares != nil {
		p.shares(given.Shares)
	}

	p.gaps(given.Gaps, given.Brief)
	if given.Timeline != nil {
		p.timeline(given.Timeline)
	}

	for _, f := range given.Files {
		p.line(p.indent, p.paint(p.clean(f.Path), bold))
		for _, l := range f.Lines {
			p.line(p.indent, "  ", p.clean(l))
		}
	}
}

// facts writes the key figures, one per line.
func (p *page) facts(all []document.Fact) {
	labels, values := 0, 0
	for _, f := range all {
		labels, values = max(labels, columns(p.clean(f.Label))), max(values, columns(p.clean(f.Value)))
	}

	// One long label must not take the room of all notes.
	labels, values = min(labels, p.width/3), min(values, p.width/4)
	for _, f := range all {
		value := right(p.fit(f.Value, values), values)
		first := "  " + p.paint(p.pad(f.Label, labels), dim) + "  " + p.paint(value, styleOf(f.Level)) + "  "
		p.para(first, strings.Repeat(" ", columns(first)), f.Note, plain)
	}
}

// termLinesMax bounds the lines of a term in a short text.
const termLinesMax = 4

// terms writes labels and their values in two columns.
func (p *page) terms(all []document.Term) {
	column := 0
	for _, t := range all {
		column = max(column, 2+columns(p.clean(t.Label))+2)
	}

	// One long label must not take the room of all values.
	column = min(column, p.width/3)
	for _, t := range all {
		for i, l := range t.Lines {
			label := ""
			if i == 0 {
				label = t.Label
			}

			if i == termLinesMax && !p.verbose && len(t.Lines) > termLinesMax+1 {
				p.labelled(2, column, label, fmt.Sprintf("and %d more", len(t.Lines)-i), plain)
				p.shortened = true
				break
			}

			p.labelled(2, column, label, l.Text, plain)
			if l.Note != "" {
				p.labelled(2, column, "", l.Note, dim)
			}

			if p.verbose && l.Detail != "" {
				p.labelled(2, column, "", l.Detail, dim)
			}
		}
	}
}

func styleOf(l document.Level) style {
	switch l {
	case document.Critical:
		return red
	case document.Warning:
		return yellow
	case document.Good:
		return green
	case document.Info:
		return cyan
	}
	return bold
}
