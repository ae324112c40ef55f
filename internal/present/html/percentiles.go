package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"plimsoll/internal/present/document"
)

// percentiles draws latency by percentile.
func percentiles(plotted document.Percentiles) template.HTML {
	low, high := math.Inf(1), 0.0
	for _, c := range plotted.Curves {
		for _, x := range c.Seconds {
			if x != nil && *x > 0 {
				low, high = min(low, *x), max(high, *x)
			}
		}
	}

	const width, height, left, bottom, top = densityWidth, 210.0, 66.0, 20.0, 8.0
	drawing := newDrawing(width, height, "Latency by percentile")
	x := scale{from: -0.3, to: float64(len(plotted.Names)) - 0.7, start: left, end: width - 8}

	y := scale{from: low / 1.5, to: high * 1.5, start: height - bottom, end: top, log: true}
	drawing.rows(x, y, y.decades(16), "seconds")

	for i, name := range plotted.Names {
		drawing.line("grid", x.at(float64(i)), y.start, x.at(float64(i)), y.end)
		drawing.text("tick", "middle", x.at(float64(i)), height-5, name)
	}

	for i, c := range plotted.Curves {
		var trace strings.Builder
		for k, value := range c.Seconds {
			// Only known values above zero have a place on a logarithmic axis; the line connects their
			// neighbours.
			if value == nil || !(*value > 0) {
				continue
			}
			move := "L"
			if trace.Len() == 0 {
				move = "M"
			}
			trace.WriteString(move + coordinate(x.at(float64(k))) + " " + coordinate(y.at(*value)))
			drawing.marker(i, x.at(float64(k)), y.at(*value))
		}

		drawing.path("series series"+number(i%document.SeriesStyles+1), trace.String())
	}

	return drawing.done()
}

// marker draws a point of a series. Each series has its own shape, so that colour is not needed to
// distinguish them.
func (d *drawing) marker(i int, x, y float64) {
	class := "point" + number(i%document.SeriesStyles+1)
	const r = 3.4
	switch i % document.SeriesStyles {
	case 0:
		fmt.Fprintf(&d.b, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, coordinate(x), coordinate(y),
			coordinate(r))
	case 1:
		d.rect(class, x-r, y-r, 2*r, 2*r)
	case 2:
		d.path(class, fmt.Sprintf("M%s %sl%s %sh-%sZ", coordinate(x), coordinate(y-r-0.6), coordinate(r+0.6),
			coordinate(2*r), coordinate(2*r+1.2)))
	default:
		d.path(class, fmt.Sprintf("M%s %sl%s %sl-%s %sl-%s -%sZ", coordinate(x), coordinate(y-r-1), coordinate(r+1),
			coordinate(r+1), coordinate(r+1), coordinate(r+1), coordinate(r+1), coordinate(r+1)))
	}
}

// legend lists the names of series, each with its line and marker.
func legend(names []string) template.HTML {
	d := &drawing{}
	for i, name := range names {
		fmt.Fprintf(
			&d.b, `<li><svg viewBox="0 0 26 10" class="key" aria-hidden="true"><path class="series series%d" d="M0 5H26"/>`,
			i%document.SeriesStyles+1)
		d.marker(i, 13, 5)
		d.b.WriteString("</svg>" + template.HTMLEscapeString(name) + "</li>")
	}
	return template.HTML(d.b.String()) //nolint:gosec // names are escaped, the rest is this package's
}
