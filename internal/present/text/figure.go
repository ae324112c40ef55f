package text

import (
	"plimsoll/internal/present/document"
)

// drawable reports whether a terminal draws a plot. Of the others a builder gives the numbers in a table.
func drawable(document.Plot) bool { return false }

// figure draws a figure.
func (p *page) figure(*document.Figure) {}
