package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flagGroup is a heading of a command's help, with the flags below it.
type flagGroup struct {
	title string
	names []string
	// common flags mean the same in every command that has them: -h leaves them out.
	common bool
}

// flagGroups are the headings after "Flags:", which has everything that is in none of them.
var flagGroups = []flagGroup{
	{title: "Source", common: true, names: []string{"from", "to", "tz", "offset", "host", "selector", "insecure",
		"for", "period", "volume", "device", "instance"}},
	{title: fleetFlags, names: []string{"prometheus", "by", "cluster", "parallel", "rank"}},
	{title: "Tracing", names: []string{"trace", "trace-for", "trace-per-hour", "trace-slower-than"}},
	{title: "Kubernetes", names: []string{"kubeconfig", "context", "namespace", "statefulset",
		"container", "claim"}},
	{title: "Remote write", names: []string{"remote-write", "label", "header"}},
	{title: "Output", common: true, names: []string{"output", "verbose", "color", "width", "ascii",
		"help", "version"}},
}

// fleetFlags is the heading of the flags of a diagnosis of many databases.
const fleetFlags = "Fleet"

// groupAnnotation puts a flag under a heading that its name alone does not decide.
const groupAnnotation = "plimsoll_group"

// inGroup puts a command's flags under a heading.
func inGroup(cmd *cobra.Command, title string, names ...string) {
	for _, name := range names {
		if err := cmd.Flags().SetAnnotation(name, groupAnnotation, []string{title}); err != nil {
			panic(err) // the flag does not exist: a bug that every run would hit
		}
	}
}

// groupOf is the heading of a flag, "" for the command's own.
func groupOf(cmd *cobra.Command, f *pflag.Flag) string {
	if title := f.Annotations[groupAnnotation]; len(title) > 0 {
		return title[0]
	}
	for _, g := range flagGroups {
		if !slices.Contains(g.names, f.Name) {
			continue
		}
		// Elsewhere, --by and --parallel are not about a fleet.
		if g.title == fleetFlags && cmd.Flags().Lookup(g.names[0]) == nil {
			continue
		}
		return g.title
	}
	return ""
}

// A flagSection is one heading with its flags.
type flagSection struct {
	title  string
	common bool
	flags  *pflag.FlagSet
}

// flagSections are a command's visible flags by heading, its own first.
func flagSections(cmd *cobra.Command) []flagSection {
	all := []flagSection{{title: ""}}
	for _, g := range flagGroups {
		all = append(all, flagSection{title: g.title, common: g.common})
	}
	for i := range all {
		all[i].flags = pflag.NewFlagSet(all[i].title, pflag.ContinueOnError)
	}

	cmd.InitDefaultHelpFlag()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := groupOf(cmd, f)
		i := slices.IndexFunc(all, func(s flagSection) bool { return s.title == title })
		all[max(i, 0)].flags.AddFlag(f)
	})

	return slices.DeleteFunc(all, func(s flagSection) bool { return !s.flags.HasAvailableFlags() })
}

// wantsShortHelp reports whether help is for a first look, which is one screen: after -h, and for the program
// without arguments. --help and the help command print everything.
func (a *app) wantsShortHelp() bool {
	return len(a.args) == 0 || slices.Contains(a.args, "-h") && !slices.Contains(a.args, "--help")
}

// The width of help. Flags and their text need more than a narrow terminal has.
const (
	helpNarrowest = 80
	helpWidest    = 100
)

// writeHelp writes a command's help; short leaves out the description, common flags and exit codes.
func (a *app) writeHelp(w io.Writer, cmd *cobra.Command, short bool) {
	text := strings.TrimSpace(cmd.Long)
	// The program's own description is its path from symptom to proof, which is what -h is for.
	if text == "" || short && cmd.HasParent() {
		text = strings.TrimSpace(cmd.Short)
	}
	if text != "" {
		fmt.Fprintf(w, "%s\n\n", text)
	}

	if cmd.HasParent() || !short {
		fmt.Fprintln(w, "Usage:")
		if cmd.Runnable() {
			fmt.Fprintf(w, "  %s\n", cmd.UseLine())
		}
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(w, "  %s [command]\n", cmd.CommandPath())
		}
	}

	if cmd.HasExample() && (cmd.HasParent() || !short) {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}

	if !cmd.HasParent() && short {
		fmt.Fprintf(w, "%[1]s --help lists all commands, %[1]s COMMAND -h shows one.\n", cmd.CommandPath())
		return
	}

	writeCommands(w, cmd)
	hidden := a.writeFlags(w, cmd, short)

	switch {
	case hidden > 0:
		fmt.Fprintf(w, "\n%s --help has the description and %d more flags.\n", cmd.CommandPath(), hidden)
	case short:
		fmt.Fprintf(w, "\n%s --help has the description.\n", cmd.CommandPath())
	default:
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(w, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
		}
		fmt.Fprintf(w, "\n%s", exitCodes)
	}
}

// writeCommands lists the commands below one, by step if they are grouped.
func writeCommands(w io.Writer, cmd *cobra.Command) {
	list := func(title string, of func(*cobra.Command) bool) {
		var rows []*cobra.Command
		for _, c := range cmd.Commands() {
			if of(c) && (c.IsAvailableCommand() || c.Name() == "help") {
				rows = append(rows, c)
			}
		}
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(w, "\n%s\n", title)
		for _, c := range rows {
			fmt.Fprintf(w, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}

	for _, g := range cmd.Groups() {
		list(g.Title, func(c *cobra.Command) bool { return c.GroupID == g.ID })
	}
	title := "Commands:"
	if len(cmd.Groups()) > 0 {
		title = "Additional commands:"
	}
	list(title, func(c *cobra.Command) bool { return c.GroupID == "" })
}

// writeFlags writes the flags by heading, and returns how many it left out.
func (a *app) writeFlags(w io.Writer, cmd *cobra.Command, short bool) (left int) {
	width := helpWidest
	if n := a.columns(); n > 0 {
		width = min(max(n, helpNarrowest), helpWidest)
	}

	for _, s := range flagSections(cmd) {
		if short && s.common {
			s.flags.VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Name != "help" {
					left++
				}
			})
			continue
		}
		title := "Flags"
		if s.title != "" {
			title = s.title + " flags"
		}
		fmt.Fprintf(w, "\n%s:\n%s", title, s.flags.FlagUsagesWrapped(width))
	}

	return left
}
