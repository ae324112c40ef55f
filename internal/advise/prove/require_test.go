package prove

import (
	"strings"
	"testing"

	"plimsoll/internal/testkit"
)

func TestParseBound(t *testing.T) {
	for _, c := range []struct {
		text  string
		bound float64
		less  bool
	}{
		{"write_p99 < 25ms", 0.025, true},
		{"  stalled<=10s/h ", 10, true},
		{"operations > 500/s", 500, false},
		{"throughput < 100MB/s", 1e8, true},
		{"utilisation < 80%", 0.8, true},
		{"dirty_bytes < 1GB", 1e9, true},
	} {
		b, err := ParseBound(testkit.Pack(), c.text)
		if err != nil || b.bound != c.bound || b.less != c.less {
			t.Errorf("%q: %+v, %v", c.text, b, err)
		}
	}
	for text, want := range map[string]string{
		"":                       "is not a requirement",
		"write_p99":              "write a figure, < or >, and a value",
		"write_p98 < 25ms":       "did you mean write_p99?",
		"nonsense < 1":           "want one of write_p50, write_p99",
		"write_p99 < 25":         "write_p99: ",
		"write_p99 < -1ms":       "write_p99: ",
		strings.Repeat("x", 201): "at most 200 characters",
	} {
		if _, err := ParseBound(testkit.Pack(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A bound is met only if the whole interval meets it, and missed only if no part of it does.
func TestOutcome(t *testing.T) {
	p := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		text string
		e    Estimate
		want Outcome
	}{
		{"write_p99 < 25ms", Estimate{Value: p(0.020), Low: p(0.018), High: p(0.024)}, Met},
		{"write_p99 < 25ms", Estimate{Value: p(0.020), Low: p(0.018), High: p(0.025)}, CantTellYet},
		{"write_p99 < 25ms", Estimate{Value: p(0.030), Low: p(0.018), High: p(0.040)}, CantTellYet},
		{"write_p99 < 25ms", Estimate{Value: p(0.030), Low: p(0.025), High: p(0.040)}, NotMet},
		{"write_p99 < 25ms", Estimate{Value: p(0.020), Low: p(0.018), High: nil}, CantTellYet},
		{"write_p99 < 25ms", Estimate{Value: p(0.030), Low: p(0.026), High: nil}, NotMet},
		{"write_p99 < 25ms", Estimate{Value: p(0.020), Low: nil, High: nil}, CantTellYet},
		{"operations > 500/s", Estimate{Value: p(520), Low: p(510), High: p(530)}, Met},
		{"operations > 500/s", Estimate{Value: p(490), Low: p(480), High: p(500)}, NotMet},
		{"operations > 500/s", Estimate{}, NotMeasured},
	} {
		b, err := ParseBound(testkit.Pack(), c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.outcome(c.e); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

func FuzzParseBound(f *testing.F) {
	for _, s := range []string{"write_p99 < 25ms", "stalled >= 1s/h", "iops>3000/s", "write_p99 < NaN", "a<b", "utilisation < 101%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := ParseBound(testkit.Pack(), s)
		if err == nil && (b.bound != b.bound || b.name == "" || b.bound < 0) {
			t.Errorf("%q is parsed as %+v", s, b)
		}
	})
}
