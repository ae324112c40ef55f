// Package html writes a result as a single self-contained HTML file: no network, no fonts, no
// second file. It can be mailed, kept with an incident's notes, and opened in ten years.
//
// Every page has the same order: the result in a sentence, the key figures, then charts, then the
// data behind them. No number appears only in a chart: each chart has a table, and each number
// links to its query or its evidence.
//
// A page is rendered from a [document.Document] by one template. Figures are SVG whose colours are
// CSS classes, so that they follow the theme. Charts over time are drawn twice: as SVG for paper
// and for readers without scripts, and by uPlot (vendored in uplot/), which supports zooming.
//
// Names from a recording (paths, hosts, devices) reach the page only through html/template, through
// encoding/json with HTML escaped, or through [html.EscapeString] in SVG. A Content-Security-Policy
// allows only the scripts and styles of this package, by their hashes: even a name that became
// markup would not run.
//
// The same input produces the same bytes: there are no timestamps and no random IDs.
package html

import (
	"fmt"
	"io"

	"plimsoll/internal/present/document"
)

// Write writes a document as a page, entirely or not at all.
func Write(w io.Writer, d *document.Document) error {
	text, err := render(d)
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
