package text

import (
	"plimsoll/internal/present/document"
)

// drawable reports whether a terminal draws a plot. Of the others a builder gives the numbers in a
// table.
func drawable(plot document.Plot) bool {
	switch plot.(type) {
	case document.Frontier, document.Changes:
		return true
	}
	return false
}

// figure draws a figure. If a terminal can draw it, its numbers are in the drawing; otherwise in a
// separate table.
func (p *page) figure(f *document.Figure) {
	var drawn bool
	switch plot := f.Plot.(type) {
	case document.Frontier:
		drawn = p.frontier(plot)
	case document.Changes:
		drawn = p.changes(plot)
	}
	if drawn && f.TerminalCaption != "" {
		p.para(indent3, indent3, f.TerminalCaption, dim)
	}
}
