package document

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
)

// A Density counts operations by time and latency.
type Density struct {
	FromS, StepS float64   // start and length of its time slots, on the axis of a timeline
	BoundsS      []float64 // upper bounds of the classes; the last class has none
	Counts       [][]float64
	Unseen       float64 // operations that were too fast to be sampled: below all classes
}

// Used returns the range of classes with any operation, and the highest count of a cell.
func (h Density) Used() (first, last int, most float64) {
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

// Lower is the lower bound of a class in drawings. The first class has no lower bound and the last has
// no upper bound, so they are drawn as wide as their neighbours.
func (h Density) Lower(class int) float64 {
	if class <= 0 {
		return h.BoundsS[0] * h.BoundsS[0] / h.BoundsS[1]
	}
	return h.BoundsS[class-1]
}

// Upper is the upper bound of a class in drawings: see [Density.Lower].
func (h Density) Upper(class int) float64 {
	if n := len(h.BoundsS); class >= n {
		return h.BoundsS[n-1] * h.BoundsS[n-1] / h.BoundsS[n-2]
	}
	return h.BoundsS[class]
}

// Between describes a class in words.
func (h Density) Between(class int) string {
	switch {
	case class <= 0:
		return "up to " + bound(h.BoundsS[0])
	case class >= len(h.BoundsS):
		return "over " + bound(h.BoundsS[len(h.BoundsS)-1])
	}
	return bound(h.BoundsS[class-1]) + " to " + bound(h.BoundsS[class])
}

// bound prints the bound of a class. Bounds are exact, so it prints only the digits needed.
func bound(s float64) string { return units.Tick(s, "seconds") }

// doubled is the ratio of bounds above which the width of a class is given as a factor.
const doubled = 1.995

// alike is how much the widths of classes may differ and still be described as equal, because
// bounds are rounded.
const alike = 1.05

// Width describes how wide the classes with operations are.
func (h Density) Width() string {
	first, last, _ := h.Used()
	// The first and the last class have no width.
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
