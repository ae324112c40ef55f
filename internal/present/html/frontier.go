package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// A frontierSize is the room for a frontier, in the drawing's units.
type frontierSize struct {
	width, height, left float64
	prices              int // on the axis, at most
}

const frontierBottom = 34.0

// frontierSizes are the drawings for a screen or paper, and for a phone: scaled down to its width, the texts
// of the first would be too small to read. The style sheet shows one of them.
var frontierSizes = map[string]frontierSize{
	"wide":   {width: 900, height: 280, left: 66, prices: 6},
	"narrow": {width: 360, height: 300, left: 58, prices: 3},
}

// frontier draws the plot in both sizes.
func frontier(f document.Frontier) template.HTML {
	return `<div class="wide">` + drawnFrontier(f, frontierSizes["wide"]) + `</div><div class="narrow">` +
		drawnFrontier(f, frontierSizes["narrow"]) + `</div>`
}

// drawnFrontier plots prices on the x axis and latencies, logarithmically, on the y axis.
func drawnFrontier(frontier document.Frontier, size frontierSize) template.HTML {
	all := frontier.Points
	cheapest, dearest := all[0].MonthlyUSD, all[0].MonthlyUSD

	low, high := frontier.MostSeconds, frontier.MostSeconds
	for _, x := range all {
		cheapest, dearest = min(cheapest, x.MonthlyUSD), max(dearest, x.MonthlyUSD)
		low, high = min(low, x.LowSeconds), max(high, x.HighSeconds)
	}

	// A logarithmic axis cannot show zero; errors may reach that far down.
	if low <= 0 {
		low = all[len(all)-1].Seconds / 10
	}

	margin := max((dearest-cheapest)*0.06, 1)
	drawing := newDrawing(size.width, size.height,
		fmt.Sprintf("Price against %s: %d layouts from %s to %s a month", frontier.Objective, len(all),
			units.Dollars(cheapest), units.Dollars(dearest)))
	x := scale{from: max(0, cheapest-margin), to: dearest + margin, start: size.left, end: size.width - 28}

	y := scale{from: low / 1.3, to: high * 1.3, start: size.height - frontierBottom, end: 10, log: true}
	drawing.rows(x, y, y.decades(16), "seconds")

	for _, v := range between(x.from, x.to, size.prices) {
		drawing.line("grid", x.at(v), y.start, x.at(v), y.end)
		drawing.text("tick", "middle", x.at(v), size.height-frontierBottom+15, units.Dollars(v))
	}

	drawing.text("tick", "end", x.end, size.height-4, "a month")
	drawing.line("limit", x.start, y.at(frontier.MostSeconds), x.end, y.at(frontier.MostSeconds))
	drawing.text("mark-text", "end", x.end, y.at(frontier.MostSeconds)-4, frontier.Objective+" < "+units.Seconds(frontier.MostSeconds))

	// A staircase: until the next price, more money does not help.
	var steps strings.Builder
	for i, p := range all {
		if i == 0 {
			fmt.Fprintf(&steps, "M%s %s", coordinate(x.at(p.MonthlyUSD)), coordinate(y.at(p.Seconds)))
			continue
		}
		fmt.Fprintf(&steps, "H%sV%s", coordinate(x.at(p.MonthlyUSD)), coordinate(y.at(p.Seconds)))
	}

	drawing.path("series series1", steps.String())
	for i, p := range all {
		at, value := x.at(p.MonthlyUSD), y.at(p.Seconds)
		drawing.line("error", at, y.at(p.LowSeconds), at, y.at(p.HighSeconds))
		switch {
		case p.Chosen:
			drawing.marker(3, at, value)
		case p.Now:
			drawing.marker(1, at, value)
		default:
			drawing.marker(0, at, value)
		}
		drawing.text("mark-text", "start", at+7, value-6, number(i+1))
	}

	return drawing.done()
}

// between returns round values within a range.
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
