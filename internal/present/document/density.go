package document

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/internal/base/units"
)

// A Density is how many operations met which latency when.
type Density struct {
	FromS, StepS float64   // of its columns of time, as a timeline has it
	BoundsS      []float64 // upper bounds of the classes; one more class has none
	Counts       [][]float64
	Unseen       float64 // operations that were too quick to be seen: below all classes
}

// Used is the range of classes with any operation, and the most in one cell.
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

// Lower and Upper bound a class where it is drawn; the first has no lower bound and the last no
// upper one, so they are drawn as wide as their neighbours.
func (h Density) Lower(class int) float64 {
	if class <= 0 {
		return h.BoundsS[0] * h.BoundsS[0] / h.BoundsS[1]
	}
	return h.BoundsS[class-1]
}

// Upper is the other bound: see [Density.Lower].
func (h Density) Upper(class int) float64 {
	if n := len(h.BoundsS); class >= n {
		return h.BoundsS[n-1] * h.BoundsS[n-1] / h.BoundsS[n-2]
	}
	return h.BoundsS[class]
}

// Between is a class in words.
func (h Density) Between(class int) string {
	switch {
	case class <= 0:
		return "up to " + bound(h.BoundsS[0])
	case class >= len(h.BoundsS):
		return "over " + bound(h.BoundsS[len(h.BoundsS)-1])
	}
	return bound(h.BoundsS[class-1]) + " to " + bound(h.BoundsS[class])
}

// bound is a class' bound in words. It is exact, so it has only the digits that it needs.
func bound(s float64) string { return units.Tick(s, "seconds") }

// doubled is the ratio of bounds above which a class' width is given as a factor.
const doubled = 1.995

// alike is how much the widths of classes may differ and still be given as one, because bounds are
// rounded.
const alike = 1.05

// Width is how wide the classes with operations are, in words.
func (h Density) Width() string {
	first, last, _ := h.Used()
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
