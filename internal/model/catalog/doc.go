// Package catalog describes rented products, with their limits, prices, sources and dates, and turns an order
// of one into a [volume.Config].
//
// A person orders a product: a type, a size, perhaps IOPS and throughput ([Order]). The provider's
// rules say what such an order gives ([Order.Config]), whether it is possible at all
// ([Order.Check]: each problem with the limit, its source, and the nearest legal value), and what
// it costs per month ([Order.Monthly]). An instance also limits all its volumes
// together ([Instance]).
//
// Products change: gp3 ended at 16,000 IOPS for five years and now goes to 80,000. So every figure
// has its source and date ([Figure]), what is not known is reported as unknown, never zero, and
// newer figures are imported from the provider's own tools ([Import]) and used in addition to the embedded
// ones.
//
// Sizes are bytes. Providers size and bill in GiB, which most of them write GB; an order is rounded
// up to whole GiB as in their interfaces.
package catalog

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
)

// A Source is the origin of a figure, with its date.
type Source struct {
	Text string `json:"source"`
	Date string `json:"date"` // of the figure or of its publication: "2026-07-20", or only "2025"
}

// String returns the source with its date.
func (s Source) String() string {
	if s.Date == "" {
		return s.Text
	}
	return s.Text + ", " + s.Date
}

// A Figure is a value with its source. Without a source it is not known.
type Figure[T any] struct {
	Value T
	Source
	// Note is a remark about it: what older pages say, or what is assumed.
	Note string
}

// Known reports whether the figure is known.
func (f Figure[T]) Known() bool { return f.Text != "" }

func said[T any](v T, s Source, note ...string) Figure[T] {
	return Figure[T]{v, s, strings.Join(note, " ")}
}

// IOPS is a number of operations per second. Unlike other quantities it is written without a unit,
// as in every provider's interface: "16000", also "16k" or "16,000/s".
type IOPS int64

// iopsOrderMax is more than any provider sells, and limits input values.
const iopsOrderMax IOPS = 1e9

// ungrouped removes the thousands separators from a number.
var ungrouped = strings.NewReplacer(",", "", "_", "")

// ParseIOPS parses IOPS. The error shows the accepted forms.
func ParseIOPS(s string) (IOPS, error) {
	bad := fmt.Errorf("%q is not a number of IOPS: write it as 16000 or 16k", s)
	text := strings.TrimSuffix(strings.TrimSpace(s), "/s")
	text = ungrouped.Replace(text)
	factor := 1.0

	if digits, ok := strings.CutSuffix(text, "k"); ok {
		text, factor = digits, 1000
	}

	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0) {
		return 0, bad
	}

	n := math.Round(x * factor)
	switch {
	case n > float64(iopsOrderMax):
		return 0, fmt.Errorf("%q is too many IOPS: want at most %d", s, iopsOrderMax)
	case math.Abs(n-float64(x*factor)) > 1e-6:
		return 0, fmt.Errorf("%q is not a whole number of IOPS", s)
	}

	return IOPS(n), nil
}

// UnmarshalText parses IOPS as [ParseIOPS] does.
func (i *IOPS) UnmarshalText(b []byte) error {
	v, err := ParseIOPS(string(b))
	if err == nil {
		*i = v
	}
	return err
}

// MarshalText returns the number.
func (i IOPS) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(i), 10), nil }

// String formats IOPS for people: "16,000".
func (i IOPS) String() string { return units.Count(int64(i)) }

// Frequency is the same as a rate.
func (i IOPS) Frequency() units.Frequency { return units.Frequency(i) }

// wholeGiB is a size in GiB, rounded up.
func wholeGiB(s units.Size) int64 { return int64((s-1)/units.GiB) + 1 }

// rate prints a throughput as it is ordered: exactly, in MiB/s if it is a whole number of them.
func rate(t units.Throughput) string {
	if t%units.MiBps == 0 {
		return units.Count(int64(t/units.MiBps)) + " MiB/s"
	}
	if t%units.MBps == 0 {
		return units.Count(int64(t/units.MBps)) + " MB/s"
	}
	return strconv.FormatFloat(float64(t)/float64(units.MiBps), 'f', 1, 64) + " MiB/s"
}

// written is a throughput as written in a scenario.
func written(t units.Throughput) string {
	return units.Size(t).Exact() + "/s"
}
