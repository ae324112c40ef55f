package prove

import (
	"testing"

	"plimsoll/internal/judge/rules"
)

// Where sessions are counted once a second, a median of 0 s is no figure; a p99 of 0 s is one, because it shows
// what became worse.
func TestMedianOfCountedSessions(t *testing.T) {
	sampled := func(latency ...float64) *side {
		ops, units := make([]float64, len(latency)), make([]int32, len(latency))
		for i := range latency {
			ops[i] = 100
		}
		return &side{c: &rules.Case{Stalls: rules.Stalls{Symptoms: []rules.Stall{{Rule: "x/stall", Latency: latency, Ops: ops}}}},
			cut: partition{n: 1, unit: units}}
	}

	for _, x := range []struct {
		name   string
		side   *side
		q      float64
		figure bool
	}{
		{"most samples caught a session", sampled(0, 0.01, 0.02), 0.5, true},
		{"few did", sampled(0, 0, 0.02), 0.5, false},
		{"none did, p99", sampled(0, 0, 0), 0.99, true},
	} {
		if got := byStalls(x.q, "x/stall")(x.side); (got != nil) != x.figure {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}
