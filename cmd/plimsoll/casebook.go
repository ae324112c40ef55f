package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/engine"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/results"
	"plimsoll/internal/present/text"
)

func newCasebookCommand(a *app) *cobra.Command {
	var output choice
	noPlan := false
	cmd := &cobra.Command{
		Use:               "casebook [CASE]",
		Args:              needArgs(0, 1, ""),
		ValidArgsFunction: upTo(1, cobra.FixedCompletions(casebook.Names(), cobra.ShellCompDirectiveDefault)),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Other commands list with this word. A folder of that name is a case.
			if len(args) == 0 || args[0] == "list" && !isFolder("list") {
				all, err := casebook.List(engine.All().Plans())
				if err != nil {
					return err
				}
				return a.showList(output, all, results.Cases(all))
			}
			return walkCase(cmd.Context(), a, args[0], asGiven(cmd, args), output, noPlan)
		},
	}

	addFormat(cmd, &output)
	cmd.Flags().BoolVar(&noPlan, "no-plan",
		false, "stop before the plan, its files and the proof, which take longest")
	return cmd
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// openCase opens an embedded case, or one in a folder if the name is a folder.
func openCase(name string) (*casebook.Case, error) {
	if isFolder(name) {
		return casebook.Read(os.DirFS(name), filepath.Base(filepath.Clean(name)), engine.All().Plans())
	}
	c, err := casebook.Open(name, engine.All().Plans())
	if err != nil {
		return nil, usagef("plimsoll casebook shows the cases", "%w", err)
	}
	return c, nil
}

// caseOrigin describes the scenario that a case's page is made from. For an embedded case, that is
// a file in this program's source.
func caseOrigin(name string, given []string) results.Origin {
	out := results.Origin{Command: given, File: filepath.Join(name, "scenario.yaml")}
	if isFolder(name) {
		if text, err := scenario.ReadText(out.File); err == nil {
			out.Text = text
		}
		return out
	}
	for i, bare := range casebook.Names() {
		if folder := fmt.Sprintf("%d-%s", i+1, bare); name == bare || name == folder || name == fmt.Sprint(i+1) {
			out.File = "internal/advise/casebook/cases/" + folder + "/scenario.yaml"
		}
	}
	return out
}

func walkCase(ctx context.Context, a *app, name string, given []string, output choice, noPlan bool) error {
	c, err := openCase(name)
	if err != nil {
		return err
	}

	if err := a.loadCatalog(); err != nil {
		return err
	}

	t, stop := a.progress()
	t.setStage("simulating", 0, len(c.Variants))
	w, err := casebook.Run(ctx, c, casebook.Options{
		Engines: a.deployments(), Pack: pack(),
		Series: output.value == asPage, NoPlan: noPlan, Stage: t.setStage,
		Progress: func(variant string, done, total int) { t.setStage("simulating, last "+variant, done, total) },
	})

	stop()
	if err != nil {
		return err
	}
	if output.value == "json" {
		return writeJSON(a, w)
	}

	width := tablesDefault
	if n := a.columns(); n > 0 {
		width = min(max(n, 80), 120)
	}

	return a.write(results.Case(pack(), w, caseOrigin(name, given)), output,
		text.Options{Width: width, ASCII: !a.unicode()})
}
