package document

import (
	"encoding/json"
	"math"
	"strconv"
)

// Points are values that are written with four digits, which is more precise than a screen.
type Points []float64

// MarshalJSON writes the points as an array of numbers and nulls.
func (p Points) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 6*len(p)+2)
	out = append(out, '[')
	for i, x := range p {
		if i > 0 {
			out = append(out, ',')
		}
		// JSON has neither; null is a gap on the page.
		if math.IsNaN(x) || math.IsInf(x, 0) {
			out = append(out, "null"...)
			continue
		}
		out = append(out, shortest(x)...)
	}
	return append(out, ']'), nil
}

func shortest(x float64) string {
	// Counts up to four digits are exact anyway.
	if x == math.Trunc(x) && math.Abs(x) < 1e4 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}

	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 3, 64), 64)
	if err != nil {
		rounded = x
	}

	if math.Abs(rounded) >= 1e-4 && math.Abs(rounded) < 1e7 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}

	text, err := json.Marshal(rounded)
	if err != nil {
		return "null"
	}

	return string(text)
}
