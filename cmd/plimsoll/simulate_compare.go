package main

import (
	"fmt"
	"math"

	"plimsoll/internal/base/units"
)

func valueText(x *float64, unit string) string {
	switch {
	case x == nil:
		return "-"
	case unit == "USD":
		return dollars(*x)
	}
	return units.Value(*x, unit)
}

// changeText is how far a figure is from the first variant's: a percentage, a factor from 10 on, a
// difference of prices.
func changeText(base, x *float64, unit string) string {
	switch {
	case base == nil || x == nil || *base == *x:
		return ""
	case unit == "USD":
		sign := "+"
		if *x < *base {
			sign = "-"
		}
		return sign + dollars(math.Abs(*x-*base))
	case *base == 0:
		return ""
	case *x > 0 && *base/(*x) >= 10:
		return fmt.Sprintf("1/%s", units.Number(*base/(*x)))
	case *x/(*base) >= 10:
		return fmt.Sprintf("x %s", units.Number(*x/(*base)))
	}
	if change := math.Round(100 * (*x/(*base) - 1)); change != 0 {
		return fmt.Sprintf("%+.0f %%", change)
	}
	return ""
}
