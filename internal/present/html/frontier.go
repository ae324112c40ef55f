package html

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/advise/plan"
	"plimsoll/internal/base/units"
)

// A pointed is a layout on the drawing of the frontier.
type pointed struct {
	*plan.Layout
	figure      plan.Prediction
	now, chosen bool
}

// frontierSection is price against the first objective. It is missing where fewer than two layouts can be compared.
func frontierSection(p *plan.Plan, g *ledger) (section, bool) {
	if len(p.Frontier) < 2 || len(p.Objectives) == 0 {
		return section{}, false
	}
	objective := p.Objectives[0]
	name := objective.Name + "_seconds"
	var all []pointed
	for _, l := range p.Frontier {
		if f, ok := l.Predicted[name]; ok && f.Value > 0 {
			all = append(all, pointed{l, f, slices.Equal(l.Sets, p.Now.Sets), p.Chosen != nil && slices.Equal(l.Sets, p.Chosen.Sets)})
		}
	}
	if len(all) < 2 {
		return section{}, false
	}
	tab := &table{Caption: "Price against " + objective.Name, Columns: []column{{Text: "", Number: true}, {Text: "a month", Number: true}, {Text: plainName(objective.Name), Number: true},
		{Text: "with the model's error", Number: true}, {Text: "layout"}}}
	for i, x := range all {
		word := ""
		switch {
		case x.chosen && x.now:
			word = "now, and chosen"
		case x.chosen:
			word = "chosen"
		case x.now:
			word = "now"
		}
		run := g.layout(x.Layout)
		tab.Rows = append(tab.Rows, []cell{{Text: number(i + 1), Number: true, Ref: run}, {Text: dollars(x.MonthlyUSD), Number: true, Href: g.priced()}, {Text: units.Seconds(x.figure.Value), Number: true, Href: run},
			{Text: units.Seconds(x.figure.Low) + " to " + units.Seconds(x.figure.High), Number: true, Href: g.accurate()}, {Text: setsText(x.Layout), Class: "code long", Note: word}})
	}
	return section{ID: "frontier", Title: "Price against " + plainName(objective.Name),
		Note:  "Of the layouts that were run to their end, none is both cheaper and better than one of these.",
		Parts: []part{{Figure: &figure{ID: "frontier-plot", Title: "What more money buys", SVG: drawFrontier(all, objective), Table: tab, Caption: "A bar is the model's error. The dotted line is the objective; a square is now, a diamond what was chosen."}}}}, true
}

const (
	frontierWidth  = 900.0
	frontierHeight = 280.0
	frontierLeft   = 66.0
	frontierBottom = 34.0
)

// drawFrontier puts prices to the right and latencies, by orders of magnitude, upwards.
func drawFrontier(all []pointed, objective plan.Objective) template.HTML {
	cheapest, dearest := all[0].MonthlyUSD, all[0].MonthlyUSD
	low, high := objective.MostSeconds, objective.MostSeconds
	for _, x := range all {
		cheapest, dearest = min(cheapest, x.MonthlyUSD), max(dearest, x.MonthlyUSD)
		low, high = min(low, x.figure.Low), max(high, x.figure.High)
	}
	if low <= 0 {
		low = all[len(all)-1].figure.Value / 10
	}
	margin := max((dearest-cheapest)*0.06, 1)
	d := newDrawing(frontierWidth, frontierHeight, fmt.Sprintf("Price against %s: %d layouts from %s to %s a month", objective.Name, len(all), dollars(cheapest), dollars(dearest)))
	x := scale{from: max(0, cheapest-margin), to: dearest + margin, start: frontierLeft, end: frontierWidth - 28}
	y := scale{from: low / 1.3, to: high * 1.3, start: frontierHeight - frontierBottom, end: 10, log: true}
	for _, v := range y.decades(16) {
		d.line("grid", x.start, y.at(v), x.end, y.at(v))
		d.text("tick", "end", frontierLeft-6, y.at(v)+4, axisText(v, "seconds"))
	}
	for _, v := range between(x.from, x.to, 6) {
		d.line("grid", x.at(v), y.start, x.at(v), y.end)
		d.text("tick", "middle", x.at(v), frontierHeight-frontierBottom+15, dollars(v))
	}
	d.text("tick", "end", x.end, frontierHeight-4, "a month")
	d.line("limit", x.start, y.at(objective.MostSeconds), x.end, y.at(objective.MostSeconds))
	d.text("mark-text", "end", x.end, y.at(objective.MostSeconds)-4, objective.Name+" < "+units.Seconds(objective.MostSeconds))
	var steps strings.Builder
	for i, p := range all {
		if i == 0 {
			fmt.Fprintf(&steps, "M%s %s", coordinate(x.at(p.MonthlyUSD)), coordinate(y.at(p.figure.Value)))
			continue
		}
		fmt.Fprintf(&steps, "H%sV%s", coordinate(x.at(p.MonthlyUSD)), coordinate(y.at(p.figure.Value)))
	}
	d.path("series series1", steps.String())
	for i, p := range all {
		at, value := x.at(p.MonthlyUSD), y.at(p.figure.Value)
		d.line("error", at, y.at(p.figure.Low), at, y.at(p.figure.High))
		switch {
		case p.chosen:
			d.marker(3, at, value)
		case p.now:
			d.marker(1, at, value)
		default:
			d.marker(0, at, value)
		}
		d.text("mark-text", "start", at+7, value-6, number(i+1))
	}
	return d.done()
}

// between gives round values within a range.
func between(from, to float64, atMost int) []float64 {
	steps, _ := niceSteps(to-from, atMost)
	if len(steps) < 2 {
		return nil
	}
	size := steps[1]
	var out []float64
	for v := math.Ceil(from/size) * size; v <= to; v += size {
		out = append(out, v)
	}
	return out
}
