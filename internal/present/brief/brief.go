// Package brief makes the first screen of a document: a selection of it that fits a given size.
//
// The selection is itself a document, which the usual writers print. [Of] starts with everything that
// is worth a place on the first screen and then leaves out the least important parts, one after the
// other, until the rest fits. It never leaves out the verdict, the lines below it, the terms that limit
// how reliable the result is, or missing or damaged evidence. A fix keeps all of its steps or loses all
// of its commands: half of a procedure is dangerous. What is left out is named at the end.
package brief

import (
	"slices"
	"strings"

	"plimsoll/internal/present/document"
)

// Lines and Columns are the size of the first screen.
const (
	Lines   = 45
	Columns = 80
)

// Options say what fits and how a user sees the rest.
type Options struct {
	Fits func(*document.Document) bool
	// Rest says how a user sees the omitted parts: "--full shows them". Again is the command that shows
	// everything; "" if there is none.
	Rest, Again string
}

// A form says how much of each part is shown.
type form struct {
	// sentences is how many sentences of the first cause's summary are shown, and symptom how many of
	// the symptom's.
	sentences, symptom int
	others             bool // the other causes and what was ruled out next to the verdict
	span               bool
	notes              bool // the minor steps of the fix
	then               int  // other fixes, by title
	chart              bool
	evidence           int  // places of missing evidence
	detail             bool // how much the fix helped elsewhere
	axis               bool
	proof              bool // the command that compares before with after
	reads              bool // the fix's commands that only read
	assumed            int  // lines of assumptions about which source is whose
	commands           bool
	parts              int // of the other sections that a short form shows
	rows               int // of each of their tables
	captions           bool
	terse              bool // of the omitted parts, name only those that limit the result
}

const many = 1 << 20

// whole is the longest form.
var whole = form{sentences: many, symptom: many, others: true, span: true, notes: true, then: 2, chart: true,
	evidence: 4, detail: true, axis: true, proof: true, reads: true,
	assumed: many, commands: true, parts: many, rows: 12, captions: true}

// cuts make a form shorter, the least loss first.
var cuts = []func(*form){
	func(f *form) { f.rows = 8 },
	func(f *form) { f.captions = false },
	func(f *form) { f.notes = false },
	func(f *form) { f.sentences = 2 },
	func(f *form) { f.span = false },
	func(f *form) { f.sentences = 1 },
	func(f *form) { f.rows = 5 },
	func(f *form) { f.proof = false },
	func(f *form) { f.assumed = 1 },
	func(f *form) { f.symptom = 1 },
	func(f *form) { f.others = false },
	func(f *form) { f.parts = 2 },
	func(f *form) { f.evidence = 2 },
	func(f *form) { f.detail = false },
	func(f *form) { f.axis = false },
	func(f *form) { f.reads = false },
	func(f *form) { f.assumed = 0 },
	func(f *form) { f.terse = true },
	func(f *form) { f.sentences = 0 },
	func(f *form) { f.then = 1 },
	func(f *form) { f.chart = false },
	func(f *form) { f.commands = false },
	func(f *form) { f.parts = 1 },
	func(f *form) { f.rows = 2 },
	func(f *form) { f.evidence = 1 },
	func(f *form) { f.then = 0 },
	func(f *form) { f.symptom = 0 },
	func(f *form) { f.parts = 0 },
}

// Of returns the first screen of a document. If even the shortest form does not fit, it returns that.
func Of(d *document.Document, opt Options) *document.Document {
	f := whole
	out := f.apply(d, opt)
	// Cuts add up. How much one saves depends on the document, so the result is made again after each.
	for _, cut := range cuts {
		if opt.Fits(out) {
			break
		}
		cut(&f)
		out = f.apply(d, opt)
	}
	return out
}

// apply selects the parts of a document that the form shows.
func (f *form) apply(d *document.Document, opt Options) *document.Document {
	s := &screen{form: f, from: d, again: opt.Again}
	out := &document.Document{Kind: d.Kind, Title: d.Title, Host: d.Host, Verdict: d.Verdict, Lead: d.Lead,
		Program: d.Program, Short: true}
	s.findings()
	s.reliability()

	// Results without findings have no terms; their key figures are the facts.
	if len(s.terms) > 0 {
		out.Summary = s.terms
	} else {
		out.Facts = d.Facts
	}

	out.Sections = append(out.Sections, s.sections()...)
	out.Sections = append(out.Sections, s.fix()...)
	out.Next = s.next(opt.Rest)
	return out
}

// A screen is a selection in progress.
type screen struct {
	*form
	from  *document.Document
	again string
	terms []document.Term
	left  []string // what is left out
}

func (s *screen) leave(n int, one, several string) {
	switch {
	case n == 1:
		s.left = append(s.left, "1 "+one)
	case n > 1:
		s.left = append(s.left, document.Counted(float64(n))+" "+several)
	}
}

func (s *screen) term(label string, lines ...string) {
	t := document.Term{Label: label}
	for _, l := range lines {
		if l != "" {
			t.Lines = append(t.Lines, document.Line{Text: l})
		}
	}
	if len(t.Lines) > 0 {
		s.terms = append(s.terms, t)
	}
}

// all returns the document's findings of a kind.
func (s *screen) all(kind document.FindingKind) (out []document.Finding) {
	for _, section := range s.from.Sections {
		for _, p := range section.Parts {
			for _, x := range p.Findings {
				if x.Kind == kind {
					out = append(out, x)
				}
			}
		}
	}
	return out
}

// reliability adds the terms that limit how reliable the result is, and the time it is about.
func (s *screen) reliability() {
	for _, t := range s.from.Summary {
		if t.Label == "identity" && len(t.Lines) > s.assumed {
			s.leave(len(t.Lines)-s.assumed, "assumption about which source is whose",
				"assumptions about which source is whose")
			if t.Lines = t.Lines[:s.assumed]; s.assumed == 0 {
				continue
			}
		}
		if t.Keep || s.span && (t.Label == "span" || strings.HasPrefix(t.Label, "source")) {
			s.terms = append(s.terms, t)
		}
	}
}

// sections are the sections that a short form shows.
func (s *screen) sections() (out []document.Section) {
	parts := 0
	for _, section := range s.from.Sections {
		switch {
		// The terms and the fix already show what matters in findings and tasks.
		case !section.Only.Has(document.Terminal) || isFindings(section):
		case section.Screen == document.Always:
			out = append(out, section)
		case section.Screen == document.OnRequest:
			s.leaveSection(section)
		case section.Parts[0].Timeline != nil:
			if s.chart {
				out = append(out, s.timeline(section))
			}
		default:
			// A copy: the document is laid out again for each cut, and once in full.
			short := section
			short.Parts = nil
			for _, p := range section.Parts {
				if parts++; parts <= s.parts {
					short.Parts = append(short.Parts, s.part(p))
				}
			}
			if len(short.Parts) > 0 {
				out = append(out, short)
			} else {
				s.leaveSection(section)
			}
		}
	}

	return out
}

func isFindings(section document.Section) bool {
	return slices.ContainsFunc(section.Parts, func(p document.Part) bool {
		return len(p.Findings) > 0 && p.Findings[0].Kind != "" || len(p.Tasks) > 0
	})
}

// leaveSection notes that a section is omitted. Rules that could not be judged are counted, because
// they limit what the verdict covers.
func (s *screen) leaveSection(section document.Section) {
	rules := 0
	for _, p := range section.Parts {
		for _, g := range p.Gaps {
			rules += len(g.Rules)
		}
	}

	if rules > 0 {
		s.leave(rules, "rule not measurable here", "rules not measurable here")
	} else if section.Title != "" && !s.terse && slices.ContainsFunc(section.Parts, shown) {
		s.left = append(s.left, document.LowerFirst(section.Title))
	}
}

// shown reports whether a terminal shows a part. The others are targets of links.
func shown(p document.Part) bool {
	return p.Only.Has(document.Terminal) && p.Evidence == nil && p.Queries == nil && p.Scenario == nil &&
		p.Source == nil
}

// part shortens the tables of a part.
func (s *screen) part(p document.Part) document.Part {
	if p.Table != nil {
		// Also a copy, for the same reason.
		t := *p.Table
		if n := len(t.Rows) - s.rows; n > 0 {
			t.Rows = t.Rows[:s.rows]
			s.leave(n, "row", "rows")
		}
		p.Table = &t
	}

	if p.Figure != nil && !s.captions {
		x := *p.Figure
		x.TerminalCaption = ""
		p.Figure = &x
	}

	return p
}

// next names the omitted parts and says how to see them.
func (s *screen) next(rest string) string {
	left := strings.Join(s.left, ", ")
	if left == "" {
		return s.from.Next
	}
	return "Not shown: " + left + ". " + rest + "."
}
