package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/base/inputerror"
)

// flagsElsewhere maps other programs' flag names to the flags here.
var flagsElsewhere = map[string]string{
	"json": "-o json", "yaml": "-o yaml", "html": "-o html", "markdown": "-o markdown", "format": "-o FORMAT",
	"since": "--from -2h", "start": "--from TIME", "begin": "--from TIME", "until": "--to TIME",
	"end":      "--to TIME",
	"duration": "--for 2m", "time": "--for 2m", "interval": "--period 1s", "no-color": "--color never",
	"no-colour": "--color never", "colour": "--color auto", "timezone": "--tz ZONE", "skip-verify": "--insecure",
	"overwrite": "--force", "file": "--out FILE", "output-dir": "--out FOLDER", "outdir": "--out FOLDER",
	"cloud": "--platform aws", "provider": "--platform aws", "dir": "--out FOLDER", "record": "--out FOLDER",
	"save": "--out FILE",
}

// similarFlag is the hint for a flag that a command does not have: one with a similar name, what other
// programs call so, or the command that has it. It is "" if there is none.
func similarFlag(cmd *cobra.Command, err error) string {
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
	for word, here := range flagsElsewhere {
		flag, _, _ := strings.Cut(strings.TrimLeft(here, "-"), " ")
		if flag == "o" {
			flag = "output"
		}
		if slices.Contains(known, flag) && !slices.Contains(known, word) {
			meant[word] = here
		}
	}

	if near := inputerror.Nearest(name, slices.Sorted(maps.Keys(meant))); near != "" {
		return "did you mean " + meant[near] + "?"
	}

	var others []string
	for _, c := range documented(cmd.Root()) {
		if f := c.Flags().Lookup(name); f != nil && !f.Hidden && c.HasParent() {
			others = append(others, c.CommandPath())
		}
	}
	if len(others) > 0 && len(others) <= 4 {
		return "it is a flag of " + strings.Join(others, " and ")
	}

	return ""
}
