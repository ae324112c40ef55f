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

// called is the command that made the result, as far as its origin says.
func (g *ledger) called() string {
	if len(g.Command) == 0 {
		return "plimsoll ..."
	}
	return call(g.Command...)
}

// page is the command that makes the page again; "" if its origin does not say.
func (g *ledger) page(name string) string {
	if len(g.Command) == 0 || g.again != "" {
		return g.again
	}
	again := call(g.Command...)
	commands := []string{again + " -o json"}
	if g.Command[0] == "lab" {
		if !slices.Contains(g.Command, "--server") {
			again = "sudo " + again // volumes are mounted
		}
		commands = []string{again + " -o json", again + " --record DIR"}
	}
	g.again = g.cite(document.Evidence{Name: name, Commands: commands})
	return g.again
}

// layout is the run behind a layout's figures.
func (g *ledger) layout(l *plan.Layout) string {
	name := "Layout"
	if len(l.Sets) == 0 {
		name = "As it is now"
	}
	return g.cite(document.Evidence{Name: name, Commands: []string{g.simulated(l.Sets)}})
}

// lost is the evidence of rejected layouts: their rows hold the assignments beyond those of the
// present layout, which include a longer run if the plan needed one.
func (g *ledger) lost(now []string) string {
	return g.cite(document.Evidence{Name: "Layouts that lost", Text: "Append the row's assignments to this:",
		Commands: []string{g.simulated(now)}})
}

// orderText is a layout as the arguments that make it.
func orderText(l *plan.Layout) string {
	if len(l.Sets) == 0 {
		return "as it is now"
	}
	var out []string
	for _, w := range assigned(l.Sets) {
		out = append(out, shellword.Quote(w))
	}
	return strings.Join(out, " ")
}

// walked is the position of the model's figure of a case in the result of one of its variants.
func (g *ledger) walked(c *casebook.Case, f casebook.WalkedFigure) string {
	if f.Got == nil {
		return ""
	}
	i := max(0, slices.IndexFunc(c.Variants, func(v casebook.Variant) bool { return v.Name == f.Variant }))
	text := "From the model, in results[" + strconv.Itoa(i) + "] (" + c.Variants[i].Name + ")."
	if strings.Contains(f.Model, ":") {
		text = "From the model, in the variants named."
	}
	return g.cite(document.Evidence{Name: figureLabel(f), Text: text, Fields: []string{f.Model}})
}

// published is the source of a case's published figures.
func (g *ledger) published(c *casebook.Case) string {
	file := filepath.Join(filepath.Dir(g.File), "case.yaml") // beside the scenario
	return g.cite(document.Evidence{Name: "Published",
		Text: document.Sentence(c.Published) + " Each figure is in " + file + "."})
}
