package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/base/shellword"
	"plimsoll/internal/model/catalog"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/brief"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/html"
	"plimsoll/internal/present/markdown"
	"plimsoll/internal/present/results"
	"plimsoll/internal/present/text"
	"plimsoll/internal/record/address"
)

// The formats of a result besides text and JSON.
const (
	asPage     = "html"
	asMarkdown = "markdown"
)

// addFormat adds the output flag of verbs whose result is a document.
func addFormat(cmd *cobra.Command, output *choice) {
	output.value = "text"
	addChoice(cmd,
		output, "output",
		"o", "how to write the result; html is one file with plots, markdown is for an issue or a chat, json also applies to errors",
		"text", "json", asPage, asMarkdown)
}

// pageGoesSomewhere refuses to write a page to a terminal, before any work is done.
func (a *app) pageGoesSomewhere(cmd *cobra.Command) error {
	output := cmd.Flags().Lookup("output")
	if cmd.Flags().Changed("schema") || cmd.Flags().Changed("show") {
		return nil // they print JSON or YAML
	}
	inFile := verb(cmd) == "fit" && cmd.Flags().Changed("out") // elsewhere, --out is for other files
	if output != nil && output.Value.String() == asPage && a.stdout.terminal && !inFile {
		return usagef("append > report.html", "-o html: a terminal cannot show a page")
	}
	return nil
}

// programName is this program with its version, as results name it.
func programName() string { return "plimsoll " + thisBuild().Version }

// write writes a result in the requested format.
func (a *app) write(d *document.Document, output choice, opt text.Options) error {
	d.Program = programName()
	switch output.value {
	case asPage:
		return html.Write(a.stdout, d)
	case asMarkdown:
		return markdown.Write(a.stdout, d)
	}
	return text.Write(a.stdout, d, opt)
}

// screen writes the first screen of a result, or all of it on request: through the user's pager on a
// terminal.
func (a *app) screen(d *document.Document, output choice, opt text.Options, full bool) error {
	if output.value == asPage {
		return a.write(d, output, opt)
	}

	d.Program = programName()
	if full || opt.Verbose {
		if output.value == "text" && a.stdout.terminal {
			return a.paged(func(w io.Writer) error { return text.Write(w, d, opt) })
		}
		return a.write(d, output, opt)
	}

	// The size of the first screen does not depend on the medium: Markdown has the same selection.
	fitted := opt
	if output.value == asMarkdown {
		fitted = text.Options{Width: brief.Columns}
	}
	short := brief.Of(d, brief.Options{Rest: howToSeeAll(output), Again: a.again(),
		Fits: func(d *document.Document) bool { return text.Lines(d, fitted) <= brief.Lines }})

	if output.value == asMarkdown {
		return markdown.Fold(a.stdout, short, d)
	}
	return text.Write(a.stdout, short, opt)
}

// again returns the command that shows this result in full. It does not sample live sources again.
func (a *app) again() string {
	args := publicWords(a.args)
	if a.kept {
		args = []string{"diagnose", lastKept}
	}
	words := []string{"plimsoll"}
	for _, w := range append(args, "--full") {
		words = append(words, shellword.Quote(w))
	}
	return a.secrets.Hide(strings.Join(words, " "))
}

// howToSeeAll ends the sentence on what the first screen leaves out.
func howToSeeAll(output choice) string {
	if output.value == asMarkdown {
		return "Unfold to see everything"
	}
	return "--full shows everything; -o html > report.html has charts"
}

// show writes a result for which a verb has no flags: its JSON, or its document.
func (a *app) show(output choice, contract any, d *document.Document) error {
	return a.showAs(output, contract, d, (&display{color: choice{value: "auto"}}).options(a))
}

// showList is like show, for a list. Without a terminal it is as wide as it needs, because another
// program reads it.
func (a *app) showList(output choice, contract any, d *document.Document) error {
	opt := (&display{color: choice{value: "auto"}}).options(a)
	opt.Width = widthMax
	if n := a.columns(); n > 0 {
		opt.Width = max(n, widthMin)
	}
	return a.showAs(output, contract, d, opt)
}

func (a *app) showAs(output choice, contract any, d *document.Document, opt text.Options) error {
	if output.value == "json" {
		return writeJSON(a, contract)
	}
	return a.write(d, output, opt)
}

// asGiven rebuilds a verb's command line from its words and flags. It leaves out the flags for the
// output, and a server's address, which may contain a password.
func asGiven(cmd *cobra.Command, args []string) []string {
	words := append(strings.Fields(cmd.CommandPath())[len(strings.Fields(cmd.Root().CommandPath())):],
		publicWords(args)...)
	left := []string{"output", "width", "ascii", "out", "fail-on", "verbose", "server"}
	return append(words, flagsAsGiven(cmd, func(name string) bool { return !slices.Contains(left, name) })...)
}

// flagsAsGiven returns the flags on the command line that are wanted, as words of a command line.
func flagsAsGiven(cmd *cobra.Command, wanted func(name string) bool) (words []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !wanted(f.Name) {
			return
		}
		switch list, ok := f.Value.(pflag.SliceValue); {
		case ok:
			for _, v := range list.GetSlice() {
				words = append(words, "--"+f.Name, address.Public(v))
			}
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			words = append(words, "--"+f.Name)
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})

	return words
}

// publicWords returns arguments as they may be shown: an address without its password.
func publicWords(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = address.Public(arg)
	}
	return out
}

// pricesOf are the scenarios' products with known prices, each once, with the price's source.
func pricesOf(region string, all ...*scenario.Scenario) []results.Price {
	var out []results.Price
	add := func(product, source string) {
		if !slices.ContainsFunc(out, func(p results.Price) bool { return p.Product == product }) {
			out = append(out, results.Price{Product: product, Source: source})
		}
	}

	for _, sc := range all {
		for k := 1; k <= sc.MemberCount(); k++ {
			for _, v := range sc.VolumesOf(k) {
				bill, err := sc.Catalog().Monthly(&v.Value, region)
				if err == nil && bill.Source != (catalog.Source{}) {
					add(v.Value.Type, bill.Source.String())
				}
			}
		}
		if i := sc.Instance(); i != nil {
			if p, ok := i.Hourly(region); ok {
				add(i.Name, p.Source.String())
			}
		}
	}

	return out
}
