package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Count is a number of things, written plainly or in thousands, millions and billions: 150000,
// 150k, "10M", 1.5G. (Decimal: 1k is 1,000.)
type Count uint64

// CountMax bounds a count: 2^40 documents of the smallest size exceed any volume.
const CountMax Count = 1 << 40

var countUnits = [...]struct {
	name string
	of   float64
}{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"", 1}}

// ungrouped removes thousands separators from a number.
var ungrouped = strings.NewReplacer("_", "", ",", "")

// ParseCount parses a Count. The error shows how to write one.
func ParseCount(s string) (Count, error) {
	text := ungrouped.Replace(strings.TrimSpace(s))
	for _, u := range countUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}

		x, err := strconv.ParseFloat(digits, 64)
		product := float64(x * u.of)
		switch n := math.Round(product); {
		case err != nil || math.IsNaN(x) || x < 0:
			return 0, fmt.Errorf("%q is not a count: write it as 150000, 150k or 10M", s)
		case n > float64(CountMax):
			return 0, fmt.Errorf("%q is too large: want at most %d", s, CountMax)
		case math.Abs(n-product) > 1e-6:
			return 0, fmt.Errorf("%q is not a whole number", s)
		default:
			return Count(n), nil
		}
	}

	return 0, nil // unreachable: every text ends with the last unit, which is empty
}

// UnmarshalText parses a count as [ParseCount] does.
func (c *Count) UnmarshalText(b []byte) error {
	v, err := ParseCount(string(b))
	if err == nil {
		*c = v
	}
	return err
}

// MarshalText returns text that ParseCount parses to the same count.
func (c Count) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String returns the count in the largest multiple that loses nothing: "150k".
func (c Count) String() string {
	for i := len(countUnits) - 2; i >= 0; i-- {
		u := countUnits[i]
		if k := Count(u.of); c != 0 && c%k == 0 {
			return strconv.FormatUint(uint64(c/k), 10) + u.name
		}
	}
	return strconv.FormatUint(uint64(c), 10)
}
