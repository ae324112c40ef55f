package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

const (
	densityWidth  = 900.0
	densityHeight = 220.0
	densityLeft   = 66.0
	densityBottom = 20.0
	densityTop    = 6.0
)

// heatMap draws operations by time and latency. Colour levels are logarithmic in the count, so that
// few slow operations are visible next to many fast ones.
func heatMap(m document.HeatMap) template.HTML {
	h, t := m.Density, m.Time
	first, last, most := h.Used()
	d := newDrawing(densityWidth, densityHeight,
		fmt.Sprintf("Heat map of the latency of %s over time; the slowest took %s",
			m.Subject, h.Between(last)))
	x := scale{from: t.FromS, to: t.ToS, start: densityLeft, end: densityWidth - 4}

	y := scale{from: h.Lower(first), to: h.Upper(last), start: densityHeight - densityBottom,
		end: densityTop, log: true}
	d.rows(x, y, y.decades(16), "seconds")

	// One path per colour: a tag for each cell would make the page several times as large.
	traces := make([]strings.Builder, heatLevels)
	for i, column := range h.Counts {
		left := x.at(h.FromS + float64(i)*h.StepS)
		right := min(x.end, x.at(h.FromS+float64(i+1)*h.StepS))
		for class, n := range column {
			if n <= 0 {
				continue
			}
			top, bottom := y.at(h.Upper(class)), y.at(h.Lower(class))
			fmt.Fprintf(&traces[heatLevel(n, most)], "M%s %sH%sV%sH%sZ", coordinate(left), coordinate(top),
				coordinate(right), coordinate(bottom), coordinate(left))
		}
	}

	for i := range traces {
		d.path("heat heat"+number(i+1), traces[i].String())
	}

	d.text("tick", "start", x.start, densityHeight-4, t.Clock(t.FromS))
	d.text("tick", "end", x.end, densityHeight-4, t.Clock(t.ToS))
	return d.done()
}

// heatLevel is 0 for the fewest and heatLevels-1 for the most.
func heatLevel(n, most float64) int {
	level := heatLevels - 1
	// The caption says that a level is about five times the previous one.
	for bound := most / 2; n <= bound && level > 0; bound /= 5 {
		level--
	}
	return level
}

// shareBar draws a part of a whole as a bar.
func shareBar(part *float64) template.HTML {
	if part == nil {
		return ""
	}
	x := min(1, max(0, *part))
	if math.IsNaN(x) {
		x = 0
	}
	d := newDrawing(120, 10, units.Percent(x))
	d.rect("bar-whole", 0, 1, 120, 8)
	d.rect("bar", 0, 1, 120*x, 8)
	return d.done()
}
