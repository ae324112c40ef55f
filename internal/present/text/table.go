package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// cellGap is the space between two columns.
const cellGap = 2

// table writes a table whose columns are as wide as their cells. A table that is too wide is split
// into pieces if its first columns may be repeated; otherwise columns that may be dropped are
// dropped. If that is not enough, columns are narrowed, those of words first: their cells wrap, and
// numbers are cut.
func (p *page) table(t *document.Table) {
	g := p.grid(t)
	pieces := [][]int{g.columns}
	if t.Repeat > 0 {
		pieces = p.pieces(g)
	}

	for i, piece := range pieces {
		if i > 0 {
			p.blank()
		}

		if t.Repeat == 0 {
			piece = p.dropped(g, piece)
		}

		// A column that is narrowed in one piece may have room in another.
		g := g.copied()
		p.cut(g, piece)
		p.widen(g, piece)
		p.headings(g, piece)

		for i, row := range t.Rows {
			// "and 1 more" would take as much room as the row itself.
			if i == t.Short && t.Short > 0 && !p.verbose && len(t.Rows) > t.Short+1 {
				p.line(p.indent, p.paint(fmt.Sprintf("and %s more", units.Count(int64(len(t.Rows)-i))), dim))
				p.shortened = true
				break
			}
			p.row(g, row, piece)
		}
	}

	for _, n := range t.Notes {
		p.para(p.indent, p.indent, n, dim)
	}
}

// A grid is a table with the widths of its columns.
type grid struct {
	*document.Table
	columns []int // columns that are not empty
	widths  []int
	bar     []bool // a column has bars
}

const (
	cutMin  = 8  // minimum width of a narrowed column
	wrapMin = 18 // minimum width of a column of words, unless more narrowing is needed
	headMax = 14 // maximum width that a heading reserves, if there is no room for more
)

func (p *page) grid(t *document.Table) grid {
	g := grid{Table: t, widths: make([]int, len(t.Columns)), bar: make([]bool, len(t.Columns))}
	for i, c := range t.Columns {
		if p.filled(t, i) {
			g.columns = append(g.columns, i)
		}

		// A heading may wrap at spaces, so it only needs the width of its longest word.
		w := min(columns(p.clean(c.Text)), headMax)
		for _, word := range words(p.clean(c.Text)) {
			w = max(w, min(columns(word), headMax))
		}

		for _, row := range t.Rows {
			if i >= len(row) {
				continue
			}
			w = max(w, columns(p.clean(row[i].Text)))
			// Notes of other columns are written across the full width, so they do not widen
			// the column.
			if g.number(i) {
				w = max(w, columns(p.clean(row[i].Note)))
			}
			if row[i].Bar != nil {
				w, g.bar[i] = max(w, min(barColumnsMax, p.width/4)), true
			}
		}

		g.widths[i] = w
	}

	return g
}

// copied returns the grid with a copy of its widths.
func (g grid) copied() grid {
	g.widths = slices.Clone(g.widths)
	return g
}

// widen gives headings the remaining width, so that they fit on one line if possible.
func (p *page) widen(g grid, some []int) {
	for _, i := range some {
		more := columns(p.clean(g.Columns[i].Text)) - g.widths[i]
		// Columns are widened from left to right while there is room; other headings wrap.
		if more > 0 && p.total(g, some)+more <= p.width {
			g.widths[i] += more
		}
	}
}

// number reports whether a column is one of numbers, which have their notes below them.
func (g grid) number(i int) bool { return i > 0 && g.Columns[i].Number }

// total is the width of some columns.
func (p *page) total(g grid, some []int) int {
	sum := len(p.indent) - cellGap
	for _, i := range some {
		sum += g.widths[i] + cellGap
	}
	return sum
}

// pieces splits the columns into pieces that each start with the first columns and fit the page.
func (p *page) pieces(g grid) [][]int {
	first := g.columns[:min(g.Repeat, len(g.columns))]
	var out [][]int
	piece := slices.Clone(first)
	for _, i := range g.columns[len(first):] {
		// A piece has at least one column to itself, even if that one is too wide.
		if p.total(g, append(slices.Clone(piece), i)) > p.width && len(piece) > len(first) {
			out, piece = append(out, piece), slices.Clone(first)
		}
		piece = append(piece, i)
	}
	return append(out, piece)
}

// dropped removes columns until the rest fits or no more may be dropped.
func (p *page) dropped(g grid, some []int) []int {
	for p.total(g, some) > p.width {
		worst := -1
		for k, i := range some {
			// A higher Drop goes first; 0 must stay.
			if d := g.Columns[i].Drop; d > 0 && (worst < 0 || d > g.Columns[some[worst]].Drop) {
				worst = k
			}
		}
		if worst < 0 {
			break
		}
		some = slices.Delete(slices.Clone(some), worst, worst+1)
		p.shortened = true
	}
	return some
}

// cut narrows bars, then the widest columns, until all columns fit.
func (p *page) cut(g grid, some []int) {
	for _, i := range some {
		if over := p.total(g, some) - p.width; over > 0 && g.bar[i] {
			g.widths[i] = max(cutMin, g.widths[i]-over)
		}
	}

	// Words wrap and stay readable, so their columns give way before those of numbers, which are cut.
	var long []int
	for _, i := range some {
		if !g.Columns[i].Number {
			long = append(long, i)
		}
	}
	p.narrow(g, some, long, wrapMin)
	p.narrow(g, some, some, cutMin)
}

// narrow makes the widest of some columns narrower, down to the minimum width, until all columns
// fit.
func (p *page) narrow(g grid, all, some []int, least int) {
	for over := p.total(g, all) - p.width; over > 0 && len(some) > 0; over = p.total(g, all) - p.width {
		widest := slices.MaxFunc(some, func(a, b int) int { return cmp.Compare(g.widths[a], g.widths[b]) })
		if g.widths[widest] <= least {
			return
		}

		// Only down to the second widest: no column should become narrower than the others for lack of
		// room.
		second := least
		for _, i := range some {
			if i != widest {
				second = max(second, g.widths[i])
			}
		}
		g.widths[widest] = max(g.widths[widest]-over, min(second, g.widths[widest]-1))
	}
}

// filled reports whether a column has anything to show.
func (p *page) filled(t *document.Table, i int) bool {
	for _, row := range t.Rows {
		if i < len(row) && (row[i].Text != "" || row[i].Note != "" || row[i].Bar != nil) {
			return true
		}
	}
	return len(t.Rows) == 0
}

// headings writes the columns' headings, unless all are empty. Long headings wrap.
func (p *page) headings(g grid, some []int) {
	heads, lines := map[int][]string{}, 0
	for _, i := range some {
		if text := p.clean(g.Columns[i].Text); text != "" {
			heads[i] = wrap(text, g.widths[i], g.widths[i])
			lines = max(lines, len(heads[i]))
		}
	}

	for l := range lines {
		var b strings.Builder
		for _, i := range some {
			text := ""
			if l < len(heads[i]) {
				text = heads[i][l]
			}
			b.WriteString(p.aligned(text, g.widths[i], g.Columns[i].Number) + strings.Repeat(" ", cellGap))
		}
		p.line(p.indent, p.paint(strings.TrimRight(b.String(), " "), dim))
	}
}

func (p *page) aligned(text string, width int, number bool) string {
	if number {
		return right(p.fit(text, width), width)
	}
	return p.pad(text, width)
}

// row writes a row of cells, wrapping words. The cells' notes follow: a number's note below the
// number, others across the full width.
func (p *page) row(layout grid, row []document.Cell, some []int) {
	set := make(map[int][]string, len(some))
	lines := 1
	below := make(map[int][]string, len(some))

	var notes, details []string
	for _, i := range some {
		c := document.Cell{}
		if i < len(row) {
			c = row[i]
		}

		set[i] = p.cell(layout, c, i)
		lines = max(lines, len(set[i]))

		switch {
		case c.Note == "":
		case layout.number(i):
			below[i] = []string{p.paint(right(p.fit(c.Note, layout.widths[i]), layout.widths[i]), dim)}
		default:
			notes = append(notes, c.Note)
		}

		if p.verbose && c.Detail != "" {
			details = append(details, layout.Columns[i].Text+" "+c.Detail)
		}
	}

	if len(details) > 0 {
		notes = append(notes, strings.Join(details, "; "))
	}

	for l := range lines {
		p.across(layout, set, some, l)
	}

	if len(below) > 0 {
		p.across(layout, below, some, 0)
	}

	for _, n := range notes {
		p.para(p.indent+"  ", p.indent+"  ", n, dim)
	}
}

// across writes one line of column content.
func (p *page) across(g grid, set map[int][]string, some []int, l int) {
	var b strings.Builder
	for _, i := range some {
		text := ""
		if l < len(set[i]) {
			text = set[i][l]
		}
		b.WriteString(text + strings.Repeat(" ", max(0, g.widths[i]-columns(text))+cellGap))
	}
	p.line(p.indent, b.String())
}

// cell returns a cell as lines of its column.
func (p *page) cell(g grid, c document.Cell, i int) []string {
	if c.Bar != nil {
		return []string{p.paint(p.bar(*c.Bar, g.widths[i]), cyan)}
	}

	st := plain
	for role := range strings.FieldsSeq(c.Roles) {
		switch role {
		case "bad":
			st = red
		case "good":
			st = green
		}
	}

	if c.Number || g.Columns[i].Number {
		return []string{p.paint(right(p.fit(c.Text, g.widths[i]), g.widths[i]), st)}
	}

	out := wrap(p.clean(c.Text), g.widths[i], g.widths[i])
	for k := range out {
		out[k] = p.paint(p.fit(out[k], g.widths[i]), st)
	}

	return out
}
