package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/ruletest"
	"plimsoll/internal/present/results"
)

func newRulesTestCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use: "test [FILE...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRuleTests(cmd.Context(), a, args, output)
		},
	}
	addFormat(cmd, &output)
	return cmd
}

func runRuleTests(ctx context.Context, a *app, files []string, output choice) error {
	scripts, err := readScripts(files)
	if err != nil {
		return err
	}

	t, stop := a.progress()
	defer stop()

	all, err := ruletest.RunAll(ctx, scripts, func(done, total int) { t.setStage("running cases", done, total) })
	if err != nil {
		return err
	}

	stop()
	if err := a.show(output, all, results.RuleTests(all)); err != nil {
		return err
	}

	if n := ruletest.Failed(all); n > 0 {
		return failf(exitFailure, "", "%d of %d cases failed", n, len(all))
	}

	return nil
}

// readScripts reads files, or the pack's own scripts, by name.
func readScripts(files []string) ([]*ruletest.Script, error) {
	if len(files) == 0 {
		return ruletest.Scripts(pack())
	}

	var out []*ruletest.Script
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s, err := ruletest.Parse(pack(), name, f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}

	return out, nil
}
