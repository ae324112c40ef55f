package results

import (
	"strconv"
	"strings"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/present/document"
)

// An Origin describes where a page's figures come from, so that each figure can link to it.
type Origin struct {
	// File is the scenario's name in commands, and Text its content. Without them the page has less
	// evidence.
	File string
	Text []byte
	// Sets are each result's --set assignments, in the order of the results.
	Sets [][]string
	// Command is the command that made the page if it was not simulate: the words after the
	// program's name, without -o.
	Command []string
	// Made is the command that creates File from a recording; "" if it was hand-written.
	Made string
	// Folder is where the files that apply the result were written; "" if none were.
	Folder string
	// Program is the program that made the page, with its version.
	Program string
	// Prices are the sources of the amounts of money.
	Prices []Price
}

// A Price is a product of the catalogue with the source of its price.
type Price struct {
	Product string // "gp3", in the form that `plimsoll catalog show` accepts
	Source  string // its origin and date
}

// A ledger collects the evidence that a page's figures link to, in order of first use.
type ledger struct {
	Origin
	list  []*document.Evidence
	index map[string]string // addresses by content
	again string            // address of the command that reproduces the page
	ran   map[string]string // addresses of results' runs, by variant
	first string            // address of the first run
	// real says that a real engine ran: its recording does not use the model's names of devices and
	// cycles.
	real  bool
	ruled bool // some evidence has PromQL
}

func newLedger(o Origin) *ledger {
	if o.File == "" || strings.HasPrefix(o.File, "/dev/") {
		o.File = "scenario.yaml" // a pipe has no usable name, but the page includes the text
	}
	return &ledger{Origin: o, index: map[string]string{}, ran: map[string]string{}}
}

// cite returns the address of a piece of evidence, adding it only once.
func (g *ledger) cite(e document.Evidence) string {
	// Many figures of a page come from the same place.
	key := e.Name + strings.Join(e.Fields, " ") + strings.Join(e.Commands, " ")
	if href, ok := g.index[key]; ok {
		return href
	}
	e.Number = len(g.list) + 1
	g.list = append(g.list, &e)
	g.index[key] = e.Href()
	g.ruled = g.ruled || len(e.PromQL) > 0
	return e.Href()
}

// linked links the figures of a row to their evidence, and puts the evidence's number into the
// first cell.
func linked(href string, row []document.Cell) []document.Cell {
	for i := range row {
		switch c := &row[i]; {
		case i == 0 && href != "":
			c.Ref = href
		case c.Text != "" && c.Text != "–" && c.Href == "":
			c.Href = href
		}
	}
	return row
}

// section lists all evidence, and the scenario that it refers to; none if no figure links to any.
func (g *ledger) section() document.Section {
	if len(g.list) == 0 {
		return document.Section{}
	}

	out := document.Section{ID: "evidence", Title: "Evidence", Parts: []document.Part{{Evidence: g.list}},
		Note: "A number in brackets refers to this list."}
	if g.ruled {
		out.Note += " Fields are in the JSON that the run prints; PromQL queries its recording, at the end."
	}

	if g.Made != "" {
		out.Note += " To create the scenario: " + g.Made
	}

	if lines := g.lines(); len(lines) > 0 {
		out.Parts = append(out.Parts, document.Part{Scenario: &document.Scenario{File: g.File, Lines: lines}})
	}

	return out
}

const (
	// linesMax and lineBytesMax bound how much of a scenario is shown, because it may contain
	// recorded rates of any length.
	linesMax     = 300
	lineBytesMax = 400
)

// lines returns the scenario's lines that are shown.
func (g *ledger) lines() []string {
	text := strings.TrimRight(strings.TrimPrefix(string(g.Text), "\ufeff"), "\r\n\t ")
	if text == "" {
		return nil
	}

	var out []string
	for line := range strings.Lines(text) {
		if len(out) == linesMax {
			break
		}
		line = strings.TrimRight(line, "\r\n")
		if len(line) > lineBytesMax {
			line = strings.ToValidUTF8(line[:lineBytesMax], "") + "..." // the cut may be within a character
		}
		out = append(out, line)
	}

	return out
}

// where returns links to the lines of the scenario that set the given keys: a top-level key, or an
// entry below it.
func (g *ledger) where(keys ...string) []document.Cell {
	var out []document.Cell
	lines := g.lines()
	for _, path := range keys {
		top, entry, _ := strings.Cut(path, ".")
		// at is the line found so far, from 1 on; 0 if none.
		at := 0
		for i, line := range lines {
			switch indented := strings.TrimLeft(line, " "); {
			case strings.HasPrefix(line, top+":"):
				at = i + 1
			case at > 0 && entry != "" && len(indented) < len(line) && strings.HasPrefix(indented, entry+":"):
				at, entry = i+1, ""
			case at > 0 && indented != "" && len(indented) == len(line) && line[0] != '#':
				entry = "" // the next key begins
			}
		}

		if at > 0 {
			out = append(out, document.Cell{Text: g.File + ":" + strconv.Itoa(at), Href: "#line" + strconv.Itoa(at)})
		}
	}

	return out
}

// simulated is the command that runs the scenario with assignments.
func (g *ledger) simulated(sets []string) string {
	return call(append([]string{"simulate", g.File}, assigned(sets)...)...)
}

// assigned converts assignments to arguments.
func assigned(sets []string) []string {
	var out []string
	for _, s := range sets {
		out = append(out, "--set", s)
	}
	return out
}

// call formats a command of this program for a shell.
func call(words ...string) string {
	out := "plimsoll"
	for _, w := range words {
		out += " " + shellword.Quote(w)
	}
	return out
}

// priced is the evidence for amounts of money.
func (g *ledger) priced() string {
	e := document.Evidence{Name: "Prices"}
	var sources []string

	products := map[string][]string{}
	for _, p := range g.Prices {
		if products[p.Source] == nil {
			sources = append(sources, p.Source)
		}
		products[p.Source] = append(products[p.Source], p.Product)
		e.Commands = append(e.Commands, call("catalog", "show", p.Product))
	}

	for i, s := range sources {
		sources[i] = strings.Join(products[s], ", ") + ": " + s
	}

	if len(sources) > 0 {
		e.Text = strings.Join(sources, "; ") + "."
	} else {
		e.Text = "From the catalogue, which lists each price with its source and date."
		e.Commands = []string{call("catalog", "list")}
	}

	e.Lines = g.where("volumes", "host")
	return g.cite(e)
}

// accurate is the evidence for the model's error bar.
func (g *ledger) accurate() string {
	return g.cite(document.Evidence{Name: "The model's error",
		Text:     "docs/models.md, \"Compared with real engines\".",
		Commands: []string{"plimsoll lab table examples/lab --measured examples/lab/measured.json"}})
}
