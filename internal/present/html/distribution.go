package html

import (
	"html/template"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// Sizes of a distribution's drawing. Its axis of shares counts nines: 90 %, 99 % and 99.9 % are
// equally far apart, so that the tail, which hurts users most, gets as much room as the rest.
const (
	distributionHeight = 230.0
	distributionBottom = 22.0
	distributionTop    = 12.0
	ninesMost          = 4.0
)

// ninesOf is the position of a share on this axis.
func ninesOf(share float64) float64 {
	if share >= 1 {
		return math.Inf(1)
	}
	return -math.Log10(1 - share)
}

// distribution draws the share of operations up to each latency, for all operations and for parts
// of them.
func distribution(p document.Distribution) template.HTML {
	h := p.Density
	first, last, _ := h.Used()
	all := p.Shown[0]
	// With n operations, shares above 1-1/n represent less than one operation.
	top := min(ninesMost, max(1, ninesOf(1-1/all.Total())))
	d := newDrawing(densityWidth, distributionHeight, "Distribution of the latency of "+p.Subject)
	x := scale{from: h.Lower(first), to: h.Upper(last), start: densityLeft, end: densityWidth - 26, log: true}

	y := scale{from: 0, to: top, start: distributionHeight - distributionBottom, end: distributionTop}
	for _, share := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999} {
		if at := ninesOf(share); at <= top+1e-9 {
			d.line("grid", x.start, y.at(at), x.end, y.at(at))
			d.text("tick", "end", densityLeft-6, y.at(at)+4, strconv.FormatFloat(100*share, 'g', 4, 64)+" %")
		}
	}

	for _, v := range x.decades(44) {
		d.line("grid", x.at(v), y.start, x.at(v), y.end)
		d.text("tick", "middle", x.at(v), distributionHeight-6, units.Tick(v, "seconds"))
	}

	for i, shown := range p.Shown {
		d.path("series series"+number(i%document.SeriesStyles+1), curve(shown, h, x, y))
	}

	for _, q := range document.Quantiles {
		for i, shown := range p.Shown {
			value, class := h.Quantile(shown, q.Q)
			// The last class has no upper bound, so a quantile in it has no place on the axis.
			if shown.Enough(q.Q) && class >= 0 && class < len(h.BoundsS) && ninesOf(q.Q) < top {
				d.marker(i, x.at(value), y.at(ninesOf(q.Q)))
			}
		}
	}

	return d.done()
}

// curve returns the path of a population's cumulative shares.
func curve(p document.Population, h document.Density, x, y scale) string {
	first, last, _ := h.Used()
	all := p.Total()
	if !(all > 0) {
		return ""
	}

	place := func(share float64) string { return coordinate(y.at(min(y.to, ninesOf(share)))) }
	var trace strings.Builder
	trace.WriteString("M" + coordinate(x.start) + " " + place(p.Unseen/all))

	sum := p.Unseen
	for class, n := range p.Counts {
		// Classes outside of this range have no operations in any population and are not on the
		// axis.
		if class >= first && class <= last {
			lower, upper := h.Lower(class), h.Upper(class)
			parts := 1 + int(curveParts*math.Log2(upper/lower)) // a linear interpolation is curved on this axis
			for i := 1; i <= parts; i++ {
				part := float64(i) / float64(parts)
				share := min(1, (sum+n*part)/all*(1+1e-12))
				trace.WriteString("L" + coordinate(x.at(lower+(upper-lower)*part)) + " " + place(share))
				if ninesOf(share) >= y.to {
					return trace.String() // beyond the axis
				}
			}
		}
		sum += n
	}

	return trace.String()
}

// curveParts is how many straight segments a curve has in a class that is a factor of two wide.
const curveParts = 6
