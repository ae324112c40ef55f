// Package units prints quantities the way engineers write them: three significant digits, separated
// thousands, a unit that keeps the number readable, and decimal multiples (a volume's 125 MiB/s is
// 131 MB/s, and iostat -m means MiB: always say which).
//
// Everywhere else in the program, quantities are in base units: seconds, bytes, bytes per second,
// ratios from 0 to 1.
package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number formats x with three significant digits and separated thousands; NaN is "?".
func Number(x float64) string {
	// The limits are where rounding to three digits carries: 99.95 prints as 100, not as 100.0.
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "?"
	case a == 0:
		return "0"
	case a < 1e-3 || a >= 1e15:
		return fmt.Sprintf("%.1e", x)
	case a >= 99.95:
		return thousands(fmt.Sprintf("%.0f", x))
	case a >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case a >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	}

	return fmt.Sprintf("%.2g", x)
}

// Count formats a whole number in full, with separated thousands: "12,390,000".
func Count(n int64) string { return thousands(strconv.FormatInt(n, 10)) }

func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, ch := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(ch)
	}
	return sign + b.String()
}

// Seconds formats a duration in seconds: "250 us", "4.70 ms", "8.13 s", "12.0 min".
func Seconds(s float64) string {
	switch a := math.Abs(s); {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return "?"
	case a == 0:
		return "0 s"
	case a < 0.9995e-3:
		return Number(s*1e6) + " us"
	case a < 0.9995:
		return Number(s*1e3) + " ms"
	case a < 120:
		return Number(s) + " s"
	}
	return long(s)
}

// long prints a duration of a minute or more, without the parts that are zero.
func long(s float64) string {
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}

	unit := 1.0 // rounded to seconds; from an hour on, to minutes
	if math.Round(s) >= 3600 {
		unit = 60
	}

	whole := math.Round(s/unit) * unit
	if whole >= 1e9 {
		return sign + Number(whole/3600) + "h"
	}

	n := int64(whole)
	out := sign
	for _, part := range []struct {
		of   int64
		name string
	}{{n / 3600, "h"}, {n / 60 % 60, "m"}, {n % 60, "s"}} {
		if part.of > 0 {
			out += Count(part.of) + part.name
		}
	}

	return out
}

// Bytes formats bytes in decimal multiples: "48.0 MB".
func Bytes(b float64) string {
	switch a := math.Abs(b); {
	case math.IsNaN(b) || math.IsInf(b, 0):
		return "?"
	case a >= 0.9995e12:
		return Number(b/1e12) + " TB"
	case a >= 0.9995e9:
		return Number(b/1e9) + " GB"
	case a >= 0.9995e6:
		return Number(b/1e6) + " MB"
	case a >= 0.9995e3:
		return Number(b/1e3) + " kB"
	}
	return Number(b) + " B"
}

// Percent formats a ratio of 0 to 1 as a percentage, without decimals from 10 % on.
func Percent(r float64) string {
	p := 100 * r
	switch a := math.Abs(p); {
	case math.IsNaN(r) || math.IsInf(r, 0):
		return "?"
	case a == 0:
		return "0 %"
	case a < 0.01:
		return "<0.01 %"
	case a < 0.95:
		return fmt.Sprintf("%.2g %%", p)
	case a < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}

// OpSeconds is the unit of waiting time summed over concurrent operations. It is not wall-clock
// time, so it is always printed in seconds, never in minutes or hours.
const OpSeconds = "op-seconds"

// Value formats a number in one of the units of evidence and tracks: "seconds", "bytes", "bytes/s",
// "ratio", "1/s", "s/s", "USD", any other word, or none.
func Value(x float64, unit string) string {
	switch unit {
	case "seconds":
		return Seconds(x)
	case "bytes":
		return Bytes(x)
	case "bytes/s":
		return Bytes(x) + "/s"
	case "ratio":
		return Percent(x)
	case "1/s":
		return Number(x) + "/s"
	case "s/s":
		return Number(x)
	case "USD":
		return Dollars(x)
	case OpSeconds:
		return Number(x) + " s"
	case "":
		return Number(x)
	}

	return Number(x) + " " + unit
}

// Dollars formats an amount of money, with cents if they matter: "0.8 USD", "1,250 USD".
func Dollars(x float64) string {
	if math.Abs(x) >= 100 {
		return Count(int64(math.Round(x))) + " USD"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", x), "0"), ".") + " USD"
}

// Tick formats a value on an axis. It is shorter than in running text: the neighbouring ticks show
// the precision.
func Tick(x float64, unit string) string {
	if x == 0 {
		return "0"
	}

	figure, rest, spaced := strings.Cut(Value(x, unit), " ")
	if !spaced {
		figure, rest, _ = strings.Cut(figure, "/")
		if rest != "" {
			rest = "/" + rest
		}
	} else {
		rest = " " + rest
	}

	if strings.Contains(figure, ".") {
		figure = strings.TrimRight(strings.TrimRight(figure, "0"), ".")
	}

	return figure + rest
}

// Change formats the ratio of two figures: as a percentage, or as a factor from 10 on ("-12 %", "x
// 22.2", "1/509").
func Change(r float64) string {
	switch {
	case r >= 10:
		return "x " + Number(r)
	case r > 0 && r <= 0.1:
		return "1/" + Number(1/r)
	}
	percent := 100 * (r - 1)
	switch a := math.Abs(percent); {
	case a < 0.05:
		return "0 %"
	case a < 9.95:
		return fmt.Sprintf("%+.1f %%", percent)
	}
	return fmt.Sprintf("%+.0f %%", percent)
}

// Deviation formats how far a figure is from another, as a signed percentage without decimals ("-12 %"). A
// zero has no sign, also one that is only rounded to it.
func Deviation(r float64) string {
	if math.RoundToEven(100*r) == 0 { // as fmt rounds
		return "0 %"
	}
	return fmt.Sprintf("%+.0f %%", 100*r)
}

// Joined names things in a sentence: "a, b and c".
func Joined(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
