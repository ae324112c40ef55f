package text

import (
	"math"
	"strings"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
)

// tallRows is the height of a plot on a logarithmic axis.
const tallRows = 7

// tall draws a series as bars on a logarithmic axis of whole decades; false if it has no positive
// value.
func (p *page) tall(t *document.Timeline, r row, names, slots int) bool {
	values := t.Slots(r.chart, r.series, slots)
	low, high := math.Inf(1), 0.0
	for _, x := range values {
		if x > 0 {
			low, high = min(low, x), max(high, x)
		}
	}

	if high == 0 {
		return false
	}

	bottom, top := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	// All values within one decade's bound: the axis still needs a height.
	if top <= bottom {
		top = bottom + 1
	}

	perRow := (top - bottom) / tallRows
	labels := make([]string, tallRows)
	for d := bottom; d <= top; d++ {
		// If there are more decades than rows, a later label replaces an earlier one.
		labels[min(int((d-bottom)/perRow+0.5), tallRows-1)] = units.Tick(math.Pow(10, d), r.chart.Unit)
	}

	// The top row comes first and also has the series' name and its highest value.
	for i := tallRows - 1; i >= 0; i-- {
		name, most := "", ""
		if i == tallRows-1 {
			name, most = p.fit(r.name, names-1-tickColumns), "max "+units.Value(high, r.chart.Unit)
		}
		room := names - columns(name)
		label := right(p.fit(labels[i], room-1), room)
		p.line("  ", name, label, "  ", p.paint(p.slice(values, i, bottom, perRow), cyan), "  ",
			p.fit(most, mostColumns))
	}

	return true
}

// slice returns one row of a tall plot.
func (p *page) slice(values []float64, i int, bottom, perRow float64) string {
	full, parts := "█", blocks
	if p.ascii {
		full, parts = "#", []rune(".:#")
	}

	var b strings.Builder
	for _, x := range values {
		height := 0.0
		if x > 0 {
			height = (math.Log10(x)-bottom)/perRow - float64(i)
		}

		switch {
		// In the bottom row a positive value always has a mark, so that it differs from one
		// that was not measured.
		case !(x > 0) || height <= 0 && i > 0:
			b.WriteByte(' ')
		case height >= 1:
			b.WriteString(full)
		default:
			b.WriteRune(parts[max(min(int(height*float64(len(parts))), len(parts)-1), 0)])
		}
	}

	return b.String()
}

// marks draws when something held.
func (p *page) marks(t *document.Timeline, b document.Band, slots int) string {
	line := []rune(strings.Repeat(" ", slots))
	mark := '━'
	if p.ascii {
		mark = '='
	}
	at := func(s float64) float64 { return (s - t.FromS) / (t.ToS - t.FromS) * float64(slots) }
	for _, s := range b.Spans {
		// A band shorter than a slot still marks one.
		from := min(clamp(at(s[0]), slots), slots-1)
		to := min(clamp(math.Ceil(at(s[1])), slots), slots)
		for i := max(0, from); i < min(slots, max(to, from+1)); i++ {
			line[i] = mark
		}
	}
	return string(line)
}
