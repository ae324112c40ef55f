package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/base/units"
)

// A Scale is a factor: "150%" or "1.5". Unlike a [units.Ratio] it may be over 1.
type Scale float64

const scaleMax = 1000

// ParseScale parses a factor greater than 0, such as 150% or 1.5.
func ParseScale(s string) (Scale, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0 && x <= scaleMax) {
		return 0, fmt.Errorf("%q is not a factor: want more than 0, at most %d, such as 150%% or 1.5", s, scaleMax)
	}
	return Scale(x), nil
}

// UnmarshalText parses a scale as [ParseScale] does.
func (s *Scale) UnmarshalText(b []byte) error {
	v, err := ParseScale(string(b))
	if err == nil {
		*s = v
	}
	return err
}

// MarshalText returns text that [ParseScale] parses to the same scale.
func (s Scale) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s), 'g', -1, 64), nil
}

func (s Scale) ratio() units.Ratio { return units.Ratio(s) }
