package document

import "strings"

// A Table has a caption for readers who do not see the text before it.
type Table struct {
	Caption string
	Fold    string // if not empty, a page folds the table under this heading
	Columns []Column
	Rows    [][]Cell
	Notes   []string
	// Short is how many rows a short text shows; 0 is all.
	Short int
	// Repeat is how many of the first columns are repeated when a narrow terminal splits the table
	// into several; 0 if it does not split it.
	Repeat int
}

// A Column is a heading. Numbers are right-aligned.
type Column struct {
	Text   string
	Ref    string // the evidence of the column
	Number bool
	Drop   int // a narrow terminal drops columns with a value above 0, highest first
}

// A Cell is one field of a table, or a link within a text.
type Cell struct {
	Text   string
	Note   string // smaller, below the text
	Detail string // more detail, which a short text omits
	Href   string
	Ref    string   // the evidence of its row
	Anchor string   // a lasting address of the row, for links from elsewhere
	Roles  string   // words of: code, long (may break anywhere), figure, word, good, bad
	Number bool     // right-aligned
	Zoom   *Window  // what the timeline shows when the link is followed
	Bar    *float64 // a share of 0 to 1, drawn as a bar
}

// A Window is a stretch of a timeline, in its seconds.
type Window struct{ From, To float64 }

// NewTable returns a table. A heading that begins with # is of a column of numbers.
func NewTable(caption string, headings ...string) *Table {
	t := &Table{Caption: caption}
	for _, h := range headings {
		text, number := strings.CutPrefix(h, "#")
		t.Columns = append(t.Columns, Column{Text: text, Number: number})
	}
	return t
}

// Add appends a row. The cells of a column of numbers are numbers.
func (t *Table) Add(row []Cell) {
	for i := range row {
		row[i].Number = row[i].Number || i < len(t.Columns) && t.Columns[i].Number
	}
	t.Rows = append(t.Rows, row)
}

// Line appends a row of plain texts.
func (t *Table) Line(texts ...string) {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	t.Add(row)
}

// Section returns a section that has only the table.
func (t *Table) Section(id, title string) Section {
	return Section{ID: id, Title: title, Parts: []Part{{Table: t}}}
}
