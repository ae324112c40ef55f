package results

import (
	"slices"
	"strconv"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// plottedLayout is a layout in the plot of the frontier.
type plottedLayout struct {
	*plan.Layout
	figure      plan.Prediction
	now, chosen bool
}

// frontierSection shows price against the first objective. It is omitted without prices, and if
// fewer than two layouts can be compared.
func frontierSection(planned *plan.Plan, sources *ledger) document.Section {
	if planned.Unpriced || len(planned.Frontier) < 2 || len(planned.Objectives) == 0 {
		return document.Section{}
	}

	objective := planned.Objectives[0]
	name := objective.Name + "_seconds"

	var all []plottedLayout
	for _, l := range planned.Frontier {
		if f, ok := l.Predicted[name]; ok && f.Value > 0 {
			all = append(all, plottedLayout{l, f, planned.Now != nil && slices.Equal(l.Sets, planned.Now.Sets),
				planned.Chosen != nil && slices.Equal(l.Sets, planned.Chosen.Sets)})
		}
	}

	if len(all) < 2 {
		return document.Section{}
	}

	tab := document.NewTable("Price against "+objective.Name, "#", "#a month", "#"+plainName(objective.Name),
		"#with the model's error", "layout")

	drawn := document.Frontier{Objective: objective.Name, MostSeconds: objective.MostSeconds}
	for i, plotted := range all {
		word := ""
		switch {
		case plotted.chosen && plotted.now:
			word = "now, and chosen"
		case plotted.chosen:
			word = "chosen"
		case plotted.now:
			word = "now"
		}

		text := setsText(plotted.Layout)
		if planned.New || plotted.Platform != "" {
			text = orderedText(plotted.Layout)
		}
		name := text
		switch {
		case plotted.chosen:
			name += " (chosen)"
		// Without assignments the name already is "as is".
		case plotted.now && len(plotted.Sets) > 0:
			name += " (now)"
		}

		drawn.Points = append(drawn.Points,
			document.FrontierPoint{Name: name, MonthlyUSD: plotted.MonthlyUSD, Seconds: plotted.figure.Value,
				LowSeconds: plotted.figure.Low, HighSeconds: plotted.figure.High, Now: plotted.now,
				Chosen: plotted.chosen})
		run := sources.layout(plotted.Layout)
		tab.Add([]document.Cell{{Text: strconv.Itoa(i + 1), Ref: run},
			{Text: units.Dollars(plotted.MonthlyUSD), Href: sources.priced()},
			{Text: units.Seconds(plotted.figure.Value), Href: run},
			{Text: units.Seconds(plotted.figure.Low) + " to " + units.Seconds(plotted.figure.High),
				Href: sources.accurate()},
			{Text: text, Roles: "code long", Note: word}})
	}

	const none = "No layout that was simulated in full is both cheaper and better than one of these."
	return document.Section{ID: "frontier", Title: "Price against " + plainName(objective.Name), Note: none,
		Screen: document.IfItFits,
		Parts: []document.Part{{Figure: &document.Figure{ID: "frontier-plot", Title: "What more money buys",
			Plot: drawn, Table: tab, TerminalCaption: none + " The bars' scale is logarithmic.",
			Caption: "A bar is the model's error. The dotted line is the objective. A square marks the current layout, a diamond the chosen one."}}}}
}
