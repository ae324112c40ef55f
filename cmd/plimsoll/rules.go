package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/docs"
	"plimsoll/internal/judge/rules"
)

func newRulesCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules",
	}
	cmd.AddCommand(newRulesListCommand(a), newRulesShowCommand(a), newRulesTestCommand(a), newRulesExportCommand(a))
	return cmd
}

// A ruleRow is a rule as `rules -o json` reports it.
type ruleRow struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind"`
	Engine string `json:"engine,omitempty"`
	Cause  string `json:"cause"`
	// When is PromQL over signals, PromQL the same over exporters' metrics, with ranges of a
	// minute; both are empty for a rule that does not depend on metrics.
	When    string      `json:"when,omitempty"`
	PromQL  string      `json:"promql,omitempty"`
	Signals []signalRow `json:"signals"`
	Docs    string      `json:"docs"`
}

// A signalRow is a quantity that a rule uses.
type signalRow struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit,omitempty"`
	Help  string   `json:"help"`
	Exprs []string `json:"promql"`
}

// exampleRange is the range in the PromQL shown; it must cover two samples of the server asked.
const exampleRange = "1m"

func describeRule(r rules.Rule) (ruleRow, error) {
	row := ruleRow{ID: r.ID, Title: r.Title, Kind: string(r.Kind), Engine: r.Engine, Cause: r.Cause, When: r.When, Docs: r.Docs(), Signals: []signalRow{}}
	var names []string
	for _, s := range slices.Concat(r.Needs, r.AnyOf) {
		names = append(names, s.Name)
	}
	if r.When != "" {
		text, err := pack().Inline(r.When, exampleRange)
		if err != nil {
			return row, fmt.Errorf("rule %s: %w", r.ID, err)
		}
		row.PromQL = text
		e, err := rules.Parse(r.When)
		if err != nil {
			return row, fmt.Errorf("rule %s: %w", r.ID, err)
		}
		names = append(rules.Names(e), names...)
	}
	seen := map[string]bool{}
	for _, n := range names {
		s := pack().Signal(n)
		if s == nil || seen[n] {
			continue
		}
		seen[n] = true
		var exprs []string
		for _, x := range s.Exprs {
			exprs = append(exprs, strings.ReplaceAll(x, "$w", exampleRange))
		}
		row.Signals = append(row.Signals, signalRow{Name: s.Name, Unit: s.Unit, Help: s.Help, Exprs: exprs})
	}
	return row, nil
}

func newRulesListCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:  "list",
		Args: needArgs(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if output.value == "json" {
				rows := []ruleRow{}
				for _, r := range pack().Rules() {
					row, err := describeRule(r)
					if err != nil {
						return err
					}
					rows = append(rows, row)
				}
				return writeJSON(a, rows)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "RULE\tKIND\tABOUT\tTITLE")
			for _, r := range pack().Rules() {
				about := r.Engine
				if about == "" {
					about = "any"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Kind, about, r.Title)
			}
			return w.Flush()
		},
	}
	addOutput(cmd, &output)
	return cmd
}

func ruleIDs() []string {
	var ids []string
	for _, r := range pack().Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

func newRulesShowCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:               "show RULE",
		Args:              needArgs(1, 1, "plimsoll rules list shows them"),
		ValidArgsFunction: cobra.FixedCompletions(ruleIDs(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := pack().Rule(args[0])
			if err != nil {
				return unknownRule(args[0])
			}
			row, err := describeRule(r)
			if err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(a, row)
			}
			return showRule(a, r, row)
		},
	}
	addOutput(cmd, &output)
	return cmd
}

// unknownRule suggests similar rules.
func unknownRule(id string) error {
	var near []string
	for _, known := range ruleIDs() {
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

// showRule writes a rule's page, then its PromQL.
func showRule(a *app, r rules.Rule, row ruleRow) error {
	var b strings.Builder
	page, err := docs.Rules.ReadFile(strings.TrimPrefix(r.Docs(), "docs/"))
	if err != nil {
		return fmt.Errorf("page of %s: %w", r.ID, err) // a test of the pack finds every page
	}
	b.Write(page)
	if row.When != "" {
		fmt.Fprintf(&b, "\n## In PromQL\n\nOver signals:\n\n    %s\n\nOver exporters' metrics, where the rule may hold if the result is not empty:\n\n    %s\n", row.When, row.PromQL)
	}
	if len(row.Signals) > 0 {
		b.WriteString("\n## Signals\n")
		for _, s := range row.Signals {
			unit := ""
			if s.Unit != "" {
				unit = " (" + s.Unit + ")"
			}
			fmt.Fprintf(&b, "\n%s%s: %s\n", s.Name, unit, s.Help)
			for _, x := range s.Exprs {
				fmt.Fprintf(&b, "    %s\n", x)
			}
		}
	}
	_, err = fmt.Fprint(a.stdout, b.String())
	return err
}
