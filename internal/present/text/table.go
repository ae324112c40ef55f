package text

import (
	"strings"

	"plimsoll/internal/present/document"
)

// cellGap is the space between two columns.
const cellGap = 2

// table writes a table whose columns are as wide as their cells. Where it is too wide for the page, columns
// are dropped that say they may be; then the widest column of words is cut.
func (p *page) table(t *document.Table) {
	keep := make([]bool, len(t.Columns))
	for i := range keep {
		keep[i] = p.filled(t, i)
	}
	widths := p.widths(t)
	for p.total(widths, keep) > p.width {
		worst := -1
		for i, c := range t.Columns {
			if keep[i] && c.Drop > 0 && (worst < 0 || c.Drop > t.Columns[worst].Drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		keep[worst], p.shortened = false, true
	}
	for p.total(widths, keep) > p.width {
		widest := -1
		for i := range widths {
			if keep[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 || widths[widest] <= cutMin {
			break
		}
		widths[widest] = max(cutMin, widths[widest]-(p.total(widths, keep)-p.width))
	}
	p.headings(t, widths, keep)
	for _, row := range t.Rows {
		p.row(t, row, widths, keep)
	}
	for _, n := range t.Notes {
		p.para("  ", "  ", n, dim)
	}
}

// cutMin is the least width that a column is cut to.
const cutMin = 8

// filled reports whether a column has anything to show.
func (p *page) filled(t *document.Table, i int) bool {
	for _, row := range t.Rows {
		if i < len(row) && (row[i].Text != "" || row[i].Note != "" || row[i].Bar != nil) {
			return true
		}
	}
	return len(t.Rows) == 0
}

func (p *page) widths(t *document.Table) []int {
	out := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = columns(p.clean(c.Text))
		for _, row := range t.Rows {
			if i < len(row) {
				out[i] = max(out[i], columns(p.clean(row[i].Text)))
				if i > 0 && t.Columns[i].Number {
					out[i] = max(out[i], columns(p.clean(row[i].Note)))
				}
				if row[i].Bar != nil {
					out[i] = max(out[i], min(barColumnsMax, p.width/4))
				}
			}
		}
	}
	return out
}

func (p *page) total(widths []int, keep []bool) int {
	sum := -cellGap
	for i, w := range widths {
		if keep[i] {
			sum += w + cellGap
		}
	}
	return sum + len(indent3)
}

// headings writes the columns' heads, unless none has a word.
func (p *page) headings(t *document.Table, widths []int, keep []bool) {
	var b strings.Builder
	some := false
	for i, c := range t.Columns {
		if !keep[i] {
			continue
		}
		some = some || c.Text != ""
		b.WriteString(p.aligned(c.Text, widths[i], c.Number) + strings.Repeat(" ", cellGap))
	}
	if some {
		p.line(indent3, p.paint(strings.TrimRight(b.String(), " "), dim))
	}
}

func (p *page) aligned(text string, width int, number bool) string {
	if number {
		return right(p.fit(text, width), width)
	}
	return p.pad(text, width)
}

// row writes a row of cells, and below it the notes of its cells: a number's below the number, others in
// the whole width.
func (p *page) row(t *document.Table, row []document.Cell, widths []int, keep []bool) {
	var line, below strings.Builder
	var notes []string
	for i, c := range row {
		if i >= len(widths) || !keep[i] {
			continue
		}
		text := p.aligned(c.Text, widths[i], c.Number || t.Columns[i].Number)
		if c.Bar != nil {
			text = p.paint(p.bar(*c.Bar, widths[i]), cyan)
		}
		switch {
		case strings.Contains(c.Roles, "bad"):
			text = p.paint(text, red)
		case strings.Contains(c.Roles, "good"):
			text = p.paint(text, green)
		}
		line.WriteString(text + strings.Repeat(" ", cellGap))
		if i > 0 && t.Columns[i].Number {
			below.WriteString(right(p.fit(c.Note, widths[i]), widths[i]) + strings.Repeat(" ", cellGap))
			continue
		}
		below.WriteString(strings.Repeat(" ", widths[i]+cellGap))
		if c.Note != "" {
			notes = append(notes, c.Note)
		}
	}
	p.line(indent3, line.String())
	if strings.TrimSpace(below.String()) != "" {
		p.line(indent3, p.paint(strings.TrimRight(below.String(), " "), dim))
	}
	for _, n := range notes {
		p.para("     ", "     ", n, dim)
	}
}
