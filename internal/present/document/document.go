// Package document is the model of a result as it is shown: one plain value that knows no terminal,
// no HTML and no Markdown. A builder makes it, once for each kind of result; writers set it:
// internal/present/text, internal/present/html and internal/present/markdown.
//
// # How to write a builder
//
// A builder is a function that takes a result and gives a document:
//
//	func Probe(r *probe.Report, origin document.Origin) *document.Document
//
// It lies in internal/present/results, a file for each kind. (A diagnosis has a package of its own,
// so that plimsoll watch links no model and no planner.)
//
//  1. Verdict says in one or two sentences what was found. Lead goes on, a paragraph each.
//  2. Facts are the three to six figures that carry the verdict. A page shows them as cards. Summary
//     is the same in labelled lines, for a terminal; without one the terminal lists the facts.
//  3. Sections follow, in the order of a reader's questions. Each has an ID, which is the address that
//     "#id" leads to, and parts: text, tables, figures, findings and so on. A part has one of its
//     fields set.
//  4. A number that stands in a table or a fact leads to what it rests on: Href holds an address within
//     the document ("#evidence", or what [Ledger] and [Queries] return), Ref the address of a piece of
//     evidence whose number stands beside it.
//  5. A table says which of its columns a narrow terminal drops ([Column.Drop]). A figure carries
//     values, not a drawing, and a table of the same numbers.
//
// All words are the builder's. A writer adds none of its own but for the few that name the parts of
// its medium. All text is raw: a writer escapes it. Numbers are printed by internal/base/units.
//
// What a medium has no room for is marked: [Section.Only] and [Part.Only] name the media that show
// it. Keep that for what a medium cannot show; two builders in one are no improvement on two.
//
// A verb writes its document with one call in cmd; see app.write there. Give a builder a golden
// test of its text, and add its document to the pages of the html package's tests.
package document

// A Document is a result, ready to be written.
type Document struct {
	Kind    string // what it is: "Diagnosis"
	Title   string // names the result, where a window or a file has a title
	Host    string // the machines that it is about, where they are known
	Verdict string // what was found, in a sentence or two; a list has none
	Lead    []string
	// Now is what to do at once: it stands before everything else. nil if there is nothing.
	Now     *Section
	Facts   []Fact
	Summary []Term // the facts as labelled lines
	// Timeline holds the series that are zoomed together; nil if there are none. A part shows it.
	Timeline *Timeline
	Sections []Section
	Next     string  // how to go on, in a sentence without its period
	Action   *Action // a button, on a page whose server takes it; nil for none
	Program  string  // what wrote it: "plimsoll 1.0.0"
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

// The levels. Not is of a finding that says what is not the cause.
const (
	Critical Level = "critical"
	Warning  Level = "warning"
	Info     Level = "info"
	Good     Level = "good"
	Not      Level = "not"
)

// A Fact is a figure that carries the verdict.
type Fact struct {
	Label, Value, Note string
	Href               string // where more of it stands
	Ref                string // its evidence
	Level              Level
}

// A Term is a label with its meaning.
type Term struct {
	Label string
	Lines []Line
}

// A Line is one line of a term.
type Line struct {
	Text   string
	Note   string // less important, below it
	Detail string // for whoever asks for everything
}

// A Section is a part of a document with a heading. Without a title it has none, and a terminal
// writes it from the first column on: a list, which other programs may read.
type Section struct {
	ID, Title string
	Aside     string // a few words that complete the title: "neither found nor ruled out"
	Note      string // a sentence that explains what follows; a terminal leaves it out
	Only      Media
	Parts     []Part
}

// A Part is one of what its fields name.
type Part struct {
	Only     Media
	Text     string
	Ref      string // the evidence of the text
	Terms    []Term
	Source   *Cell    // what the rest was read from
	Quote    string   // what somebody else said
	Prose    []string // lines of Markdown, shown as they are: only what this project wrote itself
	Commands []string // of a shell
	PromQL   []string
	Table    *Table
	Figure   *Figure
	Findings []Finding
	Tasks    []Task
	Shares   *Shares
	Gaps     []Gap
	Brief    bool // a short text counts the gaps: they are beside the point
	Timeline *Timeline
	Queries  []Query
	Files    []File
	Evidence []*Evidence
	Scenario *Scenario
}

// A File is one that was written, with the lines of it that decide.
type File struct {
	Path  string
	Lines []string
}
