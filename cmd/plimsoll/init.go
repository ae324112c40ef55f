package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/starter"
	"plimsoll/internal/base/safefile"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/database"
)

// initOptions are the flags of `plimsoll init`.
type initOptions struct {
	writes, document, p99 string
	on                    choice
	force                 bool

	load starter.Load
}

func newInitCommand(a *app) *cobra.Command {
	o := &initOptions{on: choice{value: "aws"}}
	cmd := &cobra.Command{
		Use:  "init ENGINE [FILE|-]",
		Args: needArgs(1, 2, "plimsoll init "+strings.Join(startNames(), ", or ")),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return startNames(), cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			return o.Run(a, args)
		},
	}

	o.AddFlags(cmd)
	return cmd
}

func (o *initOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.writes, "writes", "", "how many writes clients ask for: 3000/s (default: the engine's example)")
	f.StringVar(&o.document, "document", "", "the size of one write: 2KB (default: the engine's example)")
	f.StringVar(&o.p99, "p99", "", "the latency that 99 % of the writes must not exceed: 20ms (default: the engine's example)")
	addChoice(cmd, &o.on, "platform", "", "the cloud whose machine and volume to begin with", starter.CloudNames()...)
	f.BoolVar(&o.force, "force", false, "overwrite the file")
}

// Validate reads the flags.
func (o *initOptions) Validate() error {
	for _, q := range []struct {
		flag, text, like string
		parse            func(text string) error
		ok               func() bool
	}{
		{"writes", o.writes, "3000/s", func(s string) error { return o.load.Writes.UnmarshalText([]byte(s)) },
			func() bool { return o.load.Writes > 0 }},
		{"document", o.document, "2KB", func(s string) error { return o.load.Document.UnmarshalText([]byte(s)) },
			func() bool { return o.load.Document > 0 }},
		{"p99", o.p99, "20ms", func(s string) error { return o.load.P99.UnmarshalText([]byte(s)) },
			func() bool { return o.load.P99 > 0 }},
	} {
		if q.text == "" {
			continue
		}
		if err := q.parse(q.text); err != nil {
			return usagef("write it as --"+q.flag+" "+q.like, "--%s: %w", q.flag, err)
		}
		if !q.ok() {
			return usagef("write it as --"+q.flag+" "+q.like, "--%s %s: want more than 0", q.flag, q.text)
		}
	}

	return nil
}

// Run writes the scenario, after checking that it is one.
func (o *initOptions) Run(a *app, args []string) error {
	e, err := database.Find(engine.All().Starts(), args[0], "be written a first scenario")
	if err != nil {
		return usagef("plimsoll init "+strings.Join(startNames(), ", or "), "init: no engine %q", args[0])
	}

	file := e.Key + ".yaml"
	if len(args) > 1 {
		file = args[1]
	}
	shown := file
	if file == "-" {
		shown = e.Key + ".yaml"
	}

	text, err := starter.Make(e, shown, starter.Options{Load: o.load, On: o.on.value})
	if err != nil {
		return err
	}
	if _, err := a.language().Parse(shown, text, nil); err != nil {
		return asPlanFailure(fmt.Errorf("init: the flags do not make a valid scenario for %s:\n%w", e.Key, err))
	}

	if file == "-" {
		_, err := a.stdout.Write(text)
		return err
	}
	return o.write(a, file, text)
}

func (o *initOptions) write(a *app, file string, text []byte) error {
	switch info, err := os.Lstat(file); {
	case err == nil && !o.force:
		return usagef("--force overwrites it; plimsoll init ENGINE - prints the scenario", "init: %s exists already",
			printable(file))
	case err == nil && !info.Mode().IsRegular():
		return usagef("name another file", "init: %s is not a regular file", printable(file))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return failf(exitFailure, "", "init: %w", err)
	}

	if err := safefile.Write(file, text, safefile.Options{}); err != nil {
		return failf(exitFailure, "", "init: %w", err)
	}

	// The scenario is in a file, so stdout has no data: a file that the shell redirects to stays empty.
	_, err := fmt.Fprintf(a.stderr, "%s is a scenario with comments. Next:\n  plimsoll simulate %[1]s\n  plimsoll plan %[1]s\n"+
		"  plimsoll plan --new %[1]s   # before buying anything\n", printable(file))
	return err
}

// startNames are the engines that have a first scenario.
func startNames() []string {
	var out []string
	for _, e := range engine.All().Starts() {
		out = append(out, e.Key)
	}
	return out
}
