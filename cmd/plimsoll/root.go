package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/base/inputerror"
)

func newRootCommand(env *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "plimsoll",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}

	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(checkOutputs(cmd), env.applySettings(cmd)); err != nil {
			return err
		}
		return env.pageGoesSomewhere(cmd)
	}
	root.SetOut(env.stdout) // cobra's completion command keeps it
	var version bool
	root.Flags().BoolVar(&version, "version", false, "print the version and exit; also: plimsoll version")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(cmd, args[0])
		case version:
			return showVersion(env, choice{value: "text"})
		}
		return cmd.Help()
	}

	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			env.helpless = unknownCommand(cmd, words[0]) // cobra would print the help of the parent command
			return
		}
		out := &firstError{w: env.stdout}
		env.writeHelp(out, cmd, env.wantsShortHelp())
		if out.err != nil {
			env.helpless = failf(exitFailure, "", "help: %w", out.err)
		}
	})

	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var f *failure
		if errors.As(err, &f) {
			return err
		}

		// pflag wraps the error of strconv, which names a Go function.
		var number *strconv.NumError
		if errors.As(err, &number) {
			what := "is not a valid whole number"
			if errors.Is(number.Err, strconv.ErrRange) {
				what = "is out of range"
			}
			err = errors.New(strings.Replace(err.Error(), number.Error(), fmt.Sprintf("%q %s", number.Num, what), 1))
		}

		return usagef(cmp.Or(similarFlag(cmd, err), seeHelp(cmd)), "%s: %w", verb(cmd), err)
	})

	root.AddCommand(newDiagnoseCommand(env), newRecordCommand(env), newWatchCommand(env), newMarkCommand(env),
		newTopCommand(env), newRulesCommand(env), newVersionCommand(env), newCasebookCommand(env))
	root.AddCommand(newQueryCommand(env), newMetricsCommand(env), newExportCommand(env))
	root.AddCommand(newSimulateCommand(env))
	root.AddCommand(newCatalogCommand(env))
	root.AddCommand(newLabCommand(env))
	root.AddCommand(newProbeCommand(env), newTraceCommand(env), newProveCommand(env))
	root.AddCommand(newPlanCommand(env), newEmitCommand(env), newRolloutCommand(env))
	root.AddCommand(newFitCommand(env), newDiscoverCommand(env), newInitCommand(env))
	root.AddCommand(newMCPCommand(env), newManCommand(env))
	addSchemas(root)
	root.SetHelpCommand(newHelpCommand())

	// Commands that cobra adds later would miss their descriptions and groups.
	root.InitDefaultHelpCmd()
	describe(root)
	root.InitDefaultCompletionCmd(env.args...)
	groupByStep(root)
	completeFlags(root)
	acceptFormerFlags(root)
	strictGroups(root)

	if env.plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl plimsoll"}
	}

	return root
}

// helpGroups are the groups of commands in the help, in the order in which someone with a stall needs them.
var helpGroups = []struct {
	title    string
	commands []string
}{
	{"Symptom and cause:", []string{"top", "diagnose", "watch", "trace"}},
	{"Benchmark and model:", []string{"probe", "lab", "init", "fit", "discover", "simulate", "casebook"}},
	{"Fix:", []string{"plan", "emit", "rollout"}},
	{"Proof:", []string{"prove", "mark"}},
	{"Data:", []string{"record", "metrics", "query", "export"}},
	{"Reference:", []string{"rules", "catalog", "mcp", "completion", "help", "version"}},
}

// groupByStep sorts the commands of the help into steps. Without it, cobra would list them by name.
func groupByStep(root *cobra.Command) {
	for _, s := range helpGroups {
		root.AddGroup(&cobra.Group{ID: s.title, Title: s.title})
		for _, c := range root.Commands() {
			if slices.Contains(s.commands, c.Name()) {
				c.GroupID = s.title
			}
		}
	}
}

// strictGroups makes command groups answer a wrong name with an error (cobra would print the help
// and succeed), and makes cobra's own subcommands refuse arguments as ours do.
func strictGroups(root *cobra.Command) {
	for _, c := range root.Commands() {
		if !c.HasSubCommands() || c.Runnable() {
			continue
		}

		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef(seeHelp(cmd), "%s: which command? %s", verb(cmd), strings.Join(namesBelow(cmd), ", "))
			}
			return unknownCommand(cmd, args[0])
		}

		if c.Name() == "completion" {
			for _, shell := range c.Commands() {
				shell.Args = needArgs(0, 0, "")
			}
		}
	}
}

// namesBelow are the visible commands of a group.
func namesBelow(cmd *cobra.Command) (out []string) {
	for _, c := range availableBelow(cmd) {
		out = append(out, c.Name())
	}
	return out
}

// listByDefault makes a group of commands do what its list command does, with its flags.
func listByDefault(group, list *cobra.Command) {
	group.Flags().AddFlagSet(list.Flags())
	group.Args = cobra.ArbitraryArgs
	group.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return list.RunE(list, nil)
	}
}

// newHelpCommand is cobra's help command, except that an unknown name is an error.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), strings.Join(args, " "))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// verb is a command's name in an error: without the program's name, which main adds.
func verb(cmd *cobra.Command) string {
	if rest, ok := strings.CutPrefix(cmd.CommandPath(), cmd.Root().CommandPath()+" "); ok {
		return rest
	}
	return "command line"
}

func seeHelp(cmd *cobra.Command) string { return cmd.CommandPath() + " --help" }

// unknownCommand suggests a command with a similar name, or what to do with a file.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := seeHelp(cmd)
	if near := similarCommands(cmd, name); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + strings.Join(near, " or ") + "?"
	} else if _, err := os.Stat(name); err == nil || strings.Contains(name, "://") {
		hint = fmt.Sprintf("plimsoll diagnose %s", name)
	}
	if cmd.HasParent() {
		name = verb(cmd) + " " + name
	}
	return usagef(hint, "no command %q", name)
}

// similarCommands returns up to three commands below cmd whose last word is most similar to name,
// by their words after cmd. At most one letter in three may differ.
func similarCommands(cmd *cobra.Command, name string) []string {
	name = strings.ToLower(name)
	if len(name) > 40 {
		return nil // it is not a command
	}

	best := max(1, len(name)/3)
	var out []string
	var look func(of *cobra.Command, words string)
	look = func(of *cobra.Command, words string) {
		for _, c := range of.Commands() {
			if !c.IsAvailableCommand() {
				continue
			}

			edits := inputerror.Distance(name, c.Name())

			// An abbreviation counts as one edit, however many letters are missing.
			if len(name) > 1 && strings.HasPrefix(c.Name(), name) {
				edits = min(edits, 1)
			}

			switch {
			case edits < best:
				best, out = edits, []string{words + c.Name()}
			case edits == best && len(out) < 3:
				out = append(out, words+c.Name())
			}

			look(c, words+c.Name()+" ")
		}
	}

	look(cmd, "")
	return out
}

// needArgs checks the number of arguments; max -1 means any number.
func needArgs(least, most int, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef(hint, "%s: %s missing", verb(cmd), strings.TrimPrefix(cmd.Use, cmd.Name()+" "))
		case most >= 0 && len(args) > most:
			return usagef(seeHelp(cmd), "%s: %q is one argument too many", verb(cmd), args[most])
		}
		return nil
	}
}

// checkOutputs refuses an output that was given as "": an unset variable in a script would otherwise write
// nowhere, and nothing would say so.
func checkOutputs(cmd *cobra.Command) error {
	for _, name := range []string{"out", "save", "perfetto", "images"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usagef("name a file or a folder, or leave --"+name+" out", "%s: --%s is empty", verb(cmd), name)
		}
	}
	return nil
}
