package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/lab/run"
	"plimsoll/lab/table"
	"plimsoll/scenario"
)

func newLabTableCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:   "table SCENARIO...",
		Short: "Run scenarios in the lab and in the simulator, and tell how far the model is off",
		Long: `Runs each scenario twice, with the real engine on emulated volumes and in virtual time, and
prints the figures side by side: operations a second, checkpoints, p50 and p99. The end
is how far the model is off, by kind of figure. A folder stands for the scenarios in it.

A scenario that cannot be run here (an engine that is not installed) is named and left
out. The table is Markdown.`,
		Example: `  sudo plimsoll lab table examples/lab > errors.md`,
		Args:    needArgs(1, -1, "name scenarios, or a folder of them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := scenarioFiles(args)
			if err != nil {
				return err
			}
			if err := sweep(a); err != nil {
				return err
			}
			rows, err := labTable(cmd.Context(), a, files)
			if err != nil {
				return err
			}
			if output.value == "json" {
				return json.NewEncoder(a.stdout).Encode(map[string]any{"version": 1, "rows": rows, "summary": table.Summarise(rows)})
			}
			return table.Write(a.stdout, rows)
		},
	}
	addOutput(cmd, &output)
	return cmd
}

// scenarioFiles are the files that arguments name, a folder being those in it.
func scenarioFiles(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, usagef("", "lab table: %w", err)
		}
		if !info.IsDir() {
			out = append(out, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*.yaml"))
		if err != nil || len(found) == 0 {
			return nil, usagef("", "lab table: no scenario (*.yaml) in %s", arg)
		}
		out = append(out, found...)
	}
	return out, nil
}

// labTable runs the scenarios one after the other.
func labTable(ctx context.Context, a *app, files []string) ([]table.Row, error) {
	var scenarios []*scenario.Scenario
	for _, f := range files { // all are read before the first takes its minute
		sc, err := scenario.Load(f, nil)
		if err != nil {
			return nil, &failure{code: exitUsage, err: fmt.Errorf("%s cannot be run:\n%w", f, err)}
		}
		scenarios = append(scenarios, sc)
	}
	rows := []table.Row{}
	for i, sc := range scenarios {
		began := time.Now()
		r, err := run.Run(ctx, sc, run.Options{File: files[i], Model: true})
		if ctx.Err() != nil {
			return nil, context.Canceled
		}
		if err != nil {
			fmt.Fprintf(a.stderr, "plimsoll: %s: left out: %s\n", sc.Name, printable(err.Error()))
			continue
		}
		fmt.Fprintf(a.stderr, "plimsoll: %d of %d, %s: %s in %.0f s\n", i+1, len(files), sc.Name, r.Lab.Server, time.Since(began).Seconds())
		for _, remark := range r.Lab.Remarks {
			fmt.Fprintf(a.stderr, "  %s\n", printable(remark))
		}
		rows = append(rows, table.Rows(r.Result, r.Model, r.Lab.Saturated || r.Lab.Dispatch.Behind)...)
	}
	if len(rows) == 0 {
		return nil, errors.New("no scenario could be run")
	}
	return rows, nil
}
