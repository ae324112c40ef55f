package main

import (
	"time"

	"github.com/spf13/cobra"

	"plimsoll/report/html"
)

// asPage is the word of -o for one HTML file.
const asPage = "html"

// addOutputOrPage is addOutput for verbs whose result can be a page as well.
func addOutputOrPage(cmd *cobra.Command, output *choice) {
	output.value = "text"
	addChoice(cmd, output, "output", "o", "how to write the result; html is one file with plots, json writes errors as JSON too", "text", "json", asPage)
}

// pageGoesSomewhere refuses to write a page to a terminal, before any work is done for it.
func (a *app) pageGoesSomewhere(output choice) error {
	if output.value == asPage && a.stdout.terminal {
		return usagef("add > report.html", "-o html: a terminal does not show a page")
	}
	return nil
}

// pageOptions are those of every page.
func (a *app) pageOptions(zone *time.Location) html.Options {
	return html.Options{Location: zone, Program: "plimsoll " + thisBuild().Version}
}
