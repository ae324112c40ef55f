package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/base/inputerror"
	"plimsoll/internal/base/shellword"
)

// flagsElsewhere maps other programs' flag names to the flags here, by what the user wants. Of several, the
// first that a command has counts.
var flagsElsewhere = spellings([]elsewhere{
	{"json", "-o json"}, {"yaml yml", "-o yaml"}, {"html", "-o html"}, {"markdown md", "-o markdown"},
	{"format fmt", "-o FORMAT"},
	{"since start begin last ago", "--from -2h"}, {"until end", "--to TIME"},
	{"duration time seconds length runtime run-time", "--for 2m"}, {"duration time", "--set run.duration=10min"},
	{"interval refresh frequency freq sample-interval scrape-interval", "--period 1s"},
	{"interval frequency freq", "--every 15s"},
	{"no-color no-colour", "--color never"}, {"colour colors colours", "--color auto"},
	{"timezone zone time-zone", "--tz ZONE"},
	{"skip-verify tls-skip-verify insecure-skip-tls-verify no-verify skip-tls-verify", "--insecure"},
	{"overwrite", "--force"}, {"assume-yes no-confirm", "--yes"}, {"details detailed debug", "--verbose"},
	{"file output-file", "--out FILE"}, {"output-dir outdir dir directory record save ring folder", "--out FOLDER"},
	{"ring watch address url", "--in FOLDER"},
	{"listen listen-address listen-addr port address addr bind http http-address web", "--web.listen-address " + addressUnasked},
	{"retention retention-time max-age", "--keep-for 24h"}, {"retention-size max-size", "--keep-size 2GB"},
	{"cloud provider", "--platform aws"}, {"cost max-cost price max-price", "--budget 500USD/month"},
	{"labels filter series", "--selector '{instance=\"db-1:9100\"}'"},
	{"threshold slow slower-than min-latency", "--slow-from 10ms"},
	{"slow threshold min-latency", "--slower-than 10ms"},
	{"process", "--pid PID"}, {"all everything long", "--full"}, {"iops provisioned", "--volume DEVICE=TYPE"},
})

// elsewhere are names that other programs give to something, separated by spaces, and the flag for it here.
type elsewhere struct{ names, here string }

func spellings(all []elsewhere) map[string][]string {
	out := map[string][]string{}
	for _, x := range all {
		for name := range strings.FieldsSeq(x.names) {
			out[name] = append(out[name], x.here)
		}
	}
	return out
}

// nameOf is the flag that a spelling such as "-o json" or "--out FILE" uses.
func nameOf(spelling string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(spelling, "-"), " ")
	if name == "o" {
		return "output"
	}
	return name
}

// formats are the words that -o takes in some command, or other programs do.
var formats = []string{"text", "json", "yaml", "html", "markdown", "csv", "openmetrics", "parquet", "table",
	"pdf", "xml"}

// similarFlag is the hint for a format that is meant to be a file, or for a flag that a command does not
// have: one with a similar name, the equivalent of another program's flag, or the command that has it. It is
// "" if there is none.
func similarFlag(cmd *cobra.Command, err error) string {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Name == "output" && cmd.Flags().Lookup("out") != nil &&
		inputerror.Nearest(invalid.GetValue(), formats) == "" {
		return "did you mean --out " + shellword.Quote(printable(invalid.GetValue())) + "? -o is the format"
	}

	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}

	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return ""
	}

	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})

	// Names of other programs may be misspelt as well: --formt is neither --for nor --from.
	meant := map[string]string{}
	for _, k := range known {
		meant[k] = "--" + k
	}
	for word, all := range flagsElsewhere {
		for _, here := range all {
			if meant[word] == "" && slices.Contains(known, nameOf(here)) {
				meant[word] = here
			}
		}
	}

	// A name that is known elsewhere is no typing error: --port is not --out.
	near := name
	if flagsElsewhere[name] == nil {
		near = inputerror.Nearest(name, slices.Sorted(maps.Keys(meant)))
	}
	if meant[near] != "" {
		return "did you mean " + meant[near] + "?"
	}

	var others []string
	for _, c := range documented(cmd.Root()) {
		if f := c.Flags().Lookup(name); f != nil && f.Name == name && !f.Hidden && c.HasParent() {
			others = append(others, c.CommandPath())
		}
	}
	if len(others) > 0 && len(others) <= 4 {
		return "it is a flag of " + strings.Join(others, " and ")
	}

	return ""
}
