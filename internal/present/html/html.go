// Package html writes what the program found as one HTML file that needs nothing else: no network, no fonts, no
// second file. It can be mailed, kept beside an incident's notes, and opened in ten years.
//
// Every page is made in the same order: what was found in a sentence, the figures that carry it, then pictures, then what
// stands behind them. A picture is never the only place of a number: each has a table, and each
// number links to the query it was read with, or to the evidence it rests on ([Origin]).
//
// A page is built in three steps. A function for each verb ([Diagnosis] and its like) makes a page, which is
// plain data: sections of findings, tables, figures and charts. Figures are drawn here as SVG whose colours are CSS classes,
// so that they follow the theme. Charts over time are drawn twice: as SVG for paper and for readers without scripts, and by
// uPlot (vendored in uplot/) where scripts run, for zooming. One template turns a page into text.
//
// What a recording calls things (paths, hosts, devices) reaches the page through html/template, through
// encoding/json with HTML escaped, or through [html.EscapeString] in SVG, and never otherwise. A Content-Security-Policy allows the
// scripts and styles of this package by their hashes and nothing else: a name that were to become markup would still not run.
//
// The same input gives the same bytes: no time of writing, no random ids.
package html

import (
	"fmt"
	"io"
	"time"
)

// Options say how a page is written.
type Options struct {
	// Location is the time zone of the times shown; nil means UTC.
	Location *time.Location
	// Program names what wrote the page, for its footer: "plimsoll 1.0.0".
	Program string
	// Origin is what the figures of a simulation, a plan, a case or a run of the lab were made from.
	Origin Origin
}

func (o Options) location() *time.Location {
	if o.Location == nil {
		return time.UTC
	}
	return o.Location
}

// write renders a page and hands it over whole: an error leaves nothing half written.
func write(w io.Writer, p *page) error {
	text, err := p.render()
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}
