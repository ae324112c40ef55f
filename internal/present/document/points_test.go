package document

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Data is JSON that a browser reads as intended, with four digits, and null for values that are not
// finite.
func TestPoints(t *testing.T) {
	values := Points{0, 1, 1500, 0.0012345678, 3.14159, 123456789, 1e-9, math.NaN(), math.Inf(1), -2.5, 99999.6}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}

	if want := `[0,1,1500,0.001235,3.142,123500000,1e-9,null,null,-2.5,100000]`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}

	rapid.Check(t, func(r *rapid.T) {
		x := rapid.Float64Range(-1e12, 1e12).Draw(r, "x")
		text, err := json.Marshal(Points{x})
		if err != nil {
			r.Fatal(err)
		}
		var back []float64
		if err := json.Unmarshal(text, &back); err != nil || math.Abs(back[0]-x) > 1e-3*math.Abs(x) {
			r.Fatalf("%v became %s (%v)", x, text, err)
		}
	})
}
