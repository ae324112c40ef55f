package fit

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// A figure that is not a number, or too large, counts as not measured: no line of a scenario has
// it, and the evidence states that.
func TestNotMeasured(t *testing.T) {
	for name, of := range map[string]func(float64) Quantity{
		"count": Count, "rate": rate, "exactly": Exactly, "about": About, "throughput": throughput,
		"ratio": Ratio, "factor": factor, "duration": Duration,
	} {
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, Per(1, 0), Per(0, 0)} {
			f := &Fitting{}
			v := f.Add("workload.document.size", of(x), Measured, "the journal over the writes").Between(x/2, x)
			var b bytes.Buffer
			v.write(&b, "size", 1, "assumed")
			if strings.Contains(b.String(), "size: ") || strings.Contains(b.String(), "Inf") || !strings.Contains(b.String(), "not measured: the journal") || v.Number != nil {
				t.Errorf("%s of %v: %q", name, x, b.String())
			}
		}
		if v := (&Fitting{}).Add("k", of(20_000), Measured, "x"); v.Text == "" || v.Number == nil || v.Known != Measured {
			t.Errorf("%s of 20000: %+v", name, v)
		}
	}
	if got := Per(6, 3); got != 2 {
		t.Errorf("6 over 3 is %v", got)
	}
}
