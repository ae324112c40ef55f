package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/docs"
	"plimsoll/internal/judge/act"
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/present/results"
)

func newRulesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules",
	}
	list := newRulesListCommand(a)
	listByDefault(cmd, list)
	cmd.AddCommand(list, newRulesShowCommand(a), newRulesTestCommand(a),
		newRulesExportCommand(a))
	return cmd
}

func newRulesListCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:  "list",
		Args: needArgs(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			all, err := pack().DescribeAll()
			if err != nil {
				return err
			}
			return a.showList(output, all, results.Rules(all))
		},
	}
	addFormat(cmd, &output)
	return cmd
}

func ruleIDs() []string {
	var ids []string
	for _, r := range pack().Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

func newRulesShowCommand(env *app) *cobra.Command {
	var output choice
	var verbose bool
	cmd := &cobra.Command{
		Use:  "show RULE",
		Args: needArgs(1, 1, "plimsoll rules list shows them"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return ruleIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := pack().Rule(args[0])
			if err != nil {
				return unknownRule(args[0])
			}

			row, err := pack().Describe(r)
			if err != nil {
				return err
			}

			page, err := docs.Rules.ReadFile(strings.TrimPrefix(r.Docs(), "docs/"))
			if err != nil {
				return fmt.Errorf("page of %s: %w", r.ID, err) // a test of the pack finds every page
			}

			fixes := act.Fixes(pack(), &r)
			if !verbose {
				d := results.Rule(&row, page)
				if len(fixPages(fixes)) > 0 {
					d.Next = "plimsoll rules show -v " + r.ID + " prints the commands of its fixes"
				}
				return env.show(output, describedRule{row, fixes}, d)
			}

			d := results.Rule(&row, page, fixPages(fixes)...)
			d.Sections = append(d.Sections, results.HowTested(tested(fixes)))

			return env.show(output, describedRule{row, fixes}, d)
		},
	}

	addFormat(cmd, &output)
	cmd.Flags().BoolVarP(&verbose, "verbose", "v",
		false, "also print each fix's commands for every place, and how they were tested")
	return cmd
}

// fixPages returns the page of each fix. A remedy of another engine without a command has none.
func fixPages(fixes []act.Fix) (out [][]byte) {
	seen := map[string]bool{}
	for _, f := range fixes {
		for _, m := range f.Remedies {
			page, err := docs.Rules.ReadFile("rules/fixes/" + m.Remedy + ".md")
			if err == nil && !seen[m.Remedy] {
				out = append(out, page)
			}
			seen[m.Remedy] = true
		}
	}
	return out
}

// tested lists how the steps of the fixes were tested, as rows of remedy, place and method.
func tested(fixes []act.Fix) (out [][3]string) {
	for _, f := range fixes {
		for _, m := range f.Remedies {
			for _, w := range m.Ways {
				row := [3]string{m.Title, strings.Join(append([]string{w.Place}, w.Clouds...), ", "), w.Tested}
				if w.Tested != "" && !slices.Contains(out, row) {
					out = append(out, row)
				}
			}
		}
	}
	return out
}

// describedRule is the contract of `rules show -o json`.
type describedRule struct {
	rules.Description
	Fixes []act.Fix `json:"fixes"`
}

// unknownRule suggests similar rules.
func unknownRule(id string) error {
	var near []string
	for _, known := range ruleIDs() {
		// People often leave out the group, as in iops-capped for disk/iops-capped.
		if strings.Contains(known, strings.ToLower(id)) {
			near = append(near, known)
		}
	}
	hint := "plimsoll rules list shows them"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return usagef(hint, "there is no rule %q", id)
}
