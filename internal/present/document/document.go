// Package document is the model of a result for display: a plain value, independent of terminals,
// HTML and Markdown. A builder creates it, one for each kind of result; writers render it:
// internal/present/text, internal/present/html and internal/present/markdown.
//
// # How to write a builder
//
// A builder is a function that converts a result to a document:
//
//	func Probe(r *probe.Report, origin document.Origin) *document.Document
//
// Builders are in internal/present/results, with a file for each kind. (Diagnosis is a separate
// package, so that plimsoll watch does not link the model and the planner.)
//
//  1. Verdict states the result in one or two sentences. Lead continues it, one paragraph each.
//  2. Facts are the three to six key figures behind the verdict. A page shows them as cards. Summary
//     has the same in labelled lines for a terminal; without a Summary, the terminal lists the facts.
//  3. Sections follow, in the order of a reader's questions. Each has an ID, the target of "#id", and
//     parts: text, tables, figures, findings and so on. A part has one of its fields set.
//  4. A number in a table or a fact links to its basis: Href is an address within the document
//     ("#evidence", or what [Ledger] and [Queries] return), Ref the address of a piece of evidence,
//     whose number is printed next to it.
//  5. A table says which of its columns a narrow terminal drops ([Column.Drop]). A figure contains
//     values, not a drawing, and a table of the same numbers.
//
// All words come from the builder. A writer adds only the few that name the parts of its medium. All
// text is raw; writers escape it. Numbers are printed by internal/base/units.
//
// Content that only some media can show is marked: [Section.Only] and [Part.Only] name the media. Use
// this sparingly: two builders in one are no better than two builders.
//
// A verb writes its document with one call in cmd; see app.write there. Give a builder a golden test
// of its text, and add its document to the pages of the html package's tests.
package document

// A Document is a result, ready for a writer.
type Document struct {
	Kind    string // what it is: "Diagnosis"
	Title   string // names the result in the title of a window or a file
	Host    string // the machines that it is about, if known
	Verdict string // the result in a sentence or two; a list has none
	Lead    []string
	// Now is what to do immediately; it comes before everything else. nil if there is nothing to
	// do.
	Now *Section
	// Onward is the next step if Now is nil: a command that changes nothing. Only a first screen shows it.
	Onward  *Section
	Facts   []Fact
	Summary []Term // the facts as labelled lines
	// Timeline holds the series that share a zoom; nil if there are none. A part shows it.
	Timeline *Timeline
	Sections []Section
	Next     string  // the next step, in a sentence without its period
	Short    bool    // it is a selection, and Next says how to see the rest
	Action   *Action // a button, on a page with a server that accepts it; nil for none
	Program  string  // the program that wrote it: "plimsoll 1.0.0"
}

// Add appends the sections that have parts.
func (d *Document) Add(all ...Section) {
	for _, s := range all {
		if len(s.Parts) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
}

// An Action is a button that sends an empty form to a path of the page's own server.
type Action struct{ Label, Path string }

// Media is a set of the media that documents are written for. Empty means all.
type Media uint8

// The media.
const (
	Terminal Media = 1 << iota
	Page
	Markdown
)

// Has reports whether a set contains a medium.
func (m Media) Has(one Media) bool { return m == 0 || m&one != 0 }

// A Level is how good or bad something is; "" is neither.
type Level string

// The levels. Not marks a finding that rules out a cause.
const (
	Critical Level = "critical"
	Warning  Level = "warning"
	Info     Level = "info"
	Good     Level = "good"
	Not      Level = "not"
)

// A Fact is a key figure behind the verdict.
type Fact struct {
	Label, Value, Note string
	Href               string // address of the details
	Ref                string // its evidence
	Level              Level
}

// A Term is a label with its meaning.
type Term struct {
	Label string
	Lines []Line
	// Keep means that a short form shows it too: it limits how reliable the result is.
	Keep bool
}

// NewTerm returns a label with lines of plain text.
func NewTerm(label string, texts ...string) Term {
	t := Term{Label: label}
	for _, text := range texts {
		t.Lines = append(t.Lines, Line{Text: text})
	}
	return t
}

// A Line is one line of a term.
type Line struct {
	Text   string
	Note   string // less important, below it
	Detail string // only shown in verbose output
}

// A Section is a part of a document with a heading. Without a title it has no heading, and a
// terminal does not indent it, so that other programs can parse the list.
type Section struct {
	ID, Title string
	Aside     string // a few words that complete the title: "neither found nor ruled out"
	Note      string // a sentence that explains the section; a terminal omits it
	Only      Media
	Parts     []Part
	// Screen says whether a short form shows it.
	Screen Screen
}

// A Screen says whether a short form shows a section.
type Screen uint8

// A short form leaves a section out, shows it if there is room, or always shows it.
const (
	OnRequest Screen = iota
	IfItFits
	Always
)

// A Part has one of its content fields set.
type Part struct {
	Only     Media
	Text     string
	Ref      string // the evidence of the text
	Terms    []Term
	Source   *Cell    // the signal that the rest was read from
	Quote    string   // quoted text of a third party
	Prose    []string // lines of Markdown, shown unchanged: only text written by this project
	Commands []string // of a shell
	PromQL   []string
	Table    *Table
	Figure   *Figure
	Findings []Finding
	Tasks    []Task
	Shares   *Shares
	Gaps     []Gap
	Brief    bool // a short text only counts the gaps, because they matter little
	Timeline *Timeline
	Queries  []Query
	Files    []File
	Evidence []*Evidence
	Scenario *Scenario
}

// A File is a file that was written, with its decisive lines.
type File struct {
	Path  string
	Lines []string
}
