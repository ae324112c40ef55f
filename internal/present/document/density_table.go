package document

import (
	"math"

	"plimsoll/internal/base/units"
)

const (
	heatRows   = 24 // maximum rows of the table behind a heat map
	heatGroups = 10 // maximum groups of classes in it
)

// Tabulate returns a heat map as a table: operations by stretch of time and by a few wide classes.
func (h Density) Tabulate(t *Timeline, subject string) *Table {
	first, last, _ := h.Used()
	ends := h.groups(first, last)
	out := &Table{Caption: "Operations by time and latency: " + subject, Fold: "Data as a table",
		Columns: []Column{{Text: "from"}}}

	from := first
	for _, end := range ends {
		text := h.Between(end)
		// A group of several classes goes from the lower bound of its first to the upper bound
		// of its last.
		if from > 0 && from < end && end < len(h.BoundsS) {
			text = bound(h.BoundsS[from-1]) + " to " + bound(h.BoundsS[end])
		} else if end < len(h.BoundsS) && from == 0 {
			text = "up to " + bound(h.BoundsS[end])
		}
		out.Columns = append(out.Columns, Column{Text: text, Number: true})
		from = end + 1
	}

	per := (len(h.Counts) + heatRows - 1) / heatRows
	for i := 0; i < len(h.Counts); i += per {
		at := Window{h.FromS + float64(i)*h.StepS, min(t.ToS, h.FromS+float64(i+per)*h.StepS)}
		row := []Cell{{Text: t.Clock(at.From), Zoom: &at, Href: "#timeline"}}

		class := first
		for _, end := range ends {
			sum := 0.0
			for ; class <= end; class++ {
				for _, column := range h.Counts[i:min(i+per, len(h.Counts))] {
					sum += column[class]
				}
			}
			row = append(row, Cell{Text: Counted(sum), Number: true})
		}

		out.Rows = append(out.Rows, row)
	}

	return out
}

// groups divides the classes from first to last into groups and returns the last class of each. If
// there are few classes, each is a group; otherwise groups end at 1, 3 and 10 of each decade, or at
// decades.
func (h Density) groups(first, last int) (ends []int) {
	for _, per := range []float64{math.Inf(1), 2, 1} { // groups a decade
		ends = nil
		for class := first; class <= last; class++ {
			part := func(class int) float64 { return math.Ceil(per*math.Log10(h.Upper(class)) - 1e-2) }
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

// Counted prints a number of operations. It may be a fraction, because grid cells divide an
// interval.
func Counted(n float64) string {
	switch {
	case n <= 0:
		return "–"
	case n < 0.5:
		return "< 1"
	}
	return units.Count(int64(math.Round(n)))
}
