package results

import (
	"cmp"
	"fmt"
	"math"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
)

// optional prints a value that may be unknown.
func optional(x *float64, unit string) string {
	if x == nil {
		return "–"
	}
	return units.Value(*x, unit)
}

// change is the difference between two values: a percentage, a factor from 10 on, an amount for
// money.
func change(base, x *float64, unit string) string {
	switch {
	case base == nil || x == nil || *base == *x:
		return ""
	case unit == "USD" && *x > *base:
		return "+" + units.Dollars(*x-*base)
	case unit == "USD":
		return "−" + units.Dollars(*base-*x)
	// There is no ratio to zero.
	case *base == 0:
		return ""
	case *x > 0 && *base/(*x) >= 10:
		return "1/" + units.Number(*base/(*x))
	case *x/(*base) >= 10:
		return "× " + units.Number(*x/(*base))
	}

	if percent := math.Round(100 * (*x/(*base) - 1)); percent > 0 {
		return fmt.Sprintf("+%.0f %%", percent)
	} else if percent < 0 {
		return fmt.Sprintf("−%.0f %%", -percent)
	}

	return ""
}

// cycleWord is the engine's name for its write cycle.
func cycleWord(r *simulate.Result) string { return cmp.Or(r.CycleWord, "checkpoint") }
