// Package html writes what the program found as one HTML file that needs nothing else: no network,
// no fonts, no second file. It can be mailed, kept beside an incident's notes, and opened in ten
// years.
//
// Every page is made in the same order: what was found in a sentence, the figures that carry it,
// then pictures, then what stands behind them. A picture is never the only place of a number: each
// has a table, and each number links to the query it was read with, or to the evidence it rests on.
//
// A page is made of a [document.Document]. Figures are drawn here as SVG whose colours are CSS
// classes, so that they follow the theme. Charts over time are drawn twice: as SVG for paper and
// for readers without scripts, and by uPlot (vendored in uplot/) where scripts run, for zooming.
// One template turns a page into text.
//
// What a recording calls things (paths, hosts, devices) reaches the page through html/template,
// through encoding/json with HTML escaped, or through [html.EscapeString] in SVG, and never
// otherwise. A Content-Security-Policy allows the scripts and styles of this package by their
// hashes and nothing else: a name that were to become markup would still not run.
//
// The same input gives the same bytes: no time of writing, no random ids.
package html

import (
	"fmt"
	"io"

	"plimsoll/internal/present/document"
)

// Write writes a document as a page. It writes all of it or nothing.
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
