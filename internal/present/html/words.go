package html

import (
	"fmt"
	"math"

	"plimsoll/internal/base/units"
	"plimsoll/internal/model/simulate"
)

// dollars prints an amount of money a month as the text of the program does: cents where they matter.
func dollars(x float64) string {
	if math.Abs(x) >= 100 {
		return units.Number(math.Round(x)) + " USD"
	}
	text := fmt.Sprintf("%.2f", x)
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return text + " USD"
}

// whole prints a count.
func whole(n int64) string { return units.Count(n) }

// figureOf prints a value, amounts of money among them.
func figureOf(x float64, unit string) string {
	if unit == "USD" {
		return dollars(x)
	}
	return units.Value(x, unit)
}

// optional prints a value that may not be known.
func optional(x *float64, unit string) string {
	if x == nil {
		return "–"
	}
	return figureOf(*x, unit)
}

// change is how far a value is from another: a percentage, a factor from 10 on, a difference of money.
func change(base, x *float64, unit string) string {
	switch {
	case base == nil || x == nil || *base == *x:
		return ""
	case unit == "USD" && *x > *base:
		return "+" + dollars(*x-*base)
	case unit == "USD":
		return "−" + dollars(*base-*x)
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

// cycleWord is what an engine calls its cycle of writing.
func cycleWord(r *simulate.Result) string {
	switch r.Engine {
	case "etcd":
		return "backend commit"
	case "iris":
		return "write daemon cycle"
	}
	return "checkpoint"
}
