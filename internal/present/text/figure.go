package text

import (
	"plimsoll/internal/present/document"
)

// drawable reports whether a terminal can draw a plot. For other plots the builder provides a
// table.
func drawable(plot document.Plot) bool {
	switch plot.(type) {
	case document.Frontier, document.Changes:
		return true
	}
	return false
}

// figure draws a figure. If a terminal can draw it, the drawing includes its numbers; otherwise
// they are in a separate table.
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
