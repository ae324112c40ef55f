package html

import (
	"html/template"
	"math"

	"plimsoll/internal/present/document"
)

// Sizes of the static drawing of a chart, in SVG units.
const (
	stillWidth  = 760.0
	stillHeight = 104.0
	stillLeft   = 66.0
	stillBottom = 18.0
	stillTop    = 8.0
	stillSlots  = 380 // a series is reduced to this many columns, half the width in units
)

// still draws a chart as static SVG.
func still(axis *document.Timeline, chart document.Chart) template.HTML {
	drawing := newDrawing(stillWidth, stillHeight, chart.Title+" over time, "+chart.Most())
	steps, top := niceSteps(max(chart.High(), 0), 3)

	// A share is read against the whole, so its axis ends at 100 %.
	if chart.Unit == "ratio" && chart.High() > 0.5 && chart.High() <= 1 {
		steps, top = []float64{0, 0.5, 1}, 1
	}

	x := scale{from: axis.FromS, to: axis.ToS, start: stillLeft, end: stillWidth - 4}
	y := scale{from: 0, to: top, start: stillHeight - stillBottom, end: stillTop}
	if low := chart.Low(); chart.Log && low > 0 {
		y.log = true
		y.from, y.to = decadesAround(low, chart.High())
		steps, top = y.decades(16), y.to
	}

	// Bands come first, so that lines are drawn over them.
	for _, b := range axis.Bands {
		for _, s := range b.Spans {
			from, to := x.at(s[0]), x.at(s[1])
			if b.Kind == "stall" {
				drawing.rect("band-stall", from, y.end, max(1, to-from), y.start-y.end)
				drawing.rect("band-stall-edge", from, y.end-4, max(1, to-from), 3)
			} else {
				drawing.rect("band-checkpoint", from, y.start+1, max(1, to-from), 4)
			}
		}
	}

	drawing.rows(x, y, steps, chart.Unit)

	// A limit far above the values would flatten their curve, so it does not extend the axis.
	if chart.Limit > y.from && chart.Limit < top {
		drawing.line("limit", x.start, y.at(chart.Limit), x.end, y.at(chart.Limit))
	}

	for _, cut := range axis.Cuts {
		drawing.line("grid", x.at(cut.AtS), y.start, x.at(cut.AtS), y.end)
	}

	for _, m := range axis.Marks {
		drawing.line("moment", x.at(m.AtS), y.start, x.at(m.AtS), y.end)
	}

	for _, s := range chart.Series {
		drawing.path("series series"+number(s.Style), trace(axis, chart, s, x, y))
	}

	drawing.text("tick", "start", stillLeft, stillHeight-3, axis.Clock(axis.FromS))
	drawing.text("tick", "end", stillWidth-4, stillHeight-3, axis.Clock(axis.ToS))
	return drawing.done()
}

// decadesAround returns the ends of a logarithmic axis: a power of ten, or 3 times one.
func decadesAround(low, high float64) (from, to float64) {
	from, to = math.Pow(10, math.Floor(math.Log10(low)+1e-9)), math.Pow(10, math.Ceil(math.Log10(high)-1e-9))
	switch {
	case low >= 3.06*from:
		from *= 3
	case low < 1.02*from: // a line at the very edge would be invisible
		from *= 0.3
	}
	// As at the lower end: less empty room.
	if high <= 0.3*to {
		to *= 0.3
	}
	if to <= from {
		to = 10 * from
	}
	return from, to
}

// trace returns the path of a series, with the maximum of each column.
func trace(t *document.Timeline, c document.Chart, s document.Series, x, y scale) string {
	if !(t.ToS > t.FromS) {
		return ""
	}

	// A column without a value breaks the line, so that a gap stays a gap.
	var out []byte
	pen := false
	for i, v := range t.Slots(c, s, stillSlots) {
		if math.IsNaN(v) {
			pen = false
			continue
		}

		at := x.start + (float64(i)+0.5)/stillSlots*(x.end-x.start)
		if pen {
			out = append(out, 'L')
		} else {
			out = append(out, 'M')
		}

		out = append(append(append(out, coordinate(at)...), ' '), coordinate(y.at(v))...)
		pen = true
	}

	return string(out)
}
