package results

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/advise/casebook"
	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/shellword"
	"plimsoll/internal/present/document"
)

// called is the command that made the result; "plimsoll ..." if unknown.
func (g *ledger) called() string {
	if len(g.Command) == 0 {
		return "plimsoll ..."
	}
	return call(g.Command...)
}

// page cites the command that reproduces the page; "" if unknown.
func (g *ledger) page(name string) string {
	if len(g.Command) == 0 || g.again != "" {
		return g.again
	}
	again := call(g.Command...)
	commands := []string{again + " -o json"}
	if g.Command[0] == "lab" {
		if !slices.Contains(g.Command, "--server") {
			again = "sudo " + again // mounting volumes needs root
		}
		commands = []string{again + " -o json", again + " --out DIR"}
	}
	g.again = g.cite(document.Evidence{Name: name, Commands: commands})
	return g.again
}

// layout cites the run behind a layout's figures.
func (g *ledger) layout(l *plan.Layout) string {
	name := "Layout"
	if len(l.Sets) == 0 {
		name = "Current layout"
	}
	return g.cite(document.Evidence{Name: name, Commands: []string{g.simulated(l.Sets)}})
}

// lost is the evidence of rejected layouts. Their rows list the assignments in addition to those of
// the current layout, which include a longer run if the plan needed one.
func (g *ledger) lost(now []string) string {
	return g.cite(document.Evidence{Name: "Rejected layouts",
		Text:     "Append the assignments of the row to this command:",
		Commands: []string{g.simulated(now)}})
}

// orderText formats a layout as command-line arguments.
func orderText(l *plan.Layout) string {
	if len(l.Sets) == 0 {
		return "as is"
	}
	var out []string
	for _, w := range assigned(l.Sets) {
		out = append(out, shellword.Quote(w))
	}
	return strings.Join(out, " ")
}

// walked cites the place of the model's figure: a field in the result of one of the case's variants.
func (g *ledger) walked(c *casebook.Case, f casebook.WalkedFigure) string {
	if f.Got == nil {
		return ""
	}
	i := max(0, slices.IndexFunc(c.Variants, func(v casebook.Variant) bool { return v.Name == f.Variant }))
	text := "From the model, in results[" + strconv.Itoa(i) + "] (" + c.Variants[i].Name + ")."
	// A position after "variant:" names its variant itself.
	if strings.Contains(f.Model, ":") {
		text = "From the model, in the variants named."
	}
	return g.cite(document.Evidence{Name: figureLabel(f), Text: text, Fields: []string{f.Model}})
}

// published cites the source of a case's published figures.
func (g *ledger) published(c *casebook.Case) string {
	file := filepath.Join(filepath.Dir(g.File), "case.yaml") // in the scenario's folder
	return g.cite(document.Evidence{Name: "Published",
		Text: document.Sentence(c.Published) + " Each figure is in " + file + "."})
}
