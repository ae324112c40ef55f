package html

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
)

// A density is how many operations met which latency when.
type density struct {
	FromS, StepS float64   // of its columns of time, as a timeline has it
	BoundsS      []float64 // upper bounds of the classes; one more class has none
	Counts       [][]float64
	Unseen       float64 // operations that were too quick to be seen: below all classes
}

// used is the range of classes with any operation, and the most in one cell.
func (h density) used() (first, last int, most float64) {
	first, last = len(h.BoundsS), -1
	for _, column := range h.Counts {
		for class, n := range column {
			if n > 0 {
				first, last, most = min(first, class), max(last, class), max(most, n)
			}
		}
	}
	return first, last, most
}

// lower and upper bound a class where it is drawn; the first has no lower bound and the last no upper one, so they are drawn as
// wide as their neighbours.
func (h density) lower(class int) float64 {
	if class <= 0 {
		return h.BoundsS[0] * h.BoundsS[0] / h.BoundsS[1]
	}
	return h.BoundsS[class-1]
}

func (h density) upper(class int) float64 {
	if n := len(h.BoundsS); class >= n {
		return h.BoundsS[n-1] * h.BoundsS[n-1] / h.BoundsS[n-2]
	}
	return h.BoundsS[class]
}

// between is a class in words.
func (h density) between(class int) string {
	switch {
	case class <= 0:
		return "up to " + bound(h.BoundsS[0])
	case class >= len(h.BoundsS):
		return "over " + bound(h.BoundsS[len(h.BoundsS)-1])
	}
	return bound(h.BoundsS[class-1]) + " to " + bound(h.BoundsS[class])
}

// bound is a class' bound in words: it is exact, so that no digit is told for its precision.
func bound(s float64) string { return axisText(s, "seconds") }

// doubled is the ratio of bounds from which a class' width is told as a factor.
const doubled = 1.995

// alike is how much the widths of classes may differ that are told as one: rounded bounds do.
const alike = 1.05

// width is how wide the classes with operations are, in words.
func (h density) width() string {
	first, last, _ := h.used()
	least, most := math.Inf(1), 1.0
	for class := max(first, 1); class <= min(last, len(h.BoundsS)-1); class++ {
		ratio := h.BoundsS[class] / h.BoundsS[class-1]
		least, most = min(least, ratio), max(most, ratio)
	}
	upTo := ""
	if most > alike*least {
		upTo = "up to "
	}
	switch {
	case most == 1:
		return "one class"
	case most >= doubled:
		return "classes " + upTo + "a factor of " + strings.TrimSuffix(fmt.Sprintf("%.1f", most), ".0") + " wide"
	}
	return "classes " + upTo + units.Percent(math.Sqrt(least*most)-1) + " wide"
}

const (
	densityWidth  = 900.0
	densityHeight = 220.0
	densityLeft   = 66.0
	densityBottom = 20.0
	densityTop    = 6.0
)

// heatMap draws operations by time and latency. A level is a factor in the count, so that few slow operations are seen
// beside many quick ones.
func heatMap(h density, t *timeline, subject string) *figure {
	first, last, most := h.used()
	if last < 0 || len(h.BoundsS) < 2 {
		return nil
	}
	d := newDrawing(densityWidth, densityHeight, fmt.Sprintf("Heat map of the latency of %s over time; the slowest took %s",
		subject, h.between(last)))
	x := scale{from: t.FromS, to: t.ToS, start: densityLeft, end: densityWidth - 4}
	y := scale{from: h.lower(first), to: h.upper(last), start: densityHeight - densityBottom, end: densityTop, log: true}
	for _, v := range y.decades(16) {
		d.line("grid", x.start, y.at(v), x.end, y.at(v))
		d.text("tick", "end", densityLeft-6, y.at(v)+4, axisText(v, "seconds"))
	}
	traces := make([]strings.Builder, heatLevels)
	for i, column := range h.Counts {
		left := x.at(h.FromS + float64(i)*h.StepS)
		right := min(x.end, x.at(h.FromS+float64(i+1)*h.StepS))
		for class, n := range column {
			if n <= 0 {
				continue
			}
			top, bottom := y.at(h.upper(class)), y.at(h.lower(class))
			fmt.Fprintf(&traces[heatLevel(n, most)], "M%s %sH%sV%sH%sZ", coordinate(left), coordinate(top), coordinate(right), coordinate(bottom), coordinate(left))
		}
	}
	for i := range traces {
		d.path("heat heat"+number(i+1), traces[i].String())
	}
	d.text("tick", "start", x.start, densityHeight-4, t.clock(t.FromS))
	d.text("tick", "end", x.end, densityHeight-4, t.clock(t.ToS))
	return &figure{ID: "heat", Title: "Latency of " + subject + " over time", SVG: d.done(), Table: h.tabulate(t, subject),
		Caption: fmt.Sprintf("Each field holds the operations of %s at that latency; the stronger its colour, the more, up to %s. A level is about five times the one before.", units.Seconds(h.StepS), counted(most))}
}

// heatLevel is 0 for the fewest and heatLevels-1 for the most.
func heatLevel(n, most float64) int {
	level := heatLevels - 1
	for bound := most / 2; n <= bound && level > 0; bound /= 5 {
		level--
	}
	return level
}

const (
	heatRows   = 24 // of the table behind a heat map, at most
	heatGroups = 10 // of its classes
)

// tabulate is a heat map as a table: operations by stretches of time and by few, wide classes.
func (h density) tabulate(t *timeline, subject string) *table {
	first, last, _ := h.used()
	ends := h.groups(first, last)
	out := &table{Caption: "Operations by time and latency: " + subject, Fold: "Data as a table", Columns: []column{{Text: "from"}}}
	from := first
	for _, end := range ends {
		text := h.between(end)
		if from > 0 && from < end && end < len(h.BoundsS) {
			text = bound(h.BoundsS[from-1]) + " to " + bound(h.BoundsS[end])
		} else if end < len(h.BoundsS) && from == 0 {
			text = "up to " + bound(h.BoundsS[end])
		}
		out.Columns = append(out.Columns, column{Text: text, Number: true})
		from = end + 1
	}
	per := (len(h.Counts) + heatRows - 1) / heatRows
	for i := 0; i < len(h.Counts); i += per {
		at := window{h.FromS + float64(i)*h.StepS, min(t.ToS, h.FromS+float64(i+per)*h.StepS)}
		row := []cell{{Text: t.clock(at.From), Zoom: &at, Href: "#timeline"}}
		class := first
		for _, end := range ends {
			sum := 0.0
			for ; class <= end; class++ {
				for _, column := range h.Counts[i:min(i+per, len(h.Counts))] {
					sum += column[class]
				}
			}
			row = append(row, cell{Text: counted(sum), Number: true})
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// groups are the last classes of groups of those from first to last: each its own if they are few, else by 1, 3 and 10 of each decade, or by decades.
func (h density) groups(first, last int) (ends []int) {
	for _, per := range []float64{math.Inf(1), 2, 1} { // groups a decade
		ends = nil
		for class := first; class <= last; class++ {
			part := func(class int) float64 { return math.Ceil(per*math.Log10(h.upper(class)) - 1e-2) }
			if class == last || math.IsInf(per, 1) || class+1 == len(h.BoundsS) || part(class+1) > part(class) {
				ends = append(ends, class)
			}
		}
		if len(ends) <= heatGroups {
			break
		}
	}
	return ends
}

// counted is a number of operations; cells of time that divide an interval give fractions of one.
func counted(n float64) string {
	switch {
	case n <= 0:
		return "–"
	case n < 0.5:
		return "< 1"
	}
	return whole(int64(math.Round(n)))
}

// shareBar draws a part of a whole as a bar.
func shareBar(part float64) (d *drawing) {
	if math.IsNaN(part) {
		part = 0
	}
	part = min(1, max(0, part))
	d = newDrawing(120, 10, units.Percent(part))
	d.rect("bar-whole", 0, 1, 120, 8)
	d.rect("bar", 0, 1, 120*part, 8)
	return d
}
