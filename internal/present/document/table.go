package document

// A Table has a caption for readers who do not see the text before it.
type Table struct {
	Caption string
	Fold    string // if not empty, a page folds the table behind these words
	Columns []Column
	Rows    [][]Cell
	Notes   []string
	// Short is how many rows a short text shows; 0 is all.
	Short int
	// Repeat is how many of the first columns are repeated where a narrow terminal writes the
	// others below each other; 0 if it does not.
	Repeat int
}

// A Column is a heading. Numbers are set right.
type Column struct {
	Text   string
	Ref    string // the evidence of what is below
	Number bool
	Drop   int // a narrow terminal leaves out columns with a number over 0, the highest first
}

// A Cell is one field of a table, or a link within a text.
type Cell struct {
	Text   string
	Note   string // smaller, below
	Detail string // more of the same, which a short text leaves out
	Href   string
	Ref    string   // the evidence that its row rests on
	Roles  string   // words of: code, long (may break anywhere), figure, word, good, bad
	Number bool     // set right
	Zoom   *Window  // the timeline shows this when the cell is followed
	Bar    *float64 // a share of 0 to 1, drawn as a bar
}

// A Window is a stretch of a timeline, in its seconds.
type Window struct{ From, To float64 }
