package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/ruletest"
)

func newRulesTestCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use: "test [FILE...]",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRuleTests(cmd.Context(), a, args, output.value == "json")
		},
	}
	addOutput(cmd, &output)
	return cmd
}

// A ruleTest is the result of a case: the contract of `rules test -o json`.
type ruleTest struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Rule     string   `json:"rule"`
	Kind     string   `json:"kind"`
	Case     string   `json:"case"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures,omitempty"`
}

func runRuleTests(ctx context.Context, a *app, files []string, asJSON bool) error {
	scripts, err := readScripts(files)
	if err != nil {
		return err
	}
	t := &tally{}
	stop := a.meter(t).show()
	defer stop()
	total, done, failed := 0, 0, 0
	for _, s := range scripts {
		total += len(s.Cases)
	}
	rows := []ruleTest{}
	for _, s := range scripts {
		for i := range s.Cases {
			t.setStage("running cases", done, total)
			c := &s.Cases[i]
			found, err := s.Run(ctx, c)
			if err != nil {
				return err
			}
			row := ruleTest{File: s.Name, Line: c.Line, Rule: s.Rule.ID, Kind: c.Kind, Case: c.Title, Passed: len(found) == 0}
			for _, x := range found {
				row.Failures = append(row.Failures, fmt.Sprintf("%s:%d: %s", s.Name, x.Line, x.Text))
			}
			if !row.Passed {
				failed++
			}
			rows = append(rows, row)
			done++
		}
	}
	stop()
	if asJSON {
		if err := writeJSON(a, rows); err != nil {
			return err
		}
	} else {
		for _, row := range rows {
			for _, x := range row.Failures {
				fmt.Fprintf(a.stdout, "FAIL  %s (%s): %s\n", row.Rule, row.Case, x)
			}
		}
		fmt.Fprintf(a.stdout, "%d of %d cases passed\n", len(rows)-failed, len(rows))
	}
	if failed > 0 {
		return &failure{code: exitFailure, err: fmt.Errorf("%d of %d cases failed", failed, len(rows))}
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
