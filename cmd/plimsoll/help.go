package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

// helpTexts are what each command says of itself: its one line, its description, and its examples.
// They are documentation, and so they are files: help/lab-run.txt is that of `plimsoll lab run`.
//
//go:embed help
var helpTexts embed.FS

// helpList is the line of a help text in whose place stands what only the program knows: the list
// that the command's Long held until then.
const helpList = "{{list}}"

// examplesHeading stands alone on the line before the examples of a help text.
const examplesHeading = "EXAMPLES"

// describe gives a command and those below it their help texts.
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

// helpName is the name of a command's help text: its words without the program's.
func helpName(cmd *cobra.Command) string {
	_, words, sub := strings.Cut(cmd.CommandPath(), " ")
	if !sub {
		return cmd.Name()
	}
	return strings.ReplaceAll(words, " ", "-")
}
