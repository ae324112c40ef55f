package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

// helpTexts hold each command's summary, description and examples. They are documentation, so they
// are files: help/lab-run.txt belongs to `plimsoll lab run`.
//
//go:embed help
var helpTexts embed.FS

// helpList marks the line of a help text that is replaced by a generated list: the command's Long
// until then.
const helpList = "{{list}}"

// examplesHeading is the line before the examples of a help text.
const examplesHeading = "EXAMPLES"

// describe sets the help texts of a command and its subcommands.
func describe(cmd *cobra.Command) {
	if text, err := helpTexts.ReadFile("help/" + helpName(cmd) + ".txt"); err == nil {
		short, rest, _ := strings.Cut(string(text), "\n")
		long, examples, _ := strings.Cut("\n"+rest, "\n"+examplesHeading+"\n")
		if cmd.Short == "" {
			cmd.Short = short
		}
		if cmd.Example == "" {
			list := strings.TrimRight(cmd.Long, "\n")
			cmd.Long = strings.ReplaceAll(strings.Trim(long, "\n"), helpList, list)
			cmd.Example = strings.TrimRight(examples, "\n")
		}
	}
	for _, sub := range cmd.Commands() {
		describe(sub)
	}
}

// helpName is the name of a command's help text: its words without the program's name.
func helpName(cmd *cobra.Command) string {
	_, words, sub := strings.Cut(cmd.CommandPath(), " ")
	if !sub {
		return cmd.Name()
	}
	return strings.ReplaceAll(words, " ", "-")
}
